//go:build linux || darwin

package host

import "syscall"

// noFile stands for the descriptor of a file where there is none.
const noFile = -1

// mapped asks the system for pages, which it gives when they are touched first. Those at both ends cannot be touched.
func mapped(size int) ([]byte, bool) {
	b, err := syscall.Mmap(noFile, 0, size, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, false
	}
	if syscall.Mprotect(b[guard:size-guard], syscall.PROT_READ|syscall.PROT_WRITE) != nil {
		_ = syscall.Munmap(b) // there is nothing in it
		return nil, false
	}
	large(b[guard : size-guard])
	return b, true
}

func unmap(b []byte) error { return syscall.Munmap(b) }
