/* Memory of user tasks: what is not there is no fault but a number of bytes that were not copied. */
#ifndef _MODULE_LINUX_UACCESS_H
#define _MODULE_LINUX_UACCESS_H

#include <linux/errno.h>
#include <linux/types.h>

unsigned long copy_from_user(void *to, const void __user *from, unsigned long n);
unsigned long copy_to_user(void __user *to, const void *from, unsigned long n);
/* The same of any address, as a handler wants it: 0 or -EFAULT. */
long probe_kernel_read(void *to, const void *from, size_t n);
/* Bytes in front of the end, or -EFAULT. */
long strncpy_from_user(char *to, const char __user *from, long most);

/* Kernels before 5.0 had the direction in front. */
#define access_ok(...) 1
#define get_user(value, at) ({							\
	__typeof__(*(at)) got__;						\
	int bad__ = copy_from_user(&got__, at, sizeof(got__)) ? -EFAULT : 0;	\
	(value) = bad__ ? (__typeof__(value))0 : got__;				\
	bad__; })
#define put_user(value, at) ({							\
	__typeof__(*(at)) put__ = (value);					\
	copy_to_user(at, &put__, sizeof(put__)) ? -EFAULT : 0; })
#define VERIFY_READ 0
#define VERIFY_WRITE 1

#endif
