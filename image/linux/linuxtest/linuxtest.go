// Package linuxtest makes a kernel up that looks like one of a distribution, for tests of what reads and boots
// those.
package linuxtest

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"strings"
)

// Release is the release in the header of Boxed.
const Release = "6.1.0-made-up"

// The kernel has its code, its read-only data and a table of exceptions in one segment.
const (
	Text     = 0xffffffff81000000 // the lower half of it in a kernel of 32 bits
	TextSize = 0x2000
	Physical = 0x1000000
	Symbols  = 600
	FileText = 0x1000 // in the file
)

// Kernel says what the made-up kernel looks like.
type Kernel struct {
	Bits   int
	Behind bool   // the addresses of kallsyms are behind its tokens, as from 6.4 on
	Places bool   // they are, and count from where each of them stands, as in 7.2
	PerCPU bool   // negative distances, and addresses of per-CPU data among them
	Code   []byte // at the entry
	Flat   bool   // virtual addresses are the physical ones
	Types  bool   // it has a section for BTF
}

// text is the virtual address of the code.
func (s Kernel) text() uint64 {
	if s.Flat {
		return Physical
	}
	return Text
}

// Loop is Code that jumps to itself.
var Loop = []byte{0xeb, 0xfe}

// Asks is code that reads a register of the processor that none has (mov $0x12345,%ecx; rdmsr).
var Asks = []byte{0xb9, 0x45, 0x23, 1, 0, 0x0f, 0x32}

// Name is a symbol of the made-up kernel: one every 8 bytes, of which the names of some are long. The last one is where a boot
// is over.
func Name(i int) string {
	if i == Symbols-1 {
		return "Trest_init"
	}
	if i%100 == 99 {
		return "t" + strings.Repeat("long_", 30) + fmt.Sprint(i)
	}
	return fmt.Sprintf("Tsym%d", i)
}

// Tables writes kallsyms: every token is one character, but for those that no name uses.
func (s Kernel) Tables() []byte {
	var out bytes.Buffer
	put := func(v any) { _ = binary.Write(&out, binary.LittleEndian, v) } // a Buffer takes all
	to := s.Bits / 8
	if s.Places {
		to = 4
	}
	align := func() { out.Write(make([]byte, -out.Len()&(to-1))) }
	addresses := func() {
		for i := range int32(Symbols) {
			switch {
			case s.PerCPU && i < 4:
				put(i * 8)
			case s.PerCPU:
				put(-1 - i*8)
			default:
				put(i * 8)
			}
		}
		align()
		if s.Bits == 64 {
			put(s.text())
		} else {
			put(uint32(s.text()))
		}
	}
	put([]byte("rodata that is no table\x00"))
	align()
	if !s.Behind && !s.Places {
		addresses()
	}
	put(uint32(Symbols))
	align()
	begin := out.Len()
	var marks []uint32
	for i := range Symbols {
		if i%256 == 0 {
			marks = append(marks, uint32(out.Len()-begin))
		}
		n := Name(i)
		if len(n) < 128 {
			out.WriteByte(byte(len(n)))
		} else {
			out.Write([]byte{byte(len(n)) | 0x80, byte(len(n) >> 7)})
		}
		out.WriteString(n)
	}
	align()
	put(marks)
	align()
	var index []uint16
	begin = out.Len()
	for i := range 256 {
		index = append(index, uint16(out.Len()-begin))
		token := fmt.Sprintf("<%d>", i)
		if i > ' ' && i < 0x7f {
			token = string(rune(i))
		}
		out.WriteString(token + "\x00")
	}
	align()
	put(index)
	align()
	switch {
	case s.Behind:
		addresses()
	case s.Places:
		for i := range int32(Symbols) {
			put(8*i - TextSize - int32(out.Len()))
		}
	}
	return out.Bytes()
}

// ELF makes an ELF file of the kernel.
func (s Kernel) ELF() []byte {
	rodata := s.Tables()
	const at, extable, types = FileText, 24, 8
	body := append(make([]byte, TextSize), rodata...)
	body = append(body, make([]byte, extable)...)
	copy(body, s.Code)
	names := "\x00.text\x00.rodata\x00__ex_table\x00.shstrtab\x00"
	if s.Types {
		body, names = append(body, make([]byte, types)...), names+".BTF\x00"
	}
	type section struct {
		name      string
		kind      elf.SectionType
		flags     elf.SectionFlag
		addr, off uint64
		size      int
	}
	sections := []section{
		{"", elf.SHT_NULL, 0, 0, 0, 0},
		{".text", elf.SHT_PROGBITS, elf.SHF_ALLOC | elf.SHF_EXECINSTR, s.text(), at, TextSize},
		{".rodata", elf.SHT_PROGBITS, elf.SHF_ALLOC, s.text() + TextSize, at + TextSize, len(rodata)},
		{"__ex_table", elf.SHT_PROGBITS, elf.SHF_ALLOC, s.text() + TextSize + uint64(len(rodata)), at + TextSize + uint64(len(rodata)), extable},
		{".shstrtab", elf.SHT_STRTAB, 0, 0, at + uint64(len(body)), len(names)},
	}
	if s.Types {
		sections = append(sections, section{".BTF", elf.SHT_PROGBITS, elf.SHF_ALLOC, s.text() + uint64(len(body)) - types, at + uint64(len(body)) - types, types})
	}
	var out bytes.Buffer
	put := func(v any) { _ = binary.Write(&out, binary.LittleEndian, v) }
	ident := [16]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)}
	heads := uint64(at + len(body) + len(names))
	if s.Bits == 64 {
		put(elf.Header64{
			Ident: ident, Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: 1, Entry: Physical,
			Phoff: 64, Shoff: heads, Ehsize: 64, Phentsize: 56, Phnum: 1, Shentsize: 64, Shnum: uint16(len(sections)), Shstrndx: 4,
		})
		put(elf.Prog64{
			Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Off: at, Vaddr: s.text(), Paddr: Physical,
			Filesz: uint64(len(body)), Memsz: uint64(len(body)),
		})
	} else {
		ident[elf.EI_CLASS] = byte(elf.ELFCLASS32)
		put(elf.Header32{
			Ident: ident, Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_386), Version: 1, Entry: Physical,
			Phoff: 52, Shoff: uint32(heads), Ehsize: 52, Phentsize: 32, Phnum: 1, Shentsize: 40, Shnum: uint16(len(sections)), Shstrndx: 4,
		})
		put(elf.Prog32{
			Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Off: at, Vaddr: uint32(s.text()), Paddr: Physical,
			Filesz: uint32(len(body)), Memsz: uint32(len(body)),
		})
	}
	out.Write(make([]byte, at-out.Len()))
	out.Write(body)
	out.WriteString(names)
	for _, c := range sections {
		name := uint32(strings.Index(names, "\x00"+c.name+"\x00") + 1)
		if s.Bits == 64 {
			put(elf.Section64{Name: name, Type: uint32(c.kind), Flags: uint64(c.flags), Addr: c.addr, Off: c.off, Size: uint64(c.size)})
		} else {
			put(elf.Section32{Name: name, Type: uint32(c.kind), Flags: uint32(c.flags), Addr: uint32(c.addr), Off: uint32(c.off), Size: uint32(c.size)})
		}
	}
	return out.Bytes()
}

// Boxed makes a bzImage with a payload.
func Boxed(payload []byte) []byte {
	b, le := make([]byte, 0x600), binary.LittleEndian
	b[0x1f1] = 1 // sector of setup code
	b[0x201] = 0x66
	le.PutUint16(b[0x1fe:], 0xaa55)
	copy(b[0x202:], "HdrS")
	le.PutUint16(b[0x206:], 0x20f)
	le.PutUint16(b[0x20e:], 0x100)
	copy(b[0x300:], Release+"\x00")
	le.PutUint16(b[0x236:], 1)
	le.PutUint32(b[0x248:], 0x200)
	le.PutUint32(b[0x24c:], uint32(len(payload)))
	return append(b, payload...)
}
