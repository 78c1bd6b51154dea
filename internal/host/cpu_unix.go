//go:build unix

package host

import (
	"runtime"
	"syscall"
	"time"
)

// usage asks the host for the use of this process; nothing where it does not say.
func usage() (u syscall.Rusage) {
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return syscall.Rusage{}
	}
	return u
}

// Peak returns the most memory that this process had at a time, in bytes; 0 where the host does not say.
func Peak() int64 {
	if most := int64(usage().Maxrss); runtime.GOOS == "darwin" || runtime.GOOS == "ios" { // which count bytes: getrusage(2)
		return most
	} else {
		return most << 10
	}
}

// CPU returns the time that processors of the host have spent on this process, 0 where the host does not say.
func CPU() time.Duration {
	u := usage()
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
