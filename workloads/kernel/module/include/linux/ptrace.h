/* Registers of what a probe interrupted. */
#ifndef _MODULE_LINUX_PTRACE_H
#define _MODULE_LINUX_PTRACE_H

#include <asm/ptrace.h>

#endif
