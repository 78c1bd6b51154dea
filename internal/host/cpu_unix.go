//go:build unix

package host

import (
	"os"
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
func Peak() int64 { return peak(usage()) }

// PeakOf is Peak of a process that has ended.
func PeakOf(s *os.ProcessState) int64 {
	u, ok := s.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return peak(*u)
}

func peak(u syscall.Rusage) int64 {
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" { // which count bytes, and others KiB: getrusage(2)
		return int64(u.Maxrss)
	}
	return int64(u.Maxrss) << 10
}

// CPU returns the time that processors of the host have spent on this process, 0 where the host does not say.
func CPU() time.Duration {
	u := usage()
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
