//go:build linux

package host

import "syscall"

// largeFrom is the size of memory from which the host is asked for large pages: that of a machine which runs a packaged kernel.
// One of them takes longer to clear than a small machine takes to run.
const largeFrom = 64 << 20

// large asks for large pages: a kernel that is read into memory, or restored there, comes to tens of thousands of small ones.
func large(b []byte) {
	if len(b) >= largeFrom {
		_ = syscall.Madvise(b, syscall.MADV_HUGEPAGE) // a host may have none
	}
}
