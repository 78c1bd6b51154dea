/* Types that modules use beside those of the kernel's own code. */
#ifndef _MODULE_LINUX_TYPES_H
#define _MODULE_LINUX_TYPES_H

#include_next <linux/types.h>

#ifndef __ASSEMBLER__

typedef s8 __s8;
typedef u8 __u8;
typedef s16 __s16;
typedef u16 __u16;
typedef s32 __s32;
typedef u32 __u32;
typedef s64 __s64;
typedef u64 __u64;
typedef s8 int8_t;
typedef u8 uint8_t;
typedef s16 int16_t;
typedef u16 uint16_t;
typedef s32 int32_t;
typedef u32 uint32_t;
typedef s64 int64_t;
typedef u64 uint64_t;
typedef unsigned long uintptr_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef unsigned int uint;
typedef unsigned char u_char;
typedef unsigned int gfp_t;
typedef int pid_t;
typedef long long loff_t;
typedef unsigned short umode_t;
typedef long time_t;

typedef _Bool bool;
enum { false = 0, true = 1 };

/* What atomic operations work on (linux/atomic.h). */
typedef struct {
	int counter;
} atomic_t;

#endif /* __ASSEMBLER__ */

#endif
