package kprobes

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"testing"

	"kprobesim/image"
)

// Addresses of the toy's kernel: one segment with code and data, and a heap.
const (
	toyBase  = 0xc000000000100000
	toyHeap  = 0xc000000001000000
	toySize  = 0x4000
	toyText  = toyBase
	toyHit   = toyBase + 0x400 // functions of the path of a hit
	toySlots = toyBase + 0x800
	toyData  = toyBase + 0x1000
)

// toySymbol is a symbol of the toy's kernel.
type toySymbol struct {
	name       string
	addr, size uint64
	typ        elf.SymType
}

// toySymbols lists what Kprobes needs of a kernel that only has breakpoints, and a few functions.
func toySymbols() []toySymbol {
	return []toySymbol{
		{"_text", toyText, 0, elf.STT_NOTYPE},
		{"target", toyText, 20, elf.STT_FUNC},
		{"odd", toyText + 0x20, 6, elf.STT_FUNC},
		{"handler", toyText + 0x40, 8, elf.STT_FUNC},
		{"emulate", toyText + 0x48, 8, elf.STT_FUNC},
		{"guarded", toyText + 0x50, 8, elf.STT_FUNC},
		{"not_returned", toyText + 0x58, 8, elf.STT_FUNC},
		{"preempt_schedule", toyText + 0x60, 8, elf.STT_FUNC},
		{"__kprobes_text_start", toyHit, 0, elf.STT_NOTYPE},
		{"group_before", toyHit, 4, elf.STT_FUNC},
		{"group_after", toyHit + 4, 4, elf.STT_FUNC},
		{"group_fault", toyHit + 8, 4, elf.STT_FUNC},
		{"group_break", toyHit + 12, 4, elf.STT_FUNC},
		{"return_probe_entered", toyHit + 16, 4, elf.STT_FUNC},
		{"jprobe_divert", toyHit + 20, 4, elf.STT_FUNC},
		{"jprobe_resume", toyHit + 24, 4, elf.STT_FUNC},
		{"__kprobes_text_end", toyHit + 28, 0, elf.STT_NOTYPE},
		{"__slots_start", toySlots, 0, elf.STT_NOTYPE},
		{"__slots_end", toySlots + 2*toySlotSize, 0, elf.STT_NOTYPE},
		{"_etext", toySlots + 2*toySlotSize, 0, elf.STT_NOTYPE},
		{"kernel_era", toyData, 4, elf.STT_OBJECT},
		{"switch_disarmed", toyData + 8, 4, elf.STT_OBJECT},
		{"probe_table", toyData + 0x100, 8 * hashBuckets, elf.STT_OBJECT},
		{"instance_table", toyData + 0x400, 8 * hashBuckets, elf.STT_OBJECT},
	}
}

// toyStruct is a structure of the toy's kernel: names and types of its members, which lie one behind
// another.
type toyStruct struct {
	name    string
	members [][2]string
}

func toyStructs() []toyStruct {
	return []toyStruct{
		{"hlist_node", [][2]string{{"next", "u64"}, {"pprev", "u64"}}},
		{"list_head", [][2]string{{"next", "u64"}, {"prev", "u64"}}},
		{"toy_insn", [][2]string{{"slot", "u64"}, {"handler", "u64"}}},
		{"kprobe", [][2]string{
			{"hlist", "hlist_node"},
			{"list", "list_head"},
			{"nmissed", "u64"},
			{"addr", "u64"},
			{"symbol_name", "u64"},
			{"pre_handler", "u64"},
			{"post_handler", "u64"},
			{"fault_handler", "u64"},
			{"break_handler", "u64"},
			{"ainsn", "toy_insn"},
			{"offset", "u32"},
			{"opcode", "u32"},
			{"flags", "u32"},
			{"pad", "u32"},
		}},
		{"kretprobe", [][2]string{
			{"kp", "kprobe"},
			{"handler", "u64"},
			{"entry_handler", "u64"},
			{"data_size", "u64"},
			{"free_instances", "u64"},
			{"maxactive", "u32"},
			{"nmissed", "u32"},
			{"lock", "u32"},
			{"pad", "u32"},
		}},
		{"kretprobe_instance", [][2]string{{"hlist", "hlist_node"}, {"rp", "u64"}}},
		{"jprobe", [][2]string{{"kp", "kprobe"}, {"entry", "u64"}}},
	}
}

// toyAbbreviations are the forms of debug information that toyDebug writes (DWARF 4, 7.5.3): tag,
// children, pairs of attribute and form, two zeros.
const toyAbbreviations = "\x01\x11\x01\x00\x00" + // compile unit
	"\x02\x24\x00\x03\x08\x0b\x0b\x00\x00" + // base type: name string, size data1
	"\x03\x13\x01\x03\x08\x0b\x05\x00\x00" + // structure: name string, size data2
	"\x04\x0d\x00\x03\x08\x49\x13\x38\x05\x00\x00\x00" // member: name, type ref4, offset data2

// toyDebug writes the debug information about the structures.
func toyDebug() []byte {
	type known struct{ ref, size int }
	var b bytes.Buffer
	put := func(v any) { _ = binary.Write(&b, binary.BigEndian, v) } // a Buffer takes all
	put([]uint16{0, 0, 4, 0, 0})                                     // length, version, abbreviations
	b.Write([]byte{8, 1})                                            // size of an address; compile unit
	types := map[string]known{}
	for _, base := range []struct {
		name string
		size int
	}{{"u64", 8}, {"u32", 4}} {
		types[base.name] = known{b.Len(), base.size}
		b.WriteString("\x02" + base.name + "\x00")
		b.WriteByte(byte(base.size))
	}
	for _, s := range toyStructs() {
		size := 0
		for _, m := range s.members {
			size += types[m[1]].size
		}
		types[s.name] = known{b.Len(), size}
		b.WriteString("\x03" + s.name + "\x00")
		put(uint16(size))
		at := 0
		for _, m := range s.members {
			b.WriteString("\x04" + m[0] + "\x00")
			put(uint32(types[m[1]].ref))
			put(uint16(at))
			at += types[m[1]].size
		}
		b.WriteByte(0)
	}
	b.WriteByte(0)
	binary.BigEndian.PutUint32(b.Bytes(), uint32(b.Len()-4))
	return b.Bytes()
}

// toyKernel is the image of the toy's kernel: big-endian, of 64 bits, for a machine whose ELF files are so.
func toyKernel(t *testing.T, memory []byte) *image.Image {
	t.Helper()
	const at = 0x1000 // offset of the segment in the file
	var strs, names bytes.Buffer
	strs.WriteByte(0)
	names.WriteByte(0)
	syms := []elf.Sym64{{}}
	for _, s := range toySymbols() {
		section := uint16(1)
		if s.addr >= toyData {
			section = 2
		}
		syms = append(syms, elf.Sym64{
			Name: uint32(strs.Len()), Info: elf.ST_INFO(elf.STB_GLOBAL, s.typ), Shndx: section,
			Value: s.addr, Size: s.size,
		})
		strs.WriteString(s.name + "\x00")
	}
	var table bytes.Buffer
	_ = binary.Write(&table, binary.BigEndian, syms)
	heads := []elf.Section64{{}}
	file := make([]byte, at+len(memory))
	copy(file[at:], memory)
	add := func(name string, h elf.Section64, content []byte) {
		h.Name = uint32(names.Len())
		names.WriteString(name + "\x00")
		if content != nil {
			h.Off, h.Size = uint64(len(file)), uint64(len(content))
			file = append(file, content...)
		}
		heads = append(heads, h)
	}
	code, data := uint64(elf.SHF_ALLOC|elf.SHF_EXECINSTR), uint64(elf.SHF_ALLOC|elf.SHF_WRITE)
	bits, text := uint32(elf.SHT_PROGBITS), uint32(elf.SHT_STRTAB)
	add(".text", elf.Section64{Type: bits, Flags: code, Addr: toyText, Off: at, Size: toyData - toyText}, nil)
	add(".data", elf.Section64{Type: bits, Flags: data, Addr: toyData, Off: at + toyData - toyText, Size: 0x1000}, nil)
	add(".debug_abbrev", elf.Section64{Type: bits}, []byte(toyAbbreviations))
	add(".debug_info", elf.Section64{Type: bits}, toyDebug())
	add(".strtab", elf.Section64{Type: text}, strs.Bytes())
	add(".symtab", elf.Section64{Type: uint32(elf.SHT_SYMTAB), Link: 5, Entsize: elf.Sym64Size}, table.Bytes())
	own := append(bytes.Clone(names.Bytes()), ".shstrtab\x00"...)
	add(".shstrtab", elf.Section64{Type: text}, own)
	var head bytes.Buffer
	_ = binary.Write(&head, binary.BigEndian, elf.Header64{
		Ident: [16]byte{0x7f, 'E', 'L', 'F', 2, 2, 1}, Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_PPC64),
		Version: 1, Entry: toyText, Phoff: 64, Shoff: uint64(len(file)), Ehsize: 64, Phentsize: 56, Phnum: 1,
		Shentsize: 64, Shnum: uint16(len(heads)), Shstrndx: uint16(len(heads) - 1),
	})
	_ = binary.Write(&head, binary.BigEndian, elf.Prog64{
		Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_W | elf.PF_X), Off: at, Vaddr: toyBase,
		Paddr: 0x100000, Filesz: uint64(len(memory)), Memsz: uint64(len(memory)), Align: 0x1000,
	})
	copy(file, head.Bytes())
	var tail bytes.Buffer
	_ = binary.Write(&tail, binary.BigEndian, heads)
	im, err := image.Load("toy", append(file, tail.Bytes()...))
	if err != nil {
		t.Fatal(err)
	}
	return im
}
