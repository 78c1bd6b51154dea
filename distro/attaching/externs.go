package attaching

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// externs are the names of symbols that an object has not itself, by the places that name them. The ELF loader keeps names
// of options to itself.
type externs struct {
	functions map[string]codePlace // where functions begin
	hidden    map[string]bool      // functions that others than their object do not see
	names     map[codePlace]string
}

// codePlace is a place in the code of an object.
type codePlace struct {
	section elf.SectionIndex
	offset  uint64
}

// readExterns reads relocations of an object file.
func readExterns(file []byte) (x externs, err error) {
	x = externs{map[string]codePlace{}, map[string]bool{}, map[codePlace]string{}}
	f, err := elf.NewFile(bytes.NewReader(file))
	if err != nil {
		return x, err
	}
	symbols, err := f.Symbols()
	if err != nil {
		return x, err
	}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC {
			x.functions[s.Name] = codePlace{s.Section, s.Value}
			x.hidden[s.Name] = elf.ST_VISIBILITY(s.Other) == elf.STV_HIDDEN || elf.ST_VISIBILITY(s.Other) == elf.STV_INTERNAL
		}
	}
	for _, section := range f.Sections {
		if section.Type != elf.SHT_REL {
			continue
		}
		b, err := section.Data()
		if err != nil {
			return x, err
		}
		const size = 16 // of an offset, and of a symbol's number above a type
		for ; len(b) >= size; b = b[size:] {
			n := binary.LittleEndian.Uint64(b[8:]) >> 32
			if n > 0 && n <= uint64(len(symbols)) && symbols[n-1].Section == elf.SHN_UNDEF {
				x.names[codePlace{elf.SectionIndex(section.Info), binary.LittleEndian.Uint64(b)}] = symbols[n-1].Name
			}
		}
	}
	return x, nil
}

// conceal makes hidden functions into static ones, as libbpf does. The verifier looks at a global one by itself, and knows nothing of what
// it is called with.
func (x externs) conceal(in *asm.Instruction) {
	if f := btf.FuncMetadata(in); f != nil && x.hidden[in.Symbol()] {
		f.Linkage = btf.StaticFunc
	}
}

// option is an instruction that names an option of the kernel (__kconfig).
type option struct {
	in   *asm.Instruction
	name string
}

// optionsMap is the name of the map that holds what options are.
const optionsMap = ".kconfig"

// options lists such instructions of a program, and has them name the map. The code of each function begins with its symbol.
func (x externs) options(code asm.Instructions) (out []option) {
	var at codePlace
	for i := range code {
		in := &code[i]
		if start, ok := x.functions[in.Symbol()]; ok {
			at = start
		}
		if name := x.names[at]; in.OpCode.IsDWordLoad() && in.Src == asm.PseudoMapValue && in.Reference() == "" && name != "" {
			*in = in.WithReference(optionsMap)
			out = append(out, option{in, name})
		}
		at.offset += in.Size()
	}
	return out
}

// options makes a map of the options that programs name. They cannot change it, so the verifier knows what it holds.
func (l *loader) options(c *content) error {
	const word, readOnly, mmapable = 8, 1 << 7, 1 << 10
	var values []byte
	for _, o := range c.options {
		v, err := l.option(o.name)
		if err != nil {
			return err
		}
		o.in.Constant = int64(len(values)) << 32
		values = binary.LittleEndian.AppendUint64(values, v)
	}
	if len(values) > 0 {
		c.maps[optionsMap] = &ebpf.MapSpec{
			Type: ebpf.Array, KeySize: 4, ValueSize: uint32(len(values)), MaxEntries: 1, Flags: readOnly | mmapable,
			Contents: []ebpf.MapKV{{Key: uint32(0), Value: values}},
		}
	}
	return nil
}

// option finds the value of an option. A kernel does not hold its configuration.
func (l *loader) option(name string) (uint64, error) {
	var a, b, c uint64
	release, err := l.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return 0, err
	}
	if n, _ := fmt.Sscanf(release, "%d.%d.%d", &a, &b, &c); n < 2 {
		return 0, fmt.Errorf("the kernel's release is %q, and no version", strings.TrimSpace(release))
	}
	switch name {
	case "LINUX_KERNEL_VERSION":
		return a<<16 | b<<8 | min(c, 255), nil
	case "LINUX_HAS_SYSCALL_WRAPPER": // functions of system calls have the prefix of the processor
		return machineOf(l.Machine()).wrapped, nil
	case "LINUX_HAS_BPF_COOKIE":
		if a > 5 || a == 5 && b >= 15 {
			return 1, nil
		}
		return 0, nil
	}
	return 0, fmt.Errorf("the object reads %s: of options only the kernel's version is known, so write what it is", name)
}
