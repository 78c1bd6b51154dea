//go:build linux && amd64

package hostcode

import (
	"syscall"
	"unsafe"
)

// mapped returns memory whose content can be executed, or nil where the system refuses that.
func mapped(size int) []byte {
	b, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE|syscall.PROT_EXEC, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	return b
}

func unmap(b []byte) { _ = syscall.Munmap(b) } // which it gave

// Call executes the code at enter with another address in RAX and a pointer in R15, and returns what it leaves in RAX.
//
//go:noescape
func Call(enter, code uintptr, with unsafe.Pointer) unsafe.Pointer

// Do executes the code at an address with a pointer in R15, and returns the number that it leaves in RAX.
//
//go:noescape
func Do(code uintptr, with unsafe.Pointer) uint64
