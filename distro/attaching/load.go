package attaching

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// Commands of bpf(2).
const (
	mapCreate         = 0
	mapUpdateElem     = 2
	progLoad          = 5
	objGetInfo        = 15
	rawTracepointOpen = 17
	btfLoad           = 18
	progGetNextID     = 11
	progGetFDByID     = 13
	mapFreeze         = 22
	linkCreate        = 28
)

// Program is a program that is attached.
type Program struct {
	Name string
	// Code is where its machine code lies in the kernel: the function that is entered first, and those that it calls. Of a program
	// that the kernel interprets it is the function by which the interpreter begins, which has no end.
	Code [][2]uint64
}

// Entry is the address of its first instruction, which is executed once a hit and at no other time.
func (p *Program) Entry() uint64 { return p.Code[0][0] }

// target names the kind of a program and its place when it is loaded.
type target struct {
	kind     uint32 // enum bpf_prog_type
	attached uint32 // enum bpf_attach_type, 0 where the kind needs none
	typ      uint32 // number of the type in the kernel's BTF to which it goes, or 0
}

// loader loads programs, and makes the maps that they share.
type loader struct {
	Guest
	types    *kernelTypes
	maps     map[string]descriptor
	specs    map[string]*ebpf.MapSpec // of the maps
	programs map[string]descriptor

	described uint32 // places of static probes whose arguments were described
}

// descriptor is a file of the guest's program, as the assembler wants it.
type descriptor int

// FD implements asm.FDer.
func (d descriptor) FD() int { return int(d) }

// make makes maps, in the order of their names, and maps that hold others behind these.
func (l *loader) make(specs map[string]*ebpf.MapSpec) error {
	l.maps, l.specs, l.programs = map[string]descriptor{}, specs, map[string]descriptor{}
	for _, holds := range []bool{false, true} {
		for _, name := range slices.Sorted(maps.Keys(specs)) {
			if (specs[name].InnerMap != nil) != holds {
				continue
			}
			if err := l.create(name, specs[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// create makes a map and fills it. What programs can only read is frozen, so that the verifier knows its values.
func (l *loader) create(name string, s *ebpf.MapSpec) error {
	const readOnlyProgram = 1 << 7 // BPF_F_RDONLY_PROG
	if s.Type == ebpf.PerfEventArray {
		return l.buffers(name, s)
	}
	attr := make(fields, 72)
	attr.u32(0, uint32(s.Type))
	attr.u32(4, s.KeySize)
	attr.u32(8, s.ValueSize)
	attr.u32(12, s.MaxEntries)
	attr.u32(16, s.Flags)
	attr.u64(64, s.MapExtra)
	if s.InnerMap != nil { // the kernel wants one to know what all will be like
		inner := name + " (inner)"
		if err := l.create(inner, s.InnerMap); err != nil {
			return err
		}
		attr.u32(20, uint32(l.maps[inner]))
	}
	n, err := bpf(l, "create the map "+name, mapCreate, l.Memory(), attr)
	if is(err, notPermitted) && l.unlock() == nil {
		n, err = bpf(l, "create the map "+name, mapCreate, l.Memory(), attr)
	}
	if err != nil {
		return err
	}
	l.maps[name] = descriptor(n)
	for _, c := range s.Contents {
		if s.Type == ebpf.ProgramArray {
			break // no program is loaded yet
		}
		if err := l.put(name, uint32(n), c); err != nil {
			return err
		}
	}
	if s.Flags&readOnlyProgram == 0 {
		return nil
	}
	attr = make(fields, 8)
	attr.u32(0, uint32(n))
	_, err = bpf(l, "freeze the map "+name, mapFreeze, l.Memory(), attr)
	return err
}

// unlock lifts the limit of locked memory, which maps count for in kernels as 5.10 (RLIMIT_MEMLOCK, getrlimit(2)).
func (l *loader) unlock() error {
	const locked = 8
	m, unlimited := l.Memory(), fields(bytes.Repeat([]byte{0xff}, 16))
	_, err := call(l, "lift the limit of locked memory", callPrlimit, m, 0, locked, m.put(unlimited), 0)
	return err
}

// put writes an element: a section of data, or a map or a program by its name.
func (l *loader) put(name string, fd uint32, c ebpf.MapKV) error {
	value, ok := c.Value.([]byte)
	key, ok2 := c.Key.(uint32)
	if held, named := c.Value.(string); named {
		of := l.maps
		if _, ok = of[held]; !ok {
			of = l.programs
		}
		value, ok = binary.LittleEndian.AppendUint32(nil, uint32(of[held])), true
	}
	if !ok || !ok2 {
		return fmt.Errorf("the map %s has elements of its own, which are not known here", name)
	}
	m, attr := l.Memory(), make(fields, 32)
	attr.u32(0, fd)
	attr.u64(8, m.put(binary.LittleEndian.AppendUint32(nil, key)))
	attr.u64(16, m.put(value))
	_, err := bpf(l, "fill the map "+name, mapUpdateElem, m, attr)
	return err
}

// mapped has a part of a map mapped into the guest's program, where it can be read.
func (l *loader) mapped(name string, offset uint64) (uint64, error) {
	const read, shared = 1, 1
	at, err := call(l, "map the map "+name, callMmap, l.Memory(), 0, page, read, shared, uint64(l.maps[name]), offset)
	return uint64(at), err
}

// load loads a program for the maps that were made.
func (l *loader) load(p *ebpf.ProgramSpec, t target) (fd int64, loaded Program, err error) {
	o := order{target: t, flags: p.Flags, license: p.License}
	types := &btf.Builder{}
	lacks, err := l.relocate(p.Instructions, types)
	if err != nil {
		return 0, loaded, err
	}
	if o.functions, o.lines, err = btf.MarshalExtInfos(p.Instructions, types); err != nil {
		return 0, loaded, err
	}
	if o.types, err = l.loadTypes(types); err != nil {
		return 0, loaded, err
	}
	for name, m := range l.maps {
		if err := p.Instructions.AssociateMap(name, m); err != nil && !errors.Is(err, asm.ErrUnreferencedSymbol) {
			return 0, loaded, err
		}
	}
	var b bytes.Buffer
	if err := p.Instructions.Marshal(&b, binary.LittleEndian); err != nil {
		return 0, loaded, err
	}
	o.code = b.Bytes()
	if fd, err = o.load(l); err != nil {
		return 0, loaded, lacks.explain(uncompiled(l.Machine(), err))
	}
	loaded = Program{Name: p.Name}
	_, loaded.Code, err = find(l, fd)
	return fd, loaded, err
}

// uncompiled says why a kernel of 32 bits takes no program that it was told to compile and cannot.
func uncompiled(of elf.Machine, err error) error {
	const notSupported = 524
	if is(err, notSupported) && machineOf(of).word < 8 {
		return fmt.Errorf("%w; the kernel's compiler for %s lacks an instruction of it, such as an atomic addition: compile it without, or have the "+
			"kernel interpret it by leaving sysctl.net.core.bpf_jit_enable out of linux.append", err, machineOf(of).name)
	}
	return err
}

// loadTypes gives the kernel the types of a program's functions and lines; 0 where it has none.
func (l *loader) loadTypes(types *btf.Builder) (uint32, error) {
	if types.Empty() {
		return 0, nil
	}
	raw, err := types.Marshal(nil, &btf.MarshalOptions{Order: binary.LittleEndian, PreventNoTypeFound: true})
	if err != nil {
		return 0, err
	}
	m, attr := l.Memory(), make(fields, 28)
	attr.u64(0, m.put(raw))
	attr.u32(16, uint32(len(raw)))
	fd, err := bpf(l, "load the types of a program", btfLoad, m, attr)
	return uint32(fd), err
}

// order tells the kernel of a program.
type order struct {
	target
	code             []byte
	flags            uint32
	license          string
	types            uint32 // descriptor of its own types, 0 without
	functions, lines []byte // records of them
}

// load loads it. When the kernel refuses it, it is asked again, for what the verifier says.
func (o *order) load(g Guest) (int64, error) {
	fd, err := o.once(g, 0)
	var refused *Refused
	if !errors.As(err, &refused) {
		return fd, err
	}
	const room = 1 << 20
	var said *Refused
	if _, err := o.once(g, room); err == nil {
		return 0, errors.New("the kernel refused a program, and took it when it was asked again")
	} else if errors.As(err, &said) {
		refused.Log = said.Log
	}
	return 0, refused
}

func (o *order) once(g Guest, log int) (int64, error) {
	const slot = 8 // bytes of an instruction
	m, attr := g.Memory(), make(fields, 120)
	attr.u32(0, o.kind)
	attr.u32(4, uint32(len(o.code)/slot))
	attr.u64(8, m.put(o.code))
	attr.u64(16, m.Text(o.license))
	attr.u32(44, o.flags)
	attr.u32(68, o.attached)
	attr.u32(108, o.typ)
	if o.types != 0 {
		attr.u32(72, o.types)
		attr.records(76, m, o.functions, btf.FuncInfoSize)
		attr.records(92, m, o.lines, btf.LineInfoSize)
	}
	if log > 0 {
		attr.u32(24, 1)
		attr.u32(28, uint32(log))
		attr.u64(32, m.put(make([]byte, log)))
	}
	fd, err := bpf(g, "load a program of BPF", progLoad, m, attr)
	var refused *Refused
	if errors.As(err, &refused) && log > 0 {
		said, _, _ := bytes.Cut(m.at(binary.LittleEndian.Uint64(attr[32:])), []byte{0})
		refused.Log = end(strings.TrimSpace(string(said)))
	}
	return fd, err
}

// records is three fields: the size of a record, where records are, and how many.
func (f fields) records(at int, m *Memory, b []byte, size uint32) {
	if len(b) == 0 {
		return
	}
	f.u32(at, size)
	f.u64((at+4+7)&^7, m.put(b))
	f.u32((at+4+7)&^7+8, uint32(len(b))/size)
}

// end is the last lines of a text, in which the verifier says why.
func end(text string) string {
	const keep = 24
	lines := strings.Split(text, "\n")
	if len(lines) <= keep {
		return text
	}
	return fmt.Sprintf("(%d lines before)\n%s", len(lines)-keep, strings.Join(lines[len(lines)-keep:], "\n"))
}

// Loaded lists the programs that others have loaded, in the order in which they did.
func Loaded(g Guest) (out []Program, err error) {
	for id := uint32(0); ; {
		m, attr := g.Memory(), make(fields, 12)
		attr.u32(0, id)
		at := m.put(attr)
		_, err := call(g, "tell of the next program", callBPF, m, progGetNextID, at, uint64(len(attr)))
		if is(err, noEntry) {
			return out, apart(out)
		}
		if err != nil {
			return nil, err
		}
		id = binary.LittleEndian.Uint32(m.at(at)[4:])
		attr = make(fields, 12)
		attr.u32(0, id)
		fd, err := bpf(g, "find a program", progGetFDByID, g.Memory(), attr)
		if err != nil {
			return nil, err
		}
		p := Program{}
		if p.Name, p.Code, err = find(g, fd); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
}

// interpreted reports whether the kernel interprets it.
func (p *Program) interpreted() bool { return p.Code[0][0] == p.Code[0][1] }

// apart refuses programs that a kernel interprets and that are entered at the same place.
func apart(programs []Program) error {
	first := map[uint64]string{}
	for _, p := range programs {
		if other, ok := first[p.Entry()]; ok && p.interpreted() {
			return fmt.Errorf("the kernel interprets the programs %s and %s, so their hits cannot be told apart: attach one of them, or have the kernel "+
				"compile them by sysctl.net.core.bpf_jit_enable=1 in linux.append", other, p.Name)
		}
		first[p.Entry()] = p.Name
	}
	return nil
}

// find asks the kernel for the name of a program, and where its machine code lies.
func find(g Guest, fd int64) (name string, code [][2]uint64, err error) {
	const most = 256 // functions of a program (BPF_MAX_SUBPROGS)
	m, info, attr := g.Memory(), make(fields, 208), make(fields, 16)
	at, length := m.put(make([]byte, most*8)), m.put(make([]byte, most*4))
	info.u32(104, most)
	info.u32(108, most)
	info.u64(112, at)
	info.u64(120, length)
	attr.u32(0, uint32(fd))
	attr.u32(4, uint32(len(info)))
	told := m.put(info)
	attr.u64(8, told)
	if _, err := bpf(g, "tell of a program", objGetInfo, m, attr); err != nil {
		return "", nil, err
	}
	text, _, _ := bytes.Cut(m.at(told)[64:80], []byte{0})
	n := min(most, binary.LittleEndian.Uint32(m.at(told)[104:]))
	for i := range uint64(n) {
		start := binary.LittleEndian.Uint64(m.at(at + 8*i))
		code = append(code, [2]uint64{start, start + uint64(binary.LittleEndian.Uint32(m.at(length+4*i)))})
	}
	if n == 0 || code[0][0] == 0 {
		return "", nil, errors.New("the kernel does not say where the code of a program of BPF is: its hits cannot be told")
	}
	return string(text), code, nil
}
