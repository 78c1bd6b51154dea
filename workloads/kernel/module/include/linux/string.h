/* Texts and bytes. */
#ifndef _MODULE_LINUX_STRING_H
#define _MODULE_LINUX_STRING_H

#include <linux/compiler.h>
#include <linux/types.h>

void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
void *memchr(const void *in, int c, size_t n);
size_t strlen(const char *s);
size_t strnlen(const char *s, size_t most);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);
char *strcpy(char *to, const char *from);
char *strncpy(char *to, const char *from, size_t n);
size_t strlcpy(char *to, const char *from, size_t size);
ssize_t strscpy(char *to, const char *from, size_t size);
char *strcat(char *to, const char *from);
size_t strlcat(char *to, const char *from, size_t size);
char *strchr(const char *s, int c);
char *strrchr(const char *s, int c);
char *strstr(const char *s, const char *part);

#endif
