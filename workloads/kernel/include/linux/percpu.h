#ifndef _LINUX_PERCPU_H
#define _LINUX_PERCPU_H
#include <asm/percpu.h>
#endif
