/*
 * A program for a static C library: strings of every length and alignment, sorting, allocation, printing, floating point, and loops
 * that a compiler makes vectors of. It prints what it has computed, so that two executions can be compared.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static uint32_t state = 12345;

static uint32_t draw(void)
{
	state = state * 1664525 + 1013904223;
	return state >> 8;
}

static uint32_t sum(const void *p, size_t n)
{
	const unsigned char *b = p;
	uint32_t s = 1, t = 0;

	while (n--) {
		s += *b++;
		t += s;
	}
	return t << 16 ^ s;
}

/* Copies, comparisons and searches at all alignments. */
static void strings(void)
{
	static char a[1200], b[1200];
	uint32_t s = 0;

	for (int i = 0; i < 600; i++) {
		size_t n = draw() % 300, from = draw() % 64, to = draw() % 64;

		for (size_t j = 0; j < sizeof a; j++)
			a[j] = 1 + draw() % 40;
		memset(b, draw(), sizeof b);
		memcpy(b + to, a + from, n);
		s = s * 31 + sum(b, sizeof b);
		memmove(b + to + draw() % 20, b + to, n);
		s = s * 31 + sum(b, sizeof b);
		a[from + n] = b[to + n] = 0;
		s = s * 31 + strlen(a + from) + (strlen(b + to) << 8);
		s = s * 31 + (memcmp(a + from, b + to, n) < 0) + 2 * (strcmp(a + from, b + to) < 0) + 4 * (strncmp(a, b, n) < 0);
		s = s * 31 + (strcasecmp(a + from, b + to) < 0);
		char *found[] = { strchr(a + from, 7), strrchr(a + from, 7), memchr(a + from, 9, n), strpbrk(a + from, "\3\4"), strstr(a, "\5\6") };
		for (int j = 0; j < 5; j++)
			s = s * 31 + (found[j] ? found[j] - a : 5000);
		s = s * 31 + strspn(a + from, "\1\2\3\4\5\6\7") + strnlen(a + from, n / 2);
		stpcpy(b, a + from);
		strncat(b, "tail", 3);
		s = s * 31 + sum(b, sizeof b);
	}
	printf("strings %08x\n", s);
}

static int less(const void *x, const void *y)
{
	int a = *(const int *)x, b = *(const int *)y;

	return a < b ? -1 : a > b;
}

/* Loops over integers of all widths, which -O3 makes vectors of. */
static void loops(void)
{
	static int32_t a[512], b[512], c[512];
	static int16_t h[512];
	static uint8_t bytes[512];
	static int64_t w[512];
	int64_t total = 0;
	int32_t most = -1;

	for (int i = 0; i < 512; i++) {
		a[i] = draw();
		b[i] = draw() - 5000000;
		h[i] = draw();
		bytes[i] = draw();
	}
	for (int i = 0; i < 512; i++)
		c[i] = (a[i] + 3 * b[i]) ^ (a[i] >> 5) ^ (b[i] << 3) ^ h[i];
	for (int i = 0; i < 512; i++)
		w[i] = (int64_t)a[i] * b[i] + c[i];
	for (int i = 0; i < 512; i++)
		bytes[i] = (bytes[i] + (bytes[511 - i] >> 1) + 1) >> 1;
	for (int i = 0; i < 512; i++)
		h[i] = h[i] > 100 ? h[i] * 7 : -h[i];
	for (int i = 0; i < 512; i++) {
		total += w[i] + h[i] + bytes[i];
		most = c[i] > most ? c[i] : most;
	}
	qsort(a, 512, sizeof a[0], less);
	printf("loops %lld %d %08x %08x %d %d\n", (long long)total, most, sum(w, sizeof w), sum(h, sizeof h), a[0], a[511]);
}

static void allocate(void)
{
	char *p[200] = { 0 };
	uint32_t s = 0;

	for (int i = 0; i < 2000; i++) {
		int j = draw() % 200;
		size_t n = draw() % 3000;

		p[j] = realloc(p[j], n + 1);
		memset(p[j], i, n + 1);
		if (draw() % 3 == 0) {
			s = s * 31 + sum(p[j], n);
			free(p[j]);
			p[j] = NULL;
		}
	}
	printf("allocate %08x\n", s);
}

/* Sums, products, quotients and roots in all precisions, and what the library prints and reads of them. */
static void floats(void)
{
	static double a[256], b[256];
	static float f[256];
	double s = 0, most = -1;
	long double l = 1;

	for (int i = 0; i < 256; i++) {
		a[i] = (int)draw() / 4096.0 - 1000;
		b[i] = draw() * 1e-3 + 0.125;
		f[i] = a[i] / b[i];
	}
	for (int i = 0; i < 256; i++) {
		s += a[i] * b[255 - i] - f[i] / 3;
		most = a[i] > most ? a[i] : most;
		l = l * (1 + (long double)f[i] / 1000) + (long long)b[i];
	}
	for (int i = 0; i < 256; i++)
		b[i] = __builtin_sqrt(b[i]) + (float)(int)a[i] + (uint32_t)b[i];
	printf("floats %.17g %.17g %.21Lg %g %a %.3e\n", s, most, l, (double)f[7], b[3], 5e-324);
	printf("floats %.17g %.9g %.20Lg %f %08x\n", strtod("2.2250738585072011e-308", NULL), strtof("3.4028236e38", NULL),
	       strtold("1.1e4932", NULL), 1e15 / 7, sum(b, sizeof b));
}

int main(int argc, char **argv)
{
	char line[200];

	snprintf(line, sizeof line, "%d %s %-8s|%08x|%+d|%lld|%c|%5.3s|", argc, argv[1], "left", 0xbeef, -7, 1LL << 40, 'x', "abcdef");
	puts(line);
	strings();
	loops();
	allocate();
	floats();
	printf("%ld %ld\n", strtol("-12345678901", NULL, 10), strtol("0x7fff", NULL, 0));
	return 7;
}
