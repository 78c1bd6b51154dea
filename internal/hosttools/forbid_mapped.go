//go:build linux && amd64

package hosttools

import (
	"runtime"
	"syscall"
	"testing"
	"unsafe"
)

// ForbidCode has the host refuse this process all new memory that can be executed, as a hardened system does. There is
// no way back, so a test calls it in a process of its own. It skips the test where the host has no such filter
// (seccomp(2)).
func ForbidCode(tb testing.TB) {
	tb.Helper()
	const (
		loadWord, jumpIfEqual, jumpIfSet, end = 0x20, 0x15, 0x45, 0x06
		number, thirdArgument                 = 0, 32 // in what a filter reads (struct seccomp_data)
		allow, refuse                         = 0x7fff0000, 0x00050000 | uint32(syscall.EACCES)
	)
	filter := []syscall.SockFilter{
		{Code: loadWord, K: number},
		{Code: jumpIfEqual, K: syscall.SYS_MMAP, Jt: 1},
		{Code: jumpIfEqual, K: syscall.SYS_MPROTECT, Jf: 2},
		{Code: loadWord, K: thirdArgument},
		{Code: jumpIfSet, K: syscall.PROT_EXEC, Jt: 1},
		{Code: end, K: allow},
		{Code: end, K: refuse},
	}
	program := syscall.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread() // the first call is for this thread alone, and the second takes it to all
	defer runtime.UnlockOSThread()
	const noNewPrivileges, seccomp, setFilter, allThreads = 38, 317, 1, 1
	_, _, failed := syscall.Syscall6(syscall.SYS_PRCTL, noNewPrivileges, 1, 0, 0, 0, 0)
	if failed == 0 {
		_, _, failed = syscall.Syscall(seccomp, setFilter, allThreads, uintptr(unsafe.Pointer(&program)))
	}
	if failed != 0 {
		Unable(tb, "forbidding memory that can be executed", failed.Error())
	}
}
