package attaching

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// Object is an object file with programs of BPF, as clang makes them.
type Object struct {
	file   []byte
	choice Choice
}

// Choice says what is taken of an object, and how.
type Choice struct {
	// Programs names what is attached: "NAME", or "NAME=TARGET" for a program with a place of its own. Nil stands for all programs but
	// optional ones, whose sections begin with a question mark.
	Programs  []string
	Target    string   // to which all others go, in place of what their sections name; "" for that
	Variables []string // values of global variables as "NAME=NUMBER", in place of the object's
	Maps      []string // sizes of maps as "NAME.max_entries=NUMBER", or with key_size or value_size, in place of the object's
	Samples   Samples  // at which programs of the section perf_event run
}

// section is where a program of an object goes, as the head of its section says (Documentation/bpf/libbpf/program_types.rst).
type section struct {
	way  string
	call bool // the function is that of a system call
}

func sections() map[string]section {
	return map[string]section{
		"kprobe": {way: Kprobe}, "kretprobe": {way: Kretprobe}, "ksyscall": {Kprobe, true}, "kretsyscall": {Kretprobe, true},
		"kprobe.multi": {way: KprobeMulti}, "kretprobe.multi": {way: KretprobeMulti}, "kprobe.session": {way: KprobeSession},
		"uprobe": {way: Uprobe}, "uretprobe": {way: Uretprobe}, "uprobe.s": {way: Uprobe}, "uretprobe.s": {way: Uretprobe},
		"uprobe.multi": {way: UprobeMulti}, "uretprobe.multi": {way: UretprobeMulti},
		"uprobe.multi.s": {way: UprobeMulti}, "uretprobe.multi.s": {way: UretprobeMulti},
		"uprobe.session": {way: UprobeSession}, "uprobe.session.s": {way: UprobeSession},
		"usdt": {way: USDT}, "usdt.s": {way: USDT}, "fentry": {way: Fentry}, "fexit": {way: Fexit}, "fmod_ret": {way: FmodRet},
		"fentry.s": {way: Fentry}, "fexit.s": {way: Fexit}, "fmod_ret.s": {way: FmodRet},
		"tp": {way: Tracepoint}, "tracepoint": {way: Tracepoint}, "tp_btf": {way: BTFTracepoint},
		"raw_tp": {way: RawTracepoint}, "raw_tracepoint": {way: RawTracepoint}, "perf_event": {way: PerfEvent},
	}
}

// plain lists the names of sections, but not of sleepable programs.
func plain() []string {
	names := slices.Sorted(maps.Keys(sections()))
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, ".s") })
}

// ReadObject reads an object file. It fails for a file that is no object of BPF, and for programs, maps and variables that cannot be
// had here.
func ReadObject(file []byte, choice Choice) (*Object, error) {
	o := &Object{file, choice}
	_, err := o.read()
	return o, err
}

// content has the programs and maps that are taken of an object.
type content struct {
	parts   []part
	maps    map[string]*ebpf.MapSpec
	called  []string // programs of arrays of programs
	sampled bool
	options []option
	externs externs
}

// part is a program and where it goes. One that others call alone goes nowhere.
type part struct {
	Attachment
	spec   *ebpf.ProgramSpec
	called bool
}

// read reads the file. What it returns is the caller's, who changes it.
func (o *Object) read() (*content, error) {
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(strong(o.file)))
	switch {
	case err != nil:
		return nil, fmt.Errorf("no object file of BPF that is known here: %w", err)
	case spec.ByteOrder != binary.LittleEndian:
		return nil, errors.New("an object file for processors of the other byte order: compile it with -target bpfel")
	}
	c := &content{maps: map[string]*ebpf.MapSpec{}}
	if c.externs, err = readExterns(o.file); err != nil {
		return nil, err
	}
	if err := set(spec, o.choice.Variables); err != nil {
		return nil, err
	}
	if err := resize(spec, o.choice.Maps); err != nil {
		return nil, err
	}
	names, err := o.named(spec)
	for _, name := range names {
		choice := o.choice
		if target := o.targets()[name]; target != "" {
			choice.Target = target
		}
		if err == nil {
			err = c.add(spec, spec.Programs[name], choice, false)
		}
	}
	for i := 0; i < len(c.called) && err == nil; i++ { // calls of those that are called come behind
		name := c.called[i]
		if !slices.ContainsFunc(c.parts, func(p part) bool { return p.spec.Name == name }) {
			err = c.add(spec, spec.Programs[name], o.choice, true)
		}
	}
	if err == nil && o.choice.Samples.Event != "" && !c.sampled {
		return nil, fmt.Errorf("event %s: no program that is taken has the section perf_event", o.choice.Samples.Event)
	}
	return c, err
}

// set gives variables their values, as a tool does before it loads its object.
func set(spec *ebpf.CollectionSpec, variables []string) error {
	for _, text := range variables {
		name, value, _ := strings.Cut(text, "=")
		v := spec.Variables[name]
		n, err := strconv.ParseInt(value, 0, 64)
		switch {
		case v == nil:
			return fmt.Errorf("variable %q: the object has no variable %s", text, name)
		case err != nil || v.Size() > 8:
			return fmt.Errorf("variable %q: write the value of a number of up to 8 bytes, as in %s=1", text, name)
		case !fits(n, v.Size()):
			return fmt.Errorf("variable %q: it has %d bytes", text, v.Size())
		}
		m := spec.Maps[v.SectionName]
		if m == nil || len(m.Contents) != 1 {
			return fmt.Errorf("variable %q: the section %s has no data", text, v.SectionName)
		}
		data, ok := m.Contents[0].Value.([]byte)
		if !ok || uint64(v.Offset)+uint64(v.Size()) > uint64(len(data)) {
			return fmt.Errorf("variable %q: it does not lie in the section %s", text, v.SectionName)
		}
		copy(data[v.Offset:v.Offset+v.Size()], binary.LittleEndian.AppendUint64(nil, uint64(n)))
	}
	return nil
}

// fits reports whether a number of so many bytes, with a sign or without, can be n.
func fits(n int64, size uint32) bool { return size >= 8 || n>>(8*size) == 0 || n>>(8*size-1) == -1 }

// resize gives maps their sizes, as a tool does before it loads its object.
func resize(spec *ebpf.CollectionSpec, sizes []string) error {
	for _, text := range sizes {
		place, number, _ := strings.Cut(text, "=")
		name, field, _ := strings.Cut(place, ".")
		n, err := strconv.ParseUint(number, 0, 32)
		m := spec.Maps[name]
		switch {
		case m == nil:
			return fmt.Errorf("map %q: the object has no map %s", text, name)
		case err != nil || n == 0:
			return fmt.Errorf("map %q: write a size as a number, as in %s.max_entries=1024", text, name)
		}
		switch field {
		case "max_entries":
			m.MaxEntries = uint32(n)
		case "key_size":
			m.KeySize, m.Key = uint32(n), nil
		case "value_size":
			m.ValueSize, m.Value = uint32(n), nil
		default:
			return fmt.Errorf("map %q: a map has the sizes max_entries, key_size and value_size", text)
		}
	}
	return nil
}

// targets are the places that programs have of their own, by their names.
func (o *Object) targets() map[string]string {
	out := map[string]string{}
	for _, text := range o.choice.Programs {
		name, target, _ := strings.Cut(text, "=")
		out[name] = target
	}
	return out
}

// named lists the programs that are taken, in the order of their names.
func (o *Object) named(spec *ebpf.CollectionSpec) (names []string, err error) {
	all, chosen := slices.Sorted(maps.Keys(spec.Programs)), o.targets()
	for _, name := range slices.Sorted(maps.Keys(chosen)) {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("no program %s: it has %s", name, strings.Join(all, ", "))
		}
	}
	for _, name := range all {
		optional := strings.HasPrefix(spec.Programs[name].SectionName, "?") || onlyCalled(spec, spec.Programs[name])
		if _, taken := chosen[name]; taken || len(chosen) == 0 && !optional {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, errors.New("an object without a program")
	}
	return names, nil
}

// onlyCalled reports whether a program stands in an array of programs, and its section names no place.
func onlyCalled(spec *ebpf.CollectionSpec, p *ebpf.ProgramSpec) bool {
	for _, m := range spec.Maps {
		for _, c := range m.Contents {
			if m.Type == ebpf.ProgramArray && c.Value == p.Name && !strings.Contains(p.SectionName, "/") {
				return true
			}
		}
	}
	return false
}

// add takes a program, with the maps that it names.
func (c *content) add(spec *ebpf.CollectionSpec, p *ebpf.ProgramSpec, choice Choice, called bool) error {
	a, err := place(p.SectionName, choice.Target, called)
	if err != nil {
		return fmt.Errorf("program %s: %w", p.Name, err)
	}
	if a.Way == PerfEvent {
		a.samples, c.sampled = choice.Samples, true
		if a.samples.Event == "" {
			a.samples = Samples{Clock, 1_000_000_000 / Frequency}
		}
		a.Target = a.samples.Event
	}
	c.parts = append(c.parts, part{a, p, called})
	c.options = append(c.options, c.externs.options(p.Instructions)...)
	for i := range p.Instructions {
		in := &p.Instructions[i]
		c.externs.conceal(in)
		name := in.Reference()
		if m := spec.Maps[name]; m != nil && in.IsLoadFromMap() {
			err = c.take(spec, name)
		} else {
			err = extern(in, name)
		}
		if err != nil {
			return fmt.Errorf("program %s: %w", p.Name, err)
		}
	}
	return nil
}

// take takes a map, with the maps and programs that it holds.
func (c *content) take(spec *ebpf.CollectionSpec, name string) error {
	m := spec.Maps[name]
	if c.maps[name] != nil {
		return nil
	}
	if err := known(m); err != nil {
		return fmt.Errorf("map %s: %w", name, err)
	}
	c.maps[name] = m
	for _, held := range m.Contents {
		one, ok := held.Value.(string)
		switch {
		case !ok:
		case m.Type == ebpf.ProgramArray:
			c.called = append(c.called, one)
		case spec.Maps[one] == nil:
			return fmt.Errorf("map %s: it holds %s, which is no map", name, one)
		default:
			if err := c.take(spec, one); err != nil {
				return err
			}
		}
	}
	return nil
}

// extern refuses what a loader would have to look up in the kernel.
func extern(in *asm.Instruction, name string) error {
	switch {
	case in.IsKfuncCall():
		return fmt.Errorf("it calls %s, a function of the kernel that is none of its helpers", name)
	case in.OpCode.IsDWordLoad() && name != "" && name != optionsMap && in.Src != asm.PseudoFunc:
		return fmt.Errorf("it names %s, a symbol of the kernel (__ksym): none is looked up", name)
	}
	return nil
}

// known refuses maps that need more than to be made.
func known(m *ebpf.MapSpec) error {
	switch {
	case m.MaxEntries == 0 && m.Type != ebpf.PerfEventArray:
		return errors.New("it declares no max_entries: give it some by maps, as in NAME.max_entries=1024")
	case m.ValueSize == 0 && m.Type == ebpf.StackTrace:
		return errors.New("it declares no value_size: give it one by maps, as in NAME.value_size=1016 for stacks of 127 addresses")
	}
	switch m.Type {
	case ebpf.ProgramArray:
		if len(m.Contents) == 0 {
			return errors.New("it has no programs: those that a tool puts there are not known")
		}
		return nil
	case ebpf.ArrayOfMaps, ebpf.HashOfMaps:
		switch {
		case m.InnerMap == nil:
			return errors.New("it does not declare what maps it holds")
		case len(m.Contents) > 0 && m.KeySize != 4:
			return errors.New("it has elements, and keys of other than four bytes")
		}
		return known(m.InnerMap)
	case ebpf.Array, ebpf.Hash, ebpf.PerCPUArray, ebpf.PerCPUHash, ebpf.LRUHash, ebpf.LRUCPUHash, ebpf.LPMTrie, ebpf.StackTrace,
		ebpf.Queue, ebpf.Stack, ebpf.RingBuf, ebpf.PerfEventArray, ebpf.CGroupArray:
		return nil
	}
	return fmt.Errorf("maps of the type %s are not made here", m.Type)
}

// place reads the name of a section: a way, and a function, with an offset, or a tracepoint. A given one goes before it. A program
// that is called alone needs none.
func place(name, given string, called bool) (a Attachment, err error) {
	how, target, _ := strings.Cut(strings.TrimPrefix(name, "?"), "/")
	if given != "" {
		target = given
	}
	s, known := sections()[how]
	switch {
	case !known:
		return a, fmt.Errorf("section %q: programs of this kind are not attached here, but those of %s, and sleepable ones", name, strings.Join(plain(), ", "))
	case target == "" && called, s.way == PerfEvent:
		return Attachment{Way: s.way}, nil
	case target == "":
		return a, fmt.Errorf("section %q: write what it is attached to, as in %s/NAME, or name a target beside the file", name, how)
	case strings.ContainsAny(target, "*?"):
		return a, fmt.Errorf("section %q: write one function, no pattern", name)
	}
	a.Way = s.way
	if strings.Contains(given, ":") { // a program is of the same type where its probe is of a program
		a.Way = cmp.Or(map[string]string{Kprobe: Uprobe, Kretprobe: Uretprobe}[s.way], s.way)
	}
	file, function, ok := "", target, false
	if User(a.Way) {
		if file, function, ok = strings.Cut(target, ":"); !ok || file == "" || function == "" {
			return a, fmt.Errorf("section %q: write a file and a function of it, as in %s//usr/bin/NAME:FUNCTION", name, how)
		}
		if a.Way == USDT && !strings.Contains(function, ":") {
			return a, fmt.Errorf("section %q: write a file, a provider and a name, as in %s//usr/bin/NAME:PROVIDER:PROBE", name, how)
		}
		file += ":"
	}
	function, offset, ok := strings.Cut(function, "+")
	if ok {
		if a.Offset, err = strconv.ParseUint(offset, 0, 32); err != nil || !slices.Contains([]string{Kprobe, Uprobe, UprobeMulti}, a.Way) {
			return a, fmt.Errorf("section %q: an offset is a number, and of a kprobe or uprobe", name)
		}
	}
	a.Target, a.call = file+function, s.call
	return a, nil
}

// Lacks says which program of an object a kernel has no way for; nil where it has all.
func (o *Object) Lacks(has Has) error {
	c, err := o.read()
	if err != nil {
		return err
	}
	for _, p := range c.parts {
		if lack := Lacks(p.Way, has); lack != "" {
			return fmt.Errorf("program %s: section %q: the kernel %s", p.spec.Name, p.spec.SectionName, lack)
		}
	}
	return nil
}

// rings has the positions of ring buffers mapped into the guest's program.
func (l *loader) rings(specs map[string]*ebpf.MapSpec) (out []Ring, err error) {
	for _, name := range slices.Sorted(maps.Keys(specs)) {
		if m := specs[name]; m.Type == ebpf.RingBuf {
			at, err := l.mapped(name, page) // the producer's position has the second page
			if err != nil {
				return nil, err
			}
			out = append(out, Ring{name, at, uint64(m.MaxEntries), machineOf(l.Machine()).word})
		}
	}
	return out, nil
}

// object loads all programs of an object and attaches them then.
func (l *loader) object(o *Object) (*Attached, error) {
	c, err := o.read()
	if err != nil {
		return nil, err
	}
	if err := l.options(c); err != nil {
		return nil, err
	}
	if err := l.make(c.maps); err != nil {
		return nil, err
	}
	out := &Attached{Sampled: c.sampled}
	if out.Rings, err = l.rings(c.maps); err != nil {
		return nil, err
	}
	all := make([]*attacher, len(c.parts))
	for i, p := range c.parts {
		if all[i], err = l.part(p, out); err != nil {
			return nil, fmt.Errorf("program %s: %w", p.spec.Name, err)
		}
	}
	if err := apart(slices.Concat(out.Programs, out.called)); err != nil {
		return nil, err
	}
	if err := l.calls(c.maps); err != nil {
		return nil, err
	}
	for i, p := range c.parts {
		if p.called {
			continue
		}
		if err := all[i].way.attach(all[i]); err != nil {
			return nil, fmt.Errorf("program %s: %w", p.spec.Name, err)
		}
	}
	return out, nil
}

// part loads a program of an object.
func (l *loader) part(p part, out *Attached) (*attacher, error) {
	at, err := l.attacher(p.Attachment)
	if err != nil {
		return nil, err
	}
	loaded, err := at.load(l, p.spec)
	l.programs[p.spec.Name] = descriptor(at.fd)
	if p.called {
		out.called = append(out.called, loaded)
	} else {
		out.Programs = append(out.Programs, loaded)
	}
	return at, err
}

// calls fills arrays of programs, which are loaded now.
func (l *loader) calls(specs map[string]*ebpf.MapSpec) error {
	for _, name := range slices.Sorted(maps.Keys(specs)) {
		m := specs[name]
		for i := 0; i < len(m.Contents) && m.Type == ebpf.ProgramArray; i++ {
			if err := l.put(name, uint32(l.maps[name]), m.Contents[i]); err != nil {
				return err
			}
		}
	}
	return nil
}
