/* Error numbers of Linux, which are the same on the four architectures. */
#ifndef _MODULE_LINUX_ERRNO_H
#define _MODULE_LINUX_ERRNO_H

#define EPERM 1
#define ENOENT 2
#define EINTR 4
#define EIO 5
#define ENXIO 6
#define E2BIG 7
#define EBADF 9
#define EAGAIN 11
#define ENOMEM 12
#define EACCES 13
#define EFAULT 14
#define EBUSY 16
#define EEXIST 17
#define ENODEV 19
#define EINVAL 22
#define ENOSPC 28
#define EDOM 33
#define ERANGE 34
#define ENOSYS 38
#define ENODATA 61
#define ETIME 62
#define EILSEQ 84
#define EOPNOTSUPP 95
#define ETIMEDOUT 110

#endif
