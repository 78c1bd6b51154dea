/*
 * A mark: 1 begins a region of interest, 2 ends it. The instruction is cpuid with a leaf that no processor answers (SDM vol. 2,
 * CPUID), so that it does nothing on hardware but take its time.
 */
#define KPROBESIM_MARK(n) do { unsigned int a_ = 0x4b70726f, c_ = (n), b_, d_; __asm__ volatile("cpuid" : "+a"(a_), "=b"(b_), "+c"(c_), "=d"(d_) : : "memory"); } while (0)
