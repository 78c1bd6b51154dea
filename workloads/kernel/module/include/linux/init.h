/* Functions that run when a module comes and when it goes. Their text stays as long as the module. */
#ifndef _MODULE_LINUX_INIT_H
#define _MODULE_LINUX_INIT_H

#include <linux/compiler.h>

#define __init
#define __exit __used
#define __initdata
#define __exitdata
#define __initconst
#define __devinit
#define __devexit
#define __init_or_module

typedef int (*initcall_t)(void);
typedef void (*exitcall_t)(void);

#endif
