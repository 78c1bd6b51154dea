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
	switch e {
	case ENOENT:
		return "-ENOENT: no such symbol"
	case E2BIG:
		return "-E2BIG: a return instance has no room for that much data"
	case ENOMEM:
		return "-ENOMEM: no room for a slot, a detour buffer or a structure"
	case EBUSY:
		return "-EBUSY: the range is reserved"
	case EEXIST:
		return "-EEXIST: another probe is there"
	case EINVAL:
		return "-EINVAL: the probe or its address is not acceptable"
	case ENOSYS:
		return "-ENOSYS: the kernel was built without it"
	case ENODATA:
		return "-ENODATA: no probe is registered for this place of the file"
	case EILSEQ:
		return "-EILSEQ: the address is not the start of an instruction"
	case EOPNOTSUPP:
		return "-EOPNOTSUPP: the kernel can neither copy nor emulate the instruction"
	}
	return fmt.Sprintf("error number %d", uint16(e))
}

// Return is the value that a guest function returns for the error: -e as a long.
func (e Errno) Return() uint64 { return -uint64(e) }
