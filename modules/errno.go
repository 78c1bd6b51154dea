package modules

import (
	"fmt"

	"kprobesim/kprobes"
)

// errnoName names an error number of the kernel: the list of the header that modules are compiled with.
func errnoName(n int64) string {
	names := map[int64]string{
		1: "EPERM", 2: "ENOENT", 4: "EINTR", 5: "EIO", 6: "ENXIO", 7: "E2BIG", 9: "EBADF", 11: "EAGAIN", 12: "ENOMEM", 13: "EACCES",
		14: "EFAULT", 16: "EBUSY", 17: "EEXIST", 19: "ENODEV", 22: "EINVAL", 28: "ENOSPC", 33: "EDOM", 34: "ERANGE", 38: "ENOSYS",
		61: "ENODATA", 62: "ETIME", 84: "EILSEQ", 95: "EOPNOTSUPP", 110: "ETIMEDOUT",
	}
	if name, ok := names[n]; ok {
		return "-" + name
	}
	return fmt.Sprintf("-%d", n)
}

// busy is the error of a module that something holds.
func busy(module, why string) error {
	return fmt.Errorf("module %s cannot be unloaded: %s: %w", module, why, errBusy)
}

// errBusy is the kernel's error number without what it means for a probe.
var errBusy error = busyErrno{}

type busyErrno struct{}

// Error names the number.
func (busyErrno) Error() string { return "-EBUSY" }

// Is makes it the error number that kprobes has.
func (busyErrno) Is(err error) bool { return err == kprobes.EBUSY }
