package kprobes

import "fmt"

// Errno is a kernel error number as the API returns it, positive here and negative in the guest.
// The numbers follow asm-generic/errno.h, which the modelled architectures share.
type Errno uint16

// The error numbers that the API of the era returns.
const (
	ENOENT  Errno = 2
	E2BIG   Errno = 7
	ENOMEM  Errno = 12
	EBUSY   Errno = 16
	EEXIST  Errno = 17
	EINVAL  Errno = 22
	ENOSYS  Errno = 38
	ENODATA Errno = 61
	EILSEQ  Errno = 84

	EOPNOTSUPP Errno = 95
)

// Error says the number's name and what it stands for in this API.
func (e Errno) Error() string {
	text, ok := map[Errno]string{
		ENOENT:     "-ENOENT: no such symbol",
		E2BIG:      "-E2BIG: a return instance has no room for that much data",
		ENOMEM:     "-ENOMEM: no room for a slot, a detour buffer or a structure",
		EBUSY:      "-EBUSY: the range is reserved",
		EEXIST:     "-EEXIST: another probe is there",
		EINVAL:     "-EINVAL: the probe or its address is not acceptable",
		ENOSYS:     "-ENOSYS: the kernel was built without it",
		ENODATA:    "-ENODATA: no probe is registered for this place of the file",
		EILSEQ:     "-EILSEQ: the address is not the start of an instruction",
		EOPNOTSUPP: "-EOPNOTSUPP: the kernel can neither copy nor emulate the instruction",
	}[e]
	if ok {
		return text
	}
	return fmt.Sprintf("error number %d", uint16(e))
}

// Return is the value that a guest function returns for the error: -e as a long.
func (e Errno) Return() uint64 { return -uint64(e) }
