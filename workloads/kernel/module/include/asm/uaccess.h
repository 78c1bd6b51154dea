/* As linux/uaccess.h. */
#ifndef _MODULE_ASM_UACCESS_H
#define _MODULE_ASM_UACCESS_H

#include <linux/uaccess.h>

#endif
