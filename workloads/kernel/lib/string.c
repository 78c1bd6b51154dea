/* Texts and bytes, for modules. */
#include "library.h"

void *memmove(void *to, const void *from, size_t n)
{
	const char *source = from;
	char *target = to;

	if (target <= source || target >= source + n)
		return memcpy(to, from, n);
	while (n--)
		target[n] = source[n];
	return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const unsigned char *x = a, *y = b;

	for (size_t i = 0; i < n; i++) {
		if (x[i] != y[i])
			return x[i] - y[i];
	}
	return 0;
}

void *memchr(const void *in, int c, size_t n)
{
	const unsigned char *bytes = in;

	for (size_t i = 0; i < n; i++) {
		if (bytes[i] == (unsigned char)c)
			return (void *)&bytes[i];
	}
	return NULL;
}

size_t strnlen(const char *s, size_t most)
{
	size_t n;

	for (n = 0; n < most && s[n]; n++)
		;
	return n;
}

size_t strlen(const char *s)
{
	return strnlen(s, -1);
}

int strncmp(const char *a, const char *b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int difference = (unsigned char)a[i] - (unsigned char)b[i];

		if (difference || !a[i])
			return difference;
	}
	return 0;
}

int strcmp(const char *a, const char *b)
{
	return strncmp(a, b, -1);
}

char *strcpy(char *to, const char *from)
{
	return memcpy(to, from, strlen(from) + 1);
}

/* What is left of the room is cleared; a text that fills it has no end. */
char *strncpy(char *to, const char *from, size_t n)
{
	size_t length = strnlen(from, n);

	memcpy(to, from, length);
	memset(to + length, 0, n - length);
	return to;
}

ssize_t strscpy(char *to, const char *from, size_t size)
{
	size_t length = strnlen(from, size);
	int cut = length == size;

	if (!size)
		return -7; /* E2BIG */
	length -= cut;
	memcpy(to, from, length);
	to[length] = 0;
	return cut ? -7 : (ssize_t)length;
}

size_t strlcpy(char *to, const char *from, size_t size)
{
	strscpy(to, from, size);
	return strlen(from);
}

char *strcat(char *to, const char *from)
{
	strcpy(to + strlen(to), from);
	return to;
}

size_t strlcat(char *to, const char *from, size_t size)
{
	size_t before = strnlen(to, size);

	return before + strlcpy(to + before, from, size - before);
}

char *strchr(const char *s, int c)
{
	return memchr(s, c, strlen(s) + 1);
}

char *strrchr(const char *s, int c)
{
	for (size_t i = strlen(s) + 1; i-- > 0;) {
		if (s[i] == (char)c)
			return (char *)&s[i];
	}
	return NULL;
}

char *strstr(const char *s, const char *part)
{
	size_t n = strlen(part);

	for (;; s++) {
		if (!strncmp(s, part, n))
			return (char *)s;
		if (!*s)
			return NULL;
	}
}

EXPORT_SYMBOL(memcpy);
EXPORT_SYMBOL(memset);
EXPORT_SYMBOL(memmove);
EXPORT_SYMBOL(memcmp);
EXPORT_SYMBOL(memchr);
EXPORT_SYMBOL(strnlen);
EXPORT_SYMBOL(strlen);
EXPORT_SYMBOL(strncmp);
EXPORT_SYMBOL(strcmp);
EXPORT_SYMBOL(strcpy);
EXPORT_SYMBOL(strncpy);
EXPORT_SYMBOL(strscpy);
EXPORT_SYMBOL(strlcpy);
EXPORT_SYMBOL(strcat);
EXPORT_SYMBOL(strlcat);
EXPORT_SYMBOL(strchr);
EXPORT_SYMBOL(strrchr);
EXPORT_SYMBOL(strstr);
