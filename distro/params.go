package distro

import (
	"encoding/binary"
	"fmt"
)

// Where the loader puts things, in memory below 640 KiB. A kernel keeps its first megabyte free and reads
// all of this before it uses that.
const (
	paramsAt     = 0x10000
	trampolineAt = 0x11000
	stackTop     = 0x13000
	commandAt    = 0x20000
	tablesAt     = 0x30000
	lowEnd       = 0x9fc00 // of usable memory; behind it are the BIOS's data
	highStart    = 0x100000
	paramsSize   = 0x1000
)

// Fields of the boot parameters (boot protocol, and "The zero page").
const (
	fieldE820Entries = 0x1e8
	fieldHeader      = 0x1f1
	fieldBootFlag    = 0x1fe
	fieldMagic       = 0x202
	fieldVersion     = 0x206
	fieldLoader      = 0x210
	fieldLoadFlags   = 0x211
	fieldInitrd      = 0x218
	fieldInitrdSize  = 0x21c
	fieldCommandLine = 0x228
	fieldInitrdMax   = 0x22c
	fieldCommandMax  = 0x238
	fieldE820        = 0x2d0
	e820Bytes        = 20
	e820RAM          = 1
	e820Persistent   = 12 // of NVDIMMs before the firmware had tables for them

	loaderUndefined = 0xff // a boot loader without an assigned number
	loadedHigh      = 1 << 0
)

// Defaults for a kernel that came without a header.
const (
	defaultInitrdMax  = 0x37ffffff
	defaultCommandMax = 2047
)

// params are the boot parameters, with the address of the initial file system.
func (c *Config) params(initrdAt uint64) ([]byte, error) {
	p, le := make([]byte, paramsSize), binary.LittleEndian
	copy(p[fieldHeader:fieldE820], c.Kernel.Header)
	if c.Kernel.Header == nil {
		le.PutUint16(p[fieldBootFlag:], 0xaa55)
		copy(p[fieldMagic:], "HdrS")
		le.PutUint16(p[fieldVersion:], 0x20f)
	}
	if most := limit(p, fieldCommandMax, defaultCommandMax); uint64(len(c.Command)) > most {
		return nil, fmt.Errorf("the command line has %d bytes, and the kernel takes %d: shorten it", len(c.Command), most)
	}
	p[fieldLoader] = loaderUndefined
	p[fieldLoadFlags] |= loadedHigh
	le.PutUint32(p[fieldCommandLine:], commandAt)
	le.PutUint32(p[fieldInitrd:], uint32(initrdAt))
	le.PutUint32(p[fieldInitrdSize:], uint32(len(c.Initrd)))
	ranges := [][3]uint64{{0, lowEnd, e820RAM}, {highStart, uint64(c.RAM), e820RAM}}
	if c.Persistent > 0 {
		ranges = append(ranges, [3]uint64{c.PersistentAt(), uint64(c.ram()), e820Persistent})
	}
	for i, r := range ranges {
		e := p[fieldE820+e820Bytes*i:]
		le.PutUint64(e, r[0])
		le.PutUint64(e[8:], r[1]-r[0])
		le.PutUint32(e[16:], uint32(r[2]))
		p[fieldE820Entries]++
	}
	return p, nil
}

// limit reads a field that tells the most of something, or the value of kernels without one.
func limit(p []byte, at int, otherwise uint64) uint64 {
	if v := binary.LittleEndian.Uint32(p[at:]); v != 0 {
		return uint64(v)
	}
	return otherwise
}

// trampoline is the code that enters a kernel in 32-bit mode: the calling convention has no register for esi,
// in which the protocol wants the address of the boot parameters.
func trampoline(entry uint64) []byte {
	code := []byte{
		0xbe, 0, 0, 0, 0, // mov esi, parameters
		0xb8, 0, 0, 0, 0, // mov eax, entry
		0xff, 0xe0, // jmp eax
	}
	binary.LittleEndian.PutUint32(code[1:], paramsAt)
	binary.LittleEndian.PutUint32(code[6:], uint32(entry))
	return code
}
