/* A function that its module keeps probes away from, and one that it does not. */
unsigned long quiet_work(unsigned long n) { return n * 3; }
unsigned long loud_work(unsigned long n) { return n * 5; }

static const unsigned long __attribute__((used, section("_kprobe_blacklist"))) no_probe = (unsigned long)&quiet_work;
