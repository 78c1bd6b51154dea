//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// mostMemory is the most memory that a process had at a time, in MiB; 0 where the host does not say.
func mostMemory(s *os.ProcessState) int64 {
	use, ok := s.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" { // which count bytes, and others KiB: getrusage(2)
		return int64(use.Maxrss) >> 20
	}
	return int64(use.Maxrss) >> 10
}
