/* Names and addresses of functions and variables, those of loaded modules included. */
#ifndef _MODULE_LINUX_KALLSYMS_H
#define _MODULE_LINUX_KALLSYMS_H

#include <linux/types.h>

#define KSYM_NAME_LEN 128
#define KSYM_SYMBOL_LEN (KSYM_NAME_LEN + 64)

/* What a pointer in C to the function or variable is; 0 when there is none of this name. Kernels of later years than 5.6
   do not export it. */
unsigned long kallsyms_lookup_name(const char *name);
/* name+0xoffset/0xsize [module], or the number when the address lies in nothing known. The length. */
int sprint_symbol(char *to, unsigned long address);
/* The name alone. */
int sprint_symbol_no_offset(char *to, unsigned long address);
void __print_symbol(const char *fmt, unsigned long address);
#define print_symbol(fmt, address) __print_symbol(fmt, address)

#endif
