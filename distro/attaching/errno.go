package attaching

import "fmt"

// Errno writes an error number with its name.
func Errno(n int) string {
	if name, ok := errnos[n]; ok {
		return fmt.Sprintf("%d (%s)", n, name)
	}
	return fmt.Sprint(n)
}

// errnos are the error numbers that kernels give to loaders and to writes into their files, with what they mean (errno(3), and
// include/linux/errno.h for the last one).
var errnos = map[int]string{
	1: "EPERM", 2: "ENOENT", 3: "ESRCH", 5: "EIO", 7: "E2BIG", 8: "ENOEXEC", 9: "EBADF", 11: "EAGAIN", 12: "ENOMEM", 13: "EACCES",
	14: "EFAULT", 16: "EBUSY", 17: "EEXIST", 19: "ENODEV", 22: "EINVAL", 27: "EFBIG", 28: "ENOSPC", 38: "ENOSYS", 84: "EILSEQ",
	95: "EOPNOTSUPP", 524: "ENOTSUPP",
}
