package object

import (
	"debug/elf"
	"errors"
	"fmt"

	"kprobesim/internal/encoding"
)

func name64(typ uint32) string { return elf.R_X86_64(typ).String() }
func name32(typ uint32) string { return elf.R_386(typ).String() }

// errGOT names the option for a compiler that makes position independent code, as Debian's does.
var errGOT = errors.New("a module has no global offset table: compile it with -fno-pic -fno-pie")

// apply64 applies a relocation of x86-64 (AMD64 supplement, table 4.9). A call by the procedure linkage table goes
// straight to the function, because nothing is linked dynamically.
func apply64(f *fix) error {
	switch elf.R_X86_64(f.typ) {
	case elf.R_X86_64_64:
		return f.put(8, f.absolute(), anyValue)
	case elf.R_X86_64_PC64:
		return f.put(8, f.relative(), anyValue)
	case elf.R_X86_64_32:
		return f.put(4, f.absolute(), unsignedValue)
	case elf.R_X86_64_32S:
		return f.put(4, f.absolute(), signedValue)
	case elf.R_X86_64_PC32, elf.R_X86_64_PLT32:
		return f.put(4, f.relative(), signedValue)
	case elf.R_X86_64_16:
		return f.put(2, f.absolute(), eitherValue)
	case elf.R_X86_64_PC16:
		return f.put(2, f.relative(), signedValue)
	case elf.R_X86_64_8:
		return f.put(1, f.absolute(), eitherValue)
	case elf.R_X86_64_PC8:
		return f.put(1, f.relative(), signedValue)
	case elf.R_X86_64_GOTPCREL, elf.R_X86_64_GOTPCRELX, elf.R_X86_64_REX_GOTPCRELX, elf.R_X86_64_GOT32,
		elf.R_X86_64_GOTOFF64, elf.R_X86_64_GOTPC32, elf.R_X86_64_GOT64, elf.R_X86_64_GOTPC64, elf.R_X86_64_GOTPCREL64:
		return errGOT
	}
	return errRefused
}

// apply32 applies a relocation of i386 (Intel386 supplement, table 4-9). Its addends are in the bytes. Addresses wrap
// around at 4 GiB, so a full word cannot overflow.
func apply32(f *fix) error {
	size, relative := 4, false
	switch elf.R_386(f.typ) {
	case elf.R_386_32:
	case elf.R_386_PC32, elf.R_386_PLT32:
		relative = true
	case elf.R_386_16, elf.R_386_PC16:
		size, relative = 2, elf.R_386(f.typ) == elf.R_386_PC16
	case elf.R_386_8, elf.R_386_PC8:
		size, relative = 1, elf.R_386(f.typ) == elf.R_386_PC8
	case elf.R_386_GOT32, elf.R_386_GOT32X, elf.R_386_GOTOFF, elf.R_386_GOTPC:
		return errGOT
	default:
		return errRefused
	}
	b, err := f.bytes(size)
	if err != nil {
		return err
	}
	above := 64 - 8*size
	f.addend = int64(encoding.Uint(f.l.o.Order, b)<<above) >> above
	if relative {
		return f.put(size, uint64(int32(f.relative())), signedValue)
	}
	return f.put(size, uint64(int32(f.absolute())), eitherValue)
}

// remedy adds what to do to a refusal.
func remedy(what string) error { return fmt.Errorf("%w: %s", errRefused, what) }
