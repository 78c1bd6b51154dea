//go:build unix && !solaris && !aix && !illumos

package host

import "syscall"

// mapped asks the system for pages, which it gives when they are touched first.
func mapped(size int) ([]byte, bool) {
	b, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	return b, err == nil
}

func unmap(b []byte) error { return syscall.Munmap(b) }
