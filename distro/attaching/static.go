package attaching

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
)

// Static probes are notes in a program: where an instruction does nothing, which variable counts who listens, and where arguments are
// at that instruction (sourceware.org/systemtap/wiki/UserSpaceProbeImplementation).

// static is a place of a static probe.
type static struct {
	at, listeners uint64 // offsets in the file; the second is 0 where nobody counts
	arguments     string
}

// statics are the places of a static probe, of which there are several where a compiler has copied the code around one.
func (b *userFile) statics(provider, name string) (found []static, err error) {
	const kind, section, base = 3, ".note.stapsdt", ".stapsdt.base" // NT_STAPSDT
	s := b.Section(section)
	if s == nil {
		return nil, errors.New("no static probes")
	}
	notes, err := s.Data()
	if err != nil {
		return nil, err
	}
	word, number := 8, binary.LittleEndian.Uint64
	if b.Class == elf.ELFCLASS32 {
		word, number = 4, func(b []byte) uint64 { return uint64(binary.LittleEndian.Uint32(b)) }
	}
	moved := uint64(0) // since the notes were written
	for len(notes) >= 12 {
		le := binary.LittleEndian
		nameSize, size, of := uint64(le.Uint32(notes)), uint64(le.Uint32(notes[4:])), le.Uint32(notes[8:])
		from := 12 + (nameSize+3)&^3
		end := from + (size+3)&^3
		if from+size > uint64(len(notes)) {
			return nil, errors.New("damaged notes of static probes")
		}
		note := notes[from : from+size]
		notes = notes[min(end, uint64(len(notes))):]
		if of != kind || len(note) < 3*word {
			continue
		}
		texts := strings.Split(string(note[3*word:]), "\x00")
		if len(texts) < 3 || texts[0] != provider || texts[1] != name {
			continue
		}
		if s := b.Section(base); s != nil {
			moved = s.Addr - number(note[word:])
		}
		at, ok := b.offset(number(note) + moved)
		listeners, counted := b.offset(number(note[2*word:]))
		if !ok || !counted && number(note[2*word:]) != 0 {
			return nil, fmt.Errorf("a static probe %s:%s outside of what is loaded", provider, name)
		}
		found = append(found, static{at, listeners, texts[2]})
	}
	if found == nil {
		return nil, fmt.Errorf("no static probe %s:%s", provider, name)
	}
	return found, nil
}

// ownStatic is the static probe of the program in the machine, which has no notes.
func (b *userFile) ownStatic(function string) (found []static, err error) {
	var s static
	if s.at, _, err = b.find(function, elf.STT_FUNC); err != nil {
		return nil, err
	}
	s.listeners, _, err = b.find("listeners", elf.STT_OBJECT)
	return []static{s}, err
}

// usdt attaches to a static probe, at each of its places. Kernels count listeners up for it (format/ref_ctr_offset).
func (a *attacher) usdt() error {
	kind, err := a.source("uprobe")
	if err != nil {
		return err
	}
	file, probe, noted := strings.Cut(a.Target, ":")
	if !noted {
		file = ownFile
	}
	b, err := a.file(file)
	if err != nil {
		return err
	}
	if noted && machineOf(a.Machine()) == &i386 {
		return fmt.Errorf("%s: notes of static probes are read of programs of x86-64 and ARM, and not of i386: attach a uprobe to an address of its own", a.what)
	}
	var all []static
	if provider, name, _ := strings.Cut(probe, ":"); noted {
		all, err = b.statics(provider, name)
	} else {
		all, err = b.ownStatic(a.Target)
	}
	if err != nil {
		return fmt.Errorf("%s: %s has %w", a.what, b.path, err)
	}
	for _, s := range all {
		if a.cookie, err = a.describe(s.arguments); err != nil {
			return fmt.Errorf("%s: %w", a.what, err)
		}
		m := a.Memory()
		attr := a.probe(kind, false)
		attr.u64(8, s.listeners<<32)
		attr.u64(56, m.Text(b.path))
		attr.u64(64, s.at)
		if err := a.perf(m, attr); err != nil {
			return err
		}
	}
	return nil
}

// argumentsMap is the name of the map in which programs look arguments up, by the number that comes with a hit. Its layout is
// libbpf's (bpf/usdt.bpf.h).
const argumentsMap = "__bpf_usdt_specs"

// describe puts where arguments are into that map, and returns the number. It is 0 for programs that do not look.
func (a *attacher) describe(arguments string) (number uint64, err error) {
	const most, one, size = 12, 16, 208
	fd, ok := a.maps[argumentsMap]
	list := split(arguments)
	switch s := a.specs[argumentsMap]; {
	case !ok:
		return 0, nil
	case s.ValueSize != size:
		return 0, fmt.Errorf("elements of %s have %d bytes, and not %d: the layout is not known", argumentsMap, s.ValueSize, size)
	case len(list) > most:
		return 0, fmt.Errorf("%d arguments: programs know %d", len(list), most)
	case a.described >= s.MaxEntries:
		return 0, fmt.Errorf("%s has room for %d places alone", argumentsMap, s.MaxEntries)
	}
	value := make(fields, size)
	for i, text := range list {
		f, err := argument(a.Machine(), text)
		if err != nil {
			return 0, fmt.Errorf("argument %d: %w", i, err)
		}
		copy(value[one*i:], f)
	}
	value.u16(most*one+8, uint16(len(list)))
	key := a.described
	a.described++
	return uint64(key), a.put(argumentsMap, uint32(fd), ebpf.MapKV{Key: key, Value: []byte(value)})
}

// Ways in which an argument is there.
const (
	constant   = 0 // the value
	inRegister = 1
	inMemory   = 2 // at a distance from a register
)

// split parts arguments. Brackets may have a space.
func split(arguments string) (list []string) {
	open := false
	for _, text := range strings.Fields(arguments) {
		if open {
			list[len(list)-1] += " " + text
		} else {
			list = append(list, text)
		}
		open = strings.Contains(text, "[") || open
		open = open && !strings.Contains(text, "]")
	}
	return list
}

// argument reads where one is, as assemblers write it: SIZE@$NUMBER, SIZE@%REGISTER or SIZE@DISTANCE(%REGISTER), with a negative size
// for a signed one; of ARM SIZE@#NUMBER, SIZE@REGISTER or SIZE@[REGISTER, #DISTANCE].
func argument(machine elf.Machine, text string) (fields, error) {
	unknown := fmt.Errorf("%q is no place where programs can read", text)
	width, place, ok := strings.Cut(text, "@")
	size, err := strconv.Atoi(width)
	signed := size < 0
	if signed {
		size = -size
	}
	if !ok || err != nil || size != 1 && size != 2 && size != 4 && size != 8 {
		return nil, unknown
	}
	f := make(fields, 16)
	f[15] = byte(64 - 8*size)
	if signed {
		f[14] = 1
	}
	constants, of, find := "$", ofX86, registerAt
	if machine == elf.EM_ARM {
		constants, of, find = "#", ofARM, armRegisterAt
	}
	if number, ok := strings.CutPrefix(place, constants); ok {
		n, err := strconv.ParseInt(number, 0, 64)
		if err != nil {
			return nil, unknown
		}
		f.u64(0, uint64(n))
		f.u32(8, constant)
		return f, nil
	}
	distance, register, memory := of(place)
	f.u32(8, inRegister)
	if memory {
		n, err := int64(0), error(nil)
		if distance != "" {
			n, err = strconv.ParseInt(distance, 0, 64)
		}
		if err != nil {
			return nil, unknown
		}
		f.u64(0, uint64(n))
		f.u32(8, inMemory)
	}
	at, ok := find(register)
	if !ok {
		return nil, unknown
	}
	f.u16(12, at)
	return f, nil
}

// ofX86 parts a place in memory, DISTANCE(%REGISTER), and takes any other for a register. A register with a bracket is none.
func ofX86(place string) (distance, register string, memory bool) {
	distance, register, memory = strings.Cut(place, "(")
	if !memory {
		return "", place, false
	}
	if register, memory = strings.CutSuffix(register, ")"); !memory {
		return "", place, false
	}
	return distance, register, true
}

// ofARM does the same with [REGISTER] and [REGISTER, #DISTANCE].
func ofARM(place string) (distance, register string, memory bool) {
	inside, ok := strings.CutPrefix(place, "[")
	if inside, memory = strings.CutSuffix(inside, "]"); !ok || !memory {
		return "", place, false
	}
	register, distance, more := strings.Cut(inside, ",")
	if distance, ok = strings.CutPrefix(strings.TrimSpace(distance), "#"); more && !ok {
		return "", place, false
	}
	return distance, register, true
}

// armRegisterAt is where struct pt_regs has a register of ARM (arch/arm/include/uapi/asm/ptrace.h).
func armRegisterAt(name string) (uint16, bool) {
	if n, ok := map[string]uint16{"sl": 10, "fp": 11, "ip": 12, "sp": 13, "lr": 14, "pc": 15}[name]; ok {
		return 4 * n, true
	}
	number, ok := strings.CutPrefix(name, "r")
	n, err := strconv.ParseUint(number, 10, 8)
	return uint16(4 * n), ok && err == nil && n < 16
}

// registerAt is where struct pt_regs has a register of x86-64 (arch/x86/include/asm/ptrace.h). Its lower parts are there too.
func registerAt(name string) (uint16, bool) {
	order := []string{"r15", "r14", "r13", "r12", "bp", "bx", "r11", "r10", "r9", "r8", "ax", "cx", "dx", "si", "di", "", "ip", "", "", "sp"}
	name, ok := strings.CutPrefix(name, "%")
	for i, r := range order {
		parts := []string{r, r + "d", r + "w", r + "b"}
		if !strings.HasPrefix(r, "r") {
			parts = []string{"r" + r, "e" + r, r, r + "l", strings.TrimSuffix(r, "x") + "l"}
		}
		if ok && r != "" && slices.Contains(parts, name) {
			return uint16(8 * i), true
		}
	}
	return 0, false
}

// strong makes the maps of an object that are weak symbols into others: the ELF loader takes none that are. Two objects that are linked
// may both have them, and one is one.
func strong(file []byte) []byte {
	f, err := elf.NewFile(bytes.NewReader(file))
	if err != nil {
		return file // the loader says what is wrong
	}
	table := f.SectionByType(elf.SHT_SYMTAB)
	symbols, err := f.Symbols()
	if table == nil || err != nil {
		return file
	}
	out := bytes.Clone(file)
	for i, s := range symbols {
		const entry, info = 24, 4
		at := table.Offset + entry*uint64(i+1) + info
		if elf.ST_BIND(s.Info) == elf.STB_WEAK && elf.ST_TYPE(s.Info) == elf.STT_OBJECT && at < uint64(len(out)) {
			out[at] = elf.ST_INFO(elf.STB_GLOBAL, elf.STT_OBJECT)
		}
	}
	return out
}
