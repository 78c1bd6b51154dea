/* What two CPUs cannot write to at the same time. */
#ifndef _ASM_CACHE_H
#define _ASM_CACHE_H

#define SMP_CACHE_BYTES 64

#endif
