//go:build linux && amd64

package hostcode

import (
	"os"
	"syscall"
	"unsafe"
)

// noFile stands for the descriptor of a file where there is none.
const noFile = -1

// memfdCreate is the number of memfd_create(2), for which package syscall is too old.
const memfdCreate = 319

// mapped maps one memory at two addresses, of which one can be written and the other executed. It returns nil where the
// system refuses any of it.
func mapped(size int) *memory {
	page := os.Getpagesize()
	size = (size + page - 1) &^ (page - 1)
	file, err := file(size)
	if err != nil {
		return nil
	}
	defer func() { _ = syscall.Close(file) }() // the mappings hold the memory
	all, err := syscall.Mmap(noFile, 0, 2*size+3*guard, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	m := &memory{all: all, write: all[guard : guard+size], execute: all[2*guard+size : 2*(guard+size)]}
	if !remap(m.write, file, syscall.PROT_READ|syscall.PROT_WRITE) || !remap(m.execute, file, syscall.PROT_READ|syscall.PROT_EXEC) {
		unmap(m)
		return nil
	}
	return m
}

// file opens memory that has no name in the file system.
func file(size int) (int, error) {
	name := [...]byte{'k', 'p', 'r', 'o', 'b', 'e', 's', 'i', 'm', 0}
	const closeOnExec = 1
	fd, _, failed := syscall.Syscall(memfdCreate, uintptr(unsafe.Pointer(&name)), closeOnExec, 0)
	if failed != 0 {
		return 0, failed
	}
	if err := syscall.Ftruncate(int(fd), int64(size)); err != nil {
		_ = syscall.Close(int(fd)) // the first error is told
		return 0, err
	}
	return int(fd), nil
}

// remap puts the file in the place of pages that were reserved.
func remap(pages []byte, file, protection int) bool {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(pages)))
	_, _, failed := syscall.Syscall6(syscall.SYS_MMAP, at, uintptr(len(pages)), uintptr(protection), syscall.MAP_SHARED|syscall.MAP_FIXED, uintptr(file), 0)
	return failed == 0
}

func unmap(m *memory) { _ = syscall.Munmap(m.all) } // which the system gave

// serialize executes a serializing instruction.
//
//go:noescape
func serialize()

// Call executes the code at enter with another address in RAX and a pointer in R15, and returns what it leaves in RAX.
//
//go:noescape
func Call(enter, code uintptr, with unsafe.Pointer) uint64
