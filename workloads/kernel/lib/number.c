/* Numbers: texts of them, and division of 64 bits. */
#include "library.h"
#include <linux/math64.h>

/* One bit of the quotient after the other, for processors that divide 32 bits alone. */
u64 div64_u64_rem(u64 dividend, u64 divisor, u64 *rest)
{
	u64 quotient = 0, left = 0;

	for (int bit = 63; bit >= 0; bit--) {
		left = left << 1 | (dividend >> bit & 1);
		if (left >= divisor) {
			left -= divisor;
			quotient |= 1ULL << bit;
		}
	}
	*rest = left;
	return quotient;
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'z' ? c - 'a' + 10 : 99;
}

/* Where the digits begin, and their base when the text says it. */
static const char *base_of(const char *text, unsigned int *base)
{
	int prefix = text[0] == '0' && (text[1] | 0x20) == 'x' && digit_of(text[2]) < 16;

	if (*base == 0)
		*base = prefix ? 16 : text[0] == '0' ? 8 : 10;
	return *base == 16 && prefix ? text + 2 : text;
}

/* The number, and whether it is too large for a word. */
static unsigned long parse(const char *text, char **end, unsigned int base, int *large)
{
	unsigned long value = 0;

	*large = 0;
	for (text = base_of(text, &base); (unsigned int)digit_of(*text) < base; text++) {
		unsigned long before = value;

		*large |= __builtin_mul_overflow(before, (unsigned long)base, &value);
		*large |= __builtin_add_overflow(value, (unsigned long)digit_of(*text), &value);
	}
	if (end)
		*end = (char *)text;
	return value;
}

unsigned long simple_strtoul(const char *text, char **end, unsigned int base)
{
	int large;

	return parse(text, end, base, &large);
}

long simple_strtol(const char *text, char **end, unsigned int base)
{
	if (*text == '-')
		return -simple_strtoul(text + 1, end, base);
	return simple_strtoul(text, end, base);
}

/* A line's end may be behind the number, as files of switches have it. */
int kstrtoul(const char *text, unsigned int base, unsigned long *value)
{
	const char *from = text + (*text == '+');
	char *end;
	int large;

	*value = parse(from, &end, base, &large);
	if (large)
		return -ERANGE;
	if (end == from || (end[0] && (end[0] != '\n' || end[1])))
		return -EINVAL;
	return 0;
}

int kstrtol(const char *text, unsigned int base, long *value)
{
	int minus = *text == '-';
	unsigned long size;
	int error = kstrtoul(text + minus, base, &size);

	if (error)
		return error;
	if (size > (unsigned long)LONG_MAX + minus)
		return -ERANGE;
	*value = minus ? -size : size;
	return 0;
}

int kstrtoint(const char *text, unsigned int base, int *value)
{
	long wide;
	int error = kstrtol(text, base, &wide);

	if (error)
		return error;
	*value = wide;
	return *value == wide ? 0 : -ERANGE;
}

EXPORT_SYMBOL(div64_u64_rem);
EXPORT_SYMBOL(simple_strtoul);
EXPORT_SYMBOL(simple_strtol);
EXPORT_SYMBOL(kstrtoul);
EXPORT_SYMBOL(kstrtol);
EXPORT_SYMBOL(kstrtoint);
