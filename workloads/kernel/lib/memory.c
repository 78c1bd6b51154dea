/* Memory of modules, and of user tasks as modules see it. */
#include "library.h"
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/workload.h>

/* Of all user tasks: the member mm of a task points here. */
struct mm_struct user_mm __used;

void *kmalloc(size_t size, gfp_t flags __unused)
{
	return sim_alloc(size);
}

/* What is handed out is clear anyway. */
void *kzalloc(size_t size, gfp_t flags)
{
	return kmalloc(size, flags | __GFP_ZERO);
}

void *kmalloc_array(size_t n, size_t size, gfp_t flags)
{
	size_t all;

	return __builtin_mul_overflow(n, size, &all) ? NULL : kmalloc(all, flags);
}

void *kcalloc(size_t n, size_t size, gfp_t flags)
{
	return kmalloc_array(n, size, flags | __GFP_ZERO);
}

char *kstrdup(const char *s, gfp_t flags)
{
	size_t size = s ? strlen(s) + 1 : 0;
	char *copy = size ? kmalloc(size, flags) : NULL;

	return copy ? memcpy(copy, s, size) : NULL;
}

/* A byte of memory that may not be there: the word around it is loaded by an instruction of the exception table. */
static int load_byte(const unsigned char *at, unsigned char *byte)
{
	const unsigned long *word = (const unsigned long *)((unsigned long)at & -sizeof(long));
	long error = 0;
	unsigned long v = load_or_error(word, 1, &error);

	*byte = ((unsigned char *)&v)[(unsigned long)at % sizeof(long)];
	return error;
}

unsigned long copy_from_user(void *to, const void __user *from, unsigned long n)
{
	unsigned char *target = to;
	const unsigned char *source = from;
	unsigned long i;

	for (i = 0; i < n && !load_byte(&source[i], &target[i]); i++)
		;
	memset(target + i, 0, n - i);
	return n - i;
}

/* Memory that can be read can be written here: kernels have no read-only pages. */
unsigned long copy_to_user(void __user *to, const void *from, unsigned long n)
{
	unsigned char *target = to, before;
	const unsigned char *source = from;
	unsigned long i;

	for (i = 0; i < n && !load_byte(&target[i], &before); i++)
		target[i] = source[i];
	return n - i;
}

long probe_kernel_read(void *to, const void *from, size_t n)
{
	return copy_from_user(to, from, n) ? -EFAULT : 0;
}

long strncpy_from_user(char *to, const char __user *from, long most)
{
	for (long i = 0; i < most; i++) {
		if (load_byte((const unsigned char *)&from[i], (unsigned char *)&to[i]))
			return -EFAULT;
		if (!to[i])
			return i;
	}
	return most;
}

EXPORT_SYMBOL(kmalloc);
EXPORT_SYMBOL(kzalloc);
EXPORT_SYMBOL(kmalloc_array);
EXPORT_SYMBOL(kcalloc);
EXPORT_SYMBOL(kstrdup);
EXPORT_SYMBOL(kfree);
EXPORT_SYMBOL(copy_from_user);
EXPORT_SYMBOL(copy_to_user);
EXPORT_SYMBOL(probe_kernel_read);
EXPORT_SYMBOL(strncpy_from_user);
