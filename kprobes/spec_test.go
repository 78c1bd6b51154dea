package kprobes

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// A length that was never meant is no array of probes.
func TestLengthsOfArrays(t *testing.T) {
	g := newGuest(t, newest(isas()[0]), plain())
	array := value(g.Alloc(8, 64))(g)
	g.do(g.Store(array, 8, 0x1234))
	for n, want := range map[uint64][]uint64{
		0: nil, 1: {0x1234}, 1<<32 - 1: nil, 1 << 31: nil, 1<<16 + 1: nil, 1<<32 + 1: {0x1234}, // an int
	} {
		got := g.k.pointers(array, n)
		require.That(t, slices.Equal(got, want), "%d probes are %d", n, len(got))
	}
}

// Nothing that a hit may execute can be probed, wherever the linker script puts it.
func TestNoProbesOnThePathOfAHit(t *testing.T) { eachKernel(t, holdNoProbesOnThePathOfAHit) }

func holdNoProbesOnThePathOfAHit(t *testing.T, image string) {
	g := newGuest(t, image, Default())
	g.k.sym.text = Span{0, ^uint64(0)}
	s := &g.k.sym
	for _, span := range []Span{s.noProbes, s.slots, s.detours} {
		require.That(t, span.Start != 0 && g.k.barred(span.Start) != nil && g.k.barred(span.End-1) != nil, "%#x to %#x can be probed", span.Start, span.End)
	}
}

// Whatever instruction is probed, the structures and the slot have what the rules of its architecture make, a copy is
// visible to fetching before the breakpoint leads to it, and all probes of an address share one copy.
func TestProbesAreMadeByTheRules(t *testing.T) { eachKernel(t, holdProbesAreMadeByTheRules) }

func holdProbesAreMadeByTheRules(t *testing.T, image string) {
	g := newGuest(t, image, boosting())
	for _, symbol := range []string{"bench_target", "bench_loop", "work_call_first", "work_switch", "work_frame"} {
		fn, _ := g.im.Func(symbol)
		text, _ := g.k.text(fn.Entry)
		for _, off := range g.k.starts(text) {
			slot, _ := g.k.slots.take()
			g.k.slots.give(slot)
			want := value(g.k.copyOf(text.Code[off:], fn.Entry+off, slot))(g)
			g.holdRules(symbol, off, slot, want)
		}
	}
}

// holdRules registers probes at an instruction and compares what they have with a copy.
func (g *guest) holdRules(symbol string, off, slot uint64, want Copy) {
	g.t.Helper()
	allocated, was := len(g.used), g.text(symbol, off, len(g.k.arch.Breakpoint))
	g.flushed, g.pokes = nil, nil
	p := g.add(Spec{Symbol: symbol, Offset: off, Disabled: true})
	visible := len(g.flushed) == 1 && g.flushed[0] == Span{slot, slot + uint64(len(want.Code))}
	if needed := g.k.arch.Flush != "" && len(want.Code) > 0; visible != needed || len(g.pokes) != 0 {
		g.t.Errorf("%s+%#x: flushed %x, stored %q before it is enabled", symbol, off, g.flushed, g.pokes)
	}
	if code, err := g.at(slot, len(want.Code)); err != nil || !bytes.Equal(code, want.Code) || slices.Contains(g.k.slots.used, true) != (len(want.Code) > 0) {
		g.t.Errorf("%s+%#x: slot % x, want % x; %v", symbol, off, code, want.Code, err)
	}
	g.do(g.k.Enable(g, p))
	require.Equal(g.t, g.text(symbol, off, len(g.k.arch.Breakpoint)), hex(g.k.breakpoint(g.k.siteOf(p.Addr))), "%s+%#x: armed text", symbol, off)
	q := g.add(Spec{Symbol: symbol, Offset: off})
	for _, at := range []uint64{p.Addr, q.Addr, g.k.siteOf(q.Addr).head} {
		require.That(g.t, at%g.k.arch.Line == 0, "a structure at %#x", at)
		for _, v := range want.Members {
			number, f := v.Number, g.k.l.p.arch[slices.Index(g.k.arch.Members, v.Member)]
			if v.Func != "" {
				fn, _ := g.im.Func(v.Func)
				number = fn.Pointer
			}
			got := g.k.m.Load(at, f)
			require.That(g.t, got == number&(1<<(8*f.Size)-1), "%s+%#x: %s is %#x, want %#x", symbol, off, v.Member, got, number)
		}
	}
	g.do(g.k.Remove(g, p))
	g.do(g.k.Remove(g, q))
	if got := g.text(symbol, off, len(g.k.arch.Breakpoint)); got != was || len(g.used) != allocated || slices.Contains(g.k.slots.used, true) {
		g.t.Errorf("%s+%#x: text %s afterwards, was %s, or memory is left", symbol, off, got, was)
	}
}

// Places that the rules of every architecture refuse.
func TestPlacesAreRefused(t *testing.T) { eachKernel(t, holdPlacesAreRefused) }

func holdPlacesAreRefused(t *testing.T, image string) {
	long := func(_ *guest, a *Arch) { a.Breakpoint = bytes.Repeat(a.Breakpoint, 1<<16) }
	named := func(_ *guest, a *Arch) {
		e := &a.Eras[slices.IndexFunc(a.Eras, func(e Era) bool {
			return strings.HasSuffix(strings.TrimSuffix(image, "-untraced"), strconv.Itoa(e.Year))
		})]
		e.Protected, e.ReturnProtected = []string{"work_frame"}, []string{"work_read"}
	}
	for _, tt := range []struct {
		name   string
		change func(*guest, *Arch)
		spec   Spec
		want   error
	}{
		{"no room for a breakpoint", long, Spec{Symbol: "bench_target"}, EILSEQ},
		{"protected", named, Spec{Symbol: "work_frame"}, EINVAL},
		{"protected from return probes", named, Spec{Kind: Kretprobe, Symbol: "work_read"}, EINVAL},
		{"taken by a kprobe alone", named, Spec{Symbol: "work_read"}, nil},
		{"slot", nil, Spec{Symbol: "__slots_start"}, EINVAL},
		{"data", nil, Spec{Symbol: "probe_table"}, EINVAL},
	} {
		g, err := changedGuest(t, image, plain(), tt.change)
		g.do(err)
		if _, err := g.k.Add(g, tt.spec); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}

// Rules, image and options that do not fit together are refused with their names.
func TestMistakesOfRules(t *testing.T) {
	patching := Default()
	patching.Patching = PatchBreakpoint
	era := func(year uint64) func(*guest, *Arch) {
		return func(g *guest, _ *Arch) {
			sym, _ := g.im.Symbol("kernel_era")
			g.do(g.Store(sym.Addr, 4, year))
		}
	}
	rules := func(change func(*Arch)) func(*guest, *Arch) { return func(_ *guest, a *Arch) { change(a) } }
	for _, tt := range []struct {
		name, image, want string
		opt               Options
		change            func(*guest, *Arch)
	}{
		{"year", "ppc64-2010", "era 1999, which Kprobes on ppc64 does not know: build it for one of 2005, 2010", Default(), era(1999)},
		{"year of the rules", "ppc64-2010", "era 2010, which Kprobes on ppc64", Default(), rules(func(a *Arch) { a.Eras = a.Eras[:1] })},
		{"year of the interface", "ppc64-2010", "era 1999", Default(), func(g *guest, a *Arch) { era(1999)(g, a); a.Eras[0].Year = 1999 }},
		{"protocol", "arm-2010", `patching = "breakpoint"`, patching, nil},
		{"member", "ppc64-2010", "ainsn.nobody", Default(), rules(func(a *Arch) { a.Members = append(slices.Clone(a.Members), "ainsn.nobody") })},
		{"symbol", "x86_64-2010", "no symbol detour_template_nobody", Default(), rules(func(a *Arch) {
			jumps := *a.Optimizer
			jumps.Marks, a.Optimizer = append(slices.Clone(jumps.Marks), "nobody"), &jumps
		})},
	} {
		_, err := changedGuest(t, tt.image, tt.opt, tt.change)
		require.That(t, err != nil && strings.Contains(err.Error(), tt.want), "%s: error %v, want one with %q", tt.name, err, tt.want)
	}
	for _, tt := range []struct {
		value Value
		want  string
	}{
		{Value{Member: "flags"}, "prepare flags, which is none of their members"},
		{Value{Member: "opcode", Func: "nobody"}, "no function nobody"},
		{Value{Member: "opcode", Func: "probe_table"}, "no function probe_table"},
	} {
		g, err := changedGuest(t, "ppc64-2010", plain(), rules(func(a *Arch) {
			a.Prepare = func(Insn) (Copy, error) { return Copy{Code: make([]byte, 4), Members: []Value{tt.value}}, nil }
		}))
		g.do(err)
		if _, err := g.k.Add(g, Spec{Symbol: "bench_target"}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: error %v, want one with %q", tt.value, err, tt.want)
		}
		require.That(t, !slices.Contains(g.k.slots.used, true), "%+v: the slot of a refused probe is not free", tt.value)
	}
}
