package kprobes

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The toy is an architecture that no processor has, and as unlike x86 as those that are to come:
// big-endian, with instructions of four bytes at aligned addresses, a breakpoint as long, no single step
// and no jump optimization. By its first byte an instruction is
//
//	0x10  emulated by a function of the guest
//	0x20  executed out of line
//	0x40  not to be probed
//	0x00  none
const toySlotSize = 8

// toyNowhere is the offset of an instruction that no function has.
const toyNowhere = 0x80

// toyTarget is the code of function target.
const toyTarget = "\x10\x00\x00\x01\x20\x00\x00\x02\x40\x00\x00\x03\x00\x00\x00\x00\x10\x00\x00\x05"

func toyArch() *Arch {
	return &Arch{
		Name: "toy", Breakpoint: []byte{0xee, 0xdd, 0xdd, 0xbb}, Align: 4, SlotSize: toySlotSize, Line: 32,
		Flush: "toy_flush", First: Emulated,
		Members: []string{"opcode", "ainsn.slot", "ainsn.handler"},
		Eras: []Era{
			{Year: 2005},
			{Year: 2010, Boundaries: true, Protected: []string{"guarded"}, ReturnProtected: []string{"not_returned"}},
		},
		Prepare: toyPrepare,
	}
}

func toyPrepare(in Insn) (Copy, error) {
	opcode := Value{Member: "opcode", Number: uint64(binary.BigEndian.Uint32(in.Code))}
	switch in.Code[0] {
	case 0x10:
		return Copy{Members: []Value{opcode, {Member: "ainsn.handler", Func: "emulate"}}}, nil
	case 0x20:
		return Copy{
			Code:    append(slices.Clone(in.Code[:4]), 0x99, 0, 0, 0),
			Members: []Value{opcode, {Member: "ainsn.slot", Number: in.Slot}},
		}, nil
	case 0x40:
		return Copy{}, EINVAL
	}
	return Copy{}, EILSEQ
}

// toy is a kernel of the toy architecture without a CPU. Tasks, locks and grace periods are those of a
// guest of another architecture, which a test of registration does not care about.
type toy struct {
	*guest
	memory  []byte // from toyBase
	heap    []byte // from toyHeap
	top     uint64
	used    map[uint64]uint64
	k       *Kprobes
	flushed []string
	pokes   []string
}

// newToy builds Kprobes for the toy's kernel of a year, with rules that may be changed.
func newToy(t *testing.T, year uint64, opt Options, change func(*Arch)) (*toy, error) {
	t.Helper()
	y := &toy{
		guest: newGuest(t, withJprobes(isas()[0]), plain()), memory: make([]byte, toySize), heap: make([]byte, 1<<16),
		used: map[uint64]uint64{}, top: toyHeap + 0x1000,
	}
	copy(y.memory, toyTarget)
	copy(y.memory[toyNowhere:], "\x10\x00\x00\x06")
	for _, s := range toySymbols()[2:8] { // the other functions have two instructions
		copy(y.memory[s.addr-toyBase:], "\x10\x00\x00\x07\x10\x00")
	}
	y.do(y.Store(toyData, 4, year))
	arch := toyArch()
	if change != nil {
		change(arch)
	}
	var err error
	y.k, err = Build(y, toyKernel(t, y.memory), y.smp, arch, opt)
	return y, err
}

func toy2010(t *testing.T) *toy {
	t.Helper()
	y, err := newToy(t, 2010, Default(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return y
}

func (y *toy) at(va uint64, n int) ([]byte, error) {
	for base, buf := range map[uint64][]byte{toyBase: y.memory, toyHeap: y.heap} {
		if off := va - base; off < uint64(len(buf)) && off+uint64(n) <= uint64(len(buf)) {
			return buf[off : off+uint64(n)], nil
		}
	}
	return nil, fmt.Errorf("address %#x of the toy is not mapped", va)
}

func (y *toy) Load(va uint64, size int) (v uint64, err error) {
	b, err := y.at(va, size)
	for _, x := range b {
		v = v<<8 | uint64(x)
	}
	return v, err
}

func (y *toy) Store(va uint64, size int, v uint64) error {
	b, err := y.at(va, size)
	for i := range b {
		b[len(b)-1-i] = byte(v >> (8 * i))
	}
	return err
}

func (y *toy) ReadBytes(va uint64, n int) ([]byte, error) { return y.at(va, n) }

func (y *toy) WriteBytes(va uint64, p []byte) error {
	b, err := y.at(va, len(p))
	copy(b, p)
	return err
}

func (y *toy) Alloc(size, align uint64) (uint64, error) {
	if align != 32 {
		y.t.Errorf("memory is aligned to %d bytes", align)
	}
	y.top = (y.top + align - 1) / align * align
	y.used[y.top] = size
	y.top += size
	return y.top - size, nil
}

func (y *toy) Free(va uint64) error {
	if y.used[va] == 0 {
		return fmt.Errorf("free of %#x, which is not allocated", va)
	}
	delete(y.used, va)
	return nil
}

// InvokeSym has the toy's own functions for text, and the other guest's for the rest.
func (y *toy) InvokeSym(name string, args ...uint64) (uint64, error) {
	switch name {
	case "text_poke_patch":
		b, err := y.at(args[1], int(args[2]))
		if err != nil {
			return 0, err
		}
		y.pokes = append(y.pokes, hex(b))
		return 0, y.WriteBytes(args[0], b)
	case "toy_flush":
		y.flushed = append(y.flushed, fmt.Sprintf("%#x-%#x", args[0], args[1]))
		return 0, nil
	}
	return y.guest.InvokeSym(name, args...)
}

func (y *toy) add(s Spec) *Probe {
	y.t.Helper()
	p, err := y.k.Add(y, s)
	y.do(err)
	return p
}

func (y *toy) state(p *Probe) State {
	y.t.Helper()
	st, err := y.k.State(p.Addr)
	y.do(err)
	return st
}

func (y *toy) text(off, n int) string { return hex(y.memory[off : off+n]) }

// nothingLeft expects the text and the heap as they were.
func (y *toy) nothingLeft(allocated int) {
	y.t.Helper()
	y.do(y.k.WaitOptimizer(y))
	if got := y.text(0, 20); got != hex([]byte(toyTarget)) {
		y.t.Errorf("text %s afterwards", got)
	}
	if len(y.used) != allocated || len(y.k.sites) != 0 || slices.Contains(y.k.slots.used, true) {
		y.t.Errorf("%d allocations, %d sites, slots %v are left", len(y.used)-allocated, len(y.k.sites), y.k.slots.used)
	}
}

// A probe whose instruction is emulated takes no slot, its breakpoint is four bytes, and it is armed,
// disarmed and listed like any.
func TestToyEmulates(t *testing.T) {
	y := toy2010(t)
	allocated := len(y.used)
	p := y.add(Spec{Symbol: "target", Handler: "handler"})
	if got := y.text(0, 8); got != "ee dd dd bb 20 00 00 02" {
		t.Errorf("armed text %s", got)
	}
	if st := y.state(p); st.Mode != Emulated || st.Refusal == nil || st.Refusal.Rule != RuleUnsupported {
		t.Errorf("state %+v %v", st, st.Refusal)
	}
	l := &y.k.l.p
	if op, h := y.k.m.Load(p.Addr, l.arch[0]), y.k.m.Load(p.Addr, l.arch[2]); op != 0x10000001 || h != toyText+0x48 {
		t.Errorf("opcode %#x, emulated by %#x", op, h)
	}
	if slices.Contains(y.k.slots.used, true) || len(y.flushed) != 0 {
		t.Errorf("slots %v, flushed %q: nothing is executed out of line", y.k.slots.used, y.flushed)
	}
	if list, err := y.k.List(); err != nil || list != "c000000000100000  k  target+0x0    \n" {
		t.Errorf("list %q, %v", list, err)
	}
	y.do(y.k.Disable(y, p))
	if got := y.text(0, 8); got != "10 00 00 01 20 00 00 02" || y.state(p).Mode != Disabled {
		t.Errorf("disarmed text %s, %+v", got, y.state(p))
	}
	y.do(y.k.Enable(y, p))
	y.do(y.k.Remove(y, p))
	if want := []string{"ee dd dd bb", "10 00 00 01", "ee dd dd bb", "10 00 00 01"}; !slices.Equal(y.pokes, want) {
		t.Errorf("stores into text %q, want %q", y.pokes, want)
	}
	y.nothingLeft(allocated)
}

// A copy for a slot is made visible to fetching before a breakpoint leads to it.
func TestToyFlushesCopies(t *testing.T) {
	y := toy2010(t)
	allocated := len(y.used)
	p := y.add(Spec{Symbol: "target", Offset: 4})
	if got := y.text(toySlots-toyBase, 8); got != "20 00 00 02 99 00 00 00" {
		t.Errorf("slot %s", got)
	}
	if want := []string{fmt.Sprintf("%#x-%#x", uint64(toySlots), uint64(toySlots+8))}; !slices.Equal(y.flushed, want) {
		t.Errorf("flushed %q, want %q", y.flushed, want)
	}
	if at := y.k.m.Load(p.Addr, y.k.l.p.arch[1]); at != toySlots {
		t.Errorf("the structure names a slot at %#x", at)
	}
	y.do(y.k.Remove(y, p))
	y.nothingLeft(allocated)
}

// Probes of all kinds share an address: the aggregate is a plain struct kprobe, and all of them have
// what the first one was prepared with.
func TestToyAggregates(t *testing.T) {
	y := toy2010(t)
	allocated := len(y.used)
	ps := []*Probe{
		y.add(Spec{Symbol: "target", Handler: "handler"}),
		y.add(Spec{Symbol: "target", Handler: "handler", Post: "handler"}),
		y.add(Spec{Kind: Kretprobe, Symbol: "target", Handler: "handler"}),
		y.add(Spec{Kind: Jprobe, Symbol: "target", Handler: "handler"}),
	}
	s := y.k.site(toyText)
	if y.used[s.head] != y.k.l.p.size {
		t.Errorf("an aggregate of %d bytes", y.used[s.head])
	}
	for _, p := range append(y.k.children(s.head), s.head) {
		if h := y.k.m.Load(p, y.k.l.p.arch[2]); h != toyText+0x48 {
			t.Errorf("%#x is emulated by %#x", p, h)
		}
	}
	for _, p := range ps {
		if st := y.state(p); st.Mode != Emulated {
			t.Errorf("%s: %+v", p.Kind, st)
		}
	}
	y.do(y.k.SetOptimization(y, false))
	y.do(y.k.SetOptimization(y, true))
	y.do(y.k.ArmAll(y, false))
	if got := y.text(0, 4); got != "10 00 00 01" {
		t.Errorf("text %s with all probes disarmed", got)
	}
	y.do(y.k.ArmAll(y, true))
	for _, p := range ps {
		y.do(y.k.Remove(y, p))
	}
	y.nothingLeft(allocated)
}

func TestToyRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		year uint64
		spec Spec
		want error
	}{
		{"unaligned", 2010, Spec{Symbol: "target", Offset: 2}, EINVAL},
		{"unaligned in 2005", 2005, Spec{Symbol: "target", Offset: 2}, EINVAL},
		{"not to be probed", 2010, Spec{Symbol: "target", Offset: 8}, EINVAL},
		{"no instruction", 2010, Spec{Symbol: "target", Offset: 12}, EILSEQ},
		{"half an instruction", 2010, Spec{Symbol: "odd", Offset: 4}, EILSEQ},
		{"no function", 2010, Spec{Symbol: "target", Offset: toyNowhere}, EILSEQ},
		{"path of a hit", 2010, Spec{Symbol: "group_before"}, EINVAL},
		{"protected", 2010, Spec{Symbol: "guarded"}, EINVAL},
		{"protected everywhere", 2010, Spec{Symbol: "preempt_schedule"}, EINVAL},
		{"return protected", 2010, Spec{Kind: Kretprobe, Symbol: "not_returned"}, EINVAL},
		{"slot", 2010, Spec{Symbol: "__slots_start"}, EINVAL},
		{"data", 2010, Spec{Symbol: "probe_table"}, EINVAL},
		{"disabled in 2005", 2005, Spec{Symbol: "target", Disabled: true}, ENOSYS},
	} {
		y, err := newToy(t, tt.year, Default(), nil)
		if err != nil {
			t.Fatal(err)
		}
		allocated := len(y.used)
		if _, err := y.k.Add(y, tt.spec); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
		y.nothingLeft(allocated)
	}
	for _, spec := range []Spec{{Symbol: "not_returned"}, {Kind: Kretprobe, Symbol: "target"}} {
		toy2010(t).add(spec)
	}
}

// Rules, image and options that do not fit together are refused with their names.
func TestToyMistakes(t *testing.T) {
	patching := Default()
	patching.Patching = PatchBreakpoint
	for _, tt := range []struct {
		name, want string
		year       uint64
		opt        Options
		change     func(*Arch)
	}{
		{"year", "era 1999, which Kprobes on toy does not know: build it for one of 2005, 2010", 1999, Default(), nil},
		{"year of the rules", "era 2010, which Kprobes on toy", 2010, Default(), func(a *Arch) { a.Eras = a.Eras[:1] }},
		{"year of the interface", "era 1999", 1999, Default(), func(a *Arch) { a.Eras[0].Year = 1999 }},
		{"protocol", `patching = "breakpoint"`, 2010, patching, nil},
		{"member", "ainsn.boostable", 2010, Default(), func(a *Arch) { a.Members = append(a.Members, "ainsn.boostable") }},
		{"learned", "ainsn.ready", 2010, Default(), func(a *Arch) { a.Learned = "ainsn.ready" }},
		{"boosting", "switch_boost", 2010, Default(), func(a *Arch) { a.Eras[1].Boost, a.Then = true, Boosted }},
	} {
		_, err := newToy(t, tt.year, tt.opt, tt.change)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %q", tt.name, err, tt.want)
		}
	}
	for _, tt := range []struct {
		value Value
		want  string
	}{
		{Value{Member: "flags"}, "prepare flags, which is none of their members"},
		{Value{Member: "ainsn.handler", Func: "nobody"}, "no function nobody"},
		{Value{Member: "ainsn.handler", Func: "probe_table"}, "no function probe_table"},
	} {
		y, err := newToy(t, 2010, Default(), func(a *Arch) {
			a.Prepare = func(Insn) (Copy, error) { return Copy{Code: make([]byte, 8), Members: []Value{tt.value}}, nil }
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := y.k.Add(y, Spec{Symbol: "target"}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: error %v, want one with %q", tt.value, err, tt.want)
		}
		if slices.Contains(y.k.slots.used, true) {
			t.Errorf("%+v: the slot of a refused probe is not free", tt.value)
		}
	}
}

// What a first hit has found out is how the next ones are handled: emulation does not care for a post
// handler.
func TestToyLearns(t *testing.T) {
	y, err := newToy(t, 2010, Default(), func(a *Arch) { a.First, a.Then, a.Learned = Stepped, Emulated, "opcode" })
	y.do(err)
	p := y.add(Spec{Symbol: "target", Post: "handler"})
	if st := y.state(p); st.Mode != Stepped {
		t.Errorf("at first %+v", st)
	}
	y.k.m.Store(p.Addr, y.k.l.p.learned, 1)
	if st := y.state(p); st.Mode != Emulated {
		t.Errorf("later %+v", st)
	}
}
