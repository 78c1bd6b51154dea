/* Functions of a module: probes in them must survive that their text vanishes. */
#include <linux/workload.h>

__module __used unsigned long module_mix(unsigned long a, unsigned long b)
{
	return (a + b * 4 + 17) ^ b;
}

__module __used unsigned long module_sum(unsigned long a, unsigned long b)
{
	return module_mix(a, b) + module_mix(b, a);
}
