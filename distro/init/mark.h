/*
 * A mark: 1 begins a region of interest, 2 ends it. On x86 the instruction is cpuid with a leaf that no processor answers (SDM vol. 2,
 * CPUID), so that it does nothing on hardware but take its time. On ARM it is dbg #n, a hint (ARM ARM, A8.8.42).
 */
#ifdef __arm__
#define KPROBESIM_MARK(n) __asm__ volatile(".inst 0xe320f0f0 + %c0" : : "i"(n) : "memory")
#else
#define KPROBESIM_MARK(n) do { unsigned int a_ = 0x4b70726f, c_ = (n), b_, d_; __asm__ volatile("cpuid" : "+a"(a_), "=b"(b_), "+c"(c_), "=d"(d_) : : "memory"); } while (0)
#endif
