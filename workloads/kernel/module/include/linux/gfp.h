/* How memory is asked for. Nothing waits for memory here, so that the flags say nothing but __GFP_ZERO. */
#ifndef _MODULE_LINUX_GFP_H
#define _MODULE_LINUX_GFP_H

#include <linux/types.h>

#define __GFP_WAIT 0x10u
#define __GFP_HIGH 0x20u
#define __GFP_IO 0x40u
#define __GFP_FS 0x80u
#define __GFP_NOWARN 0x200u
#define __GFP_ZERO 0x8000u
#define GFP_NOWAIT 0u
#define GFP_ATOMIC __GFP_HIGH
#define GFP_KERNEL (__GFP_WAIT | __GFP_IO | __GFP_FS)

#endif
