/* Functions of no, six and nine arguments, the last three on the stack, and one that calls them. */
#include <linux/workload.h>

__workload __used unsigned long values_0(void)
{
	static unsigned long constants[2] = { 0x1234567, 0x89abcdef };

	return READ_VOLATILE(constants[0]) * 3 + READ_VOLATILE(constants[1]);
}

__workload __used unsigned long values_6(unsigned long a, unsigned long b, unsigned long c,
					      unsigned long d, unsigned long e, unsigned long f)
{
	return a + 3 * b + 5 * c + 7 * d + 9 * e + 11 * f;
}

__workload __used unsigned long values_9(unsigned long a, unsigned long b, unsigned long c,
					      unsigned long d, unsigned long e, unsigned long f,
					      unsigned long g, unsigned long h, unsigned long i)
{
	return (a ^ g) + 3 * (b ^ h) + 5 * (c ^ i) + 7 * (d - e) + f;
}

__workload __used unsigned long work_values(unsigned long a, unsigned long b)
{
	unsigned long sum = values_0();

	sum += values_6(a, b, a + b, a - b, a ^ b, 1);
	return sum ^ values_9(a, b, a + 1, b + 1, a + 2, b + 2, a + b, a - b, a ^ b);
}
