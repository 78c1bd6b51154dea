package kprobes

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kprobesim/image"
)

func plain() Options { return Options{Costs: DefaultCosts()} }

func boosting() Options {
	o := plain()
	o.Boost = true
	return o
}

func TestAddArmsAndRemoveRestores(t *testing.T) { eachISA(t, holdAddArmsAndRemoveRestores) }

func holdAddArmsAndRemoveRestores(t *testing.T, isa string) {
	g := newGuest(t, isa, plain())
	was := g.text("bench_target", 0, 5)
	allocated := len(g.used)
	p := g.add(Spec{Symbol: "bench_target", Handler: "handler_empty"})
	if got := g.text("bench_target", 0, 5); got != "cc"+was[2:] {
		t.Errorf("armed text %s", got)
	}
	st := g.state(p)
	if st.Mode != Stepped || st.Symbol != "bench_target" || st.Refusal == nil || st.Refusal.Rule != RuleUnsupported {
		t.Errorf("state %+v", st)
	}
	g.do(g.k.Remove(g, p))
	if got := g.text("bench_target", 0, 5); got != was {
		t.Errorf("text afterwards %s, was %s", got, was)
	}
	if len(g.used) != allocated || slices.Contains(g.k.slots.used, true) {
		t.Errorf("%d allocations and slots %v stay", len(g.used)-allocated, slices.Index(g.k.slots.used, true))
	}
}

func TestRegisterErrors(t *testing.T) { eachISA(t, holdRegisterErrors) }

func holdRegisterErrors(t *testing.T, isa string) {
	tests := []struct {
		name   string
		symbol string
		off    uint64
		want   Errno
	}{
		{"unknown symbol", "no_such_function", 0, EINVAL},
		{"inside an instruction", "bench_target", 1, EILSEQ},
		{"hit path", "find_probe", 0, EINVAL},
		{"exception entry", "int3", 0, EINVAL},
		{"trampoline", "kretprobe_trampoline", 0, EINVAL},
		{"native slot", "sim_printk", 0, EINVAL},
		{"data", "probe_table", 0, EINVAL},
		{"behind everything", "bench_target", 1 << 30, EINVAL},
		{"more than an unsigned int", "bench_target", 1 << 40, EINVAL},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newGuest(t, isa, plain())
			if _, ok := g.im.Symbol(tt.symbol); !ok && tt.symbol != "no_such_function" {
				t.Skip("does not apply: the image has no symbol " + tt.symbol)
			}
			allocated := len(g.used)
			_, err := g.k.Add(g, Spec{Symbol: tt.symbol, Offset: tt.off, Handler: "handler_empty"})
			if !errors.Is(err, tt.want) {
				t.Errorf("%v, want %v", err, tt.want)
			}
			if len(g.used) != allocated || len(g.k.sites) != 0 || len(g.pokes) != 0 {
				t.Error("a refused probe leaves something behind")
			}
		})
	}
}

// The switch of tasks is entered by one task and left by another.
func TestSwitchOfTasksRefuses(t *testing.T) { eachISA(t, holdSwitchOfTasksRefuses) }

func holdSwitchOfTasksRefuses(t *testing.T, isa string) {
	g := newGuest(t, isa, plain())
	if _, err := g.k.Add(g, Spec{Kind: Kretprobe, Symbol: "switch_to_asm"}); !errors.Is(err, EINVAL) {
		t.Errorf("return probe: %v, want EINVAL", err)
	}
	_, err := g.k.Add(g, Spec{Symbol: "switch_to_asm"})
	if refused := errors.Is(err, EINVAL); refused != (g.size() == 8) {
		t.Errorf("kprobe: %v, want EINVAL on x86-64 alone", err)
	}
}

// The way of a fault may begin under a probe, so that it takes none.
func TestWayOfAFaultRefuses(t *testing.T) {
	for _, image := range images() {
		bootImage(t, image, plain(), func(l *live) {
			there := 0
			for _, f := range []string{"do_page_fault", "do_trap", "do_data_abort", "do_prefetch_abort", "do_undefined", "fixup_exception"} {
				if _, ok := l.m.Image().Symbol(f); !ok {
					continue // of another instruction set
				}
				there++
				if _, err := l.k.Add(l.Call, Spec{Symbol: f}); !errors.Is(err, EINVAL) {
					t.Errorf("%s: a probe on %s: %v, want EINVAL", image, f, err)
				}
			}
			if there < 3 {
				t.Errorf("%s: %d functions of the way are known", image, there)
			}
		})
	}
}

func TestRegisterByAddress(t *testing.T) { eachISA(t, holdRegisterByAddress) }

func holdRegisterByAddress(t *testing.T, isa string) {
	g := newGuest(t, isa, plain())
	l := &g.k.l.p
	target, _ := g.im.Symbol("bench_target")
	p, _ := g.Alloc(l.size, 64)
	store := func(f image.Field, v uint64) { g.do(g.Store(p+f.Offset, f.Size, v)) }
	if err := g.k.RegisterKprobe(g, p); !errors.Is(err, EINVAL) {
		t.Errorf("neither address nor symbol: %v", err)
	}
	store(l.offset, target.Addr) // in 32 bits an offset reaches everything
	if err := g.k.RegisterKprobe(g, p); !errors.Is(err, EINVAL) {
		t.Errorf("an offset alone: %v", err)
	}
	store(l.offset, 0)
	store(l.addr, target.Addr)
	store(l.flags, flagOptimized|flagGone)
	g.do(g.k.RegisterKprobe(g, p))
	if f, _ := g.Load(p+l.flags.Offset, 4); f != 0 {
		t.Errorf("flags %#x after registration", f)
	}
	if err := g.k.RegisterKprobe(g, p); !errors.Is(err, EINVAL) {
		t.Errorf("registered twice: %v", err)
	}
	name, _ := g.Alloc(16, 16)
	g.do(g.WriteBytes(name, []byte("bench_target\x00")))
	q, _ := g.Alloc(l.size, 64)
	g.do(g.Store(q+l.addr.Offset, g.size(), target.Addr))
	g.do(g.Store(q+l.name.Offset, g.size(), name))
	if err := g.k.RegisterKprobe(g, q); !errors.Is(err, EINVAL) {
		t.Errorf("address and symbol: %v", err)
	}
	g.do(g.k.UnregisterKprobes(g, p, q))
	if a, _ := g.Load(q+l.addr.Offset, g.size()); a != 0 {
		t.Errorf("address %#x of a probe that was not registered stays", a)
	}
	g.do(g.k.RegisterKprobe(g, p)) // by the address that it still has
}

func TestRegisterAllUndoesOnError(t *testing.T) { eachISA(t, holdRegisterAllUndoesOnError) }

func holdRegisterAllUndoesOnError(t *testing.T, isa string) {
	g := newGuest(t, isa, plain())
	l := &g.k.l.p
	var ps []uint64
	for _, s := range []string{"bench_target", "work_read", "find_probe"} {
		sym, _ := g.im.Symbol(s)
		p, _ := g.Alloc(l.size, 64)
		g.do(g.Store(p+l.addr.Offset, g.size(), sym.Addr))
		ps = append(ps, p)
	}
	err := g.k.RegisterAll(g, ps, g.k.RegisterKprobe, g.k.UnregisterKprobes)
	if !errors.Is(err, EINVAL) || len(g.k.sites) != 0 {
		t.Errorf("%v, %d sites stay", err, len(g.k.sites))
	}
	if err := g.k.RegisterAll(g, nil, g.k.RegisterKprobe, g.k.UnregisterKprobes); !errors.Is(err, EINVAL) {
		t.Errorf("no probes: %v", err)
	}
}

func TestEnableDisable(t *testing.T) { eachISA(t, holdEnableDisable) }

func holdEnableDisable(t *testing.T, isa string) {
	g := newGuest(t, isa, plain())
	p := g.add(Spec{Symbol: "bench_target", Disabled: true})
	if st := g.state(p); st.Mode != Disabled || len(g.pokes) != 0 {
		t.Errorf("registered disabled: %+v, %v", st, g.pokes)
	}
	g.do(g.k.Enable(g, p))
	g.do(g.k.Enable(g, p))
	if st := g.state(p); st.Mode != Stepped {
		t.Errorf("enabled: %+v", st)
	}
	g.do(g.k.Disable(g, p))
	g.do(g.k.Disable(g, p))
	if st := g.state(p); st.Mode != Disabled || len(g.pokes) != 2 {
		t.Errorf("disabled: %+v, %v", st, g.pokes)
	}
	g.do(g.k.UnregisterKprobes(g, p.Addr))
	if err := g.k.Enable(g, p); !errors.Is(err, EINVAL) {
		t.Errorf("enabling what is not registered: %v", err)
	}
	if err := g.k.Disable(g, p); !errors.Is(err, EINVAL) {
		t.Errorf("disabling what is not registered: %v", err)
	}
}

func TestBoostable(t *testing.T) { eachISA(t, holdBoostable) }

func holdBoostable(t *testing.T, isa string) {
	boostable := func(opt Options, symbol string) int32 {
		g := newGuest(t, isa, opt)
		p := g.add(Spec{Symbol: symbol})
		v, err := g.Load(p.Addr+g.k.l.p.learned.Offset, 4)
		g.do(err)
		return int32(v)
	}
	if got := boostable(boosting(), "bench_target"); got != 0 {
		t.Errorf("lea: %d, want 0: to be boosted by the first hit", got)
	}
	if got := boostable(boosting(), "work_call_first"); got != -1 {
		t.Errorf("call: %d, want -1", got)
	}
	if got := boostable(plain(), "bench_target"); got != -1 {
		t.Errorf("kernel without boosting: %d, want -1", got)
	}
}

func TestAggregateOrderAndHandlers(t *testing.T) { eachISA(t, holdAggregateOrderAndHandlers) }

func holdAggregateOrderAndHandlers(t *testing.T, isa string) {
	g := newGuest(t, isa, plain())
	l := &g.k.l.p
	a := g.add(Spec{Symbol: "bench_target", Handler: "handler_empty"})
	b := g.add(Spec{Symbol: "bench_target", Handler: "handler_count", Post: "post_empty"})
	c := g.add(Spec{Symbol: "bench_target", Handler: "handler_work"})
	s := g.k.site(g.state(a).Addr)
	if got := g.k.children(s.head); !slices.Equal(got, []uint64{c.Addr, b.Addr, a.Addr}) {
		t.Errorf("children %x, want the last registered first", got)
	}
	if got := g.k.hlist(g.k.bucket(g.k.sym.table, s.addr), g.k.hash()); !slices.Equal(got, []uint64{s.head}) {
		t.Errorf("hash chain %x, want the aggregate %x", got, s.head)
	}
	if g.k.m.Load(s.head, l.pre) != g.k.sym.aggrPre || g.k.m.Load(s.head, l.post) != g.k.sym.aggrPost {
		t.Error("the aggregate lacks its handlers")
	}
	if err := g.k.DisableKprobe(g, s.head); !errors.Is(err, EINVAL) {
		t.Errorf("the aggregate is nobody's probe: %v", err)
	}
	g.do(g.k.Remove(g, b))
	if g.k.m.Load(s.head, l.post) != 0 {
		t.Error("with the last post handler gone, the aggregate still has one")
	}
	g.do(g.k.Disable(g, a))
	if g.state(c).Mode != Stepped || g.state(a).Mode != Disabled {
		t.Errorf("one of two disabled: %+v %+v", g.state(a), g.state(c))
	}
	g.do(g.k.Disable(g, c))
	if got := g.text("bench_target", 0, 1); got == "cc" {
		t.Error("nothing is enabled, but the breakpoint stands")
	}
	g.do(g.k.Enable(g, a))
	g.do(g.k.Remove(g, a))
	if got := g.text("bench_target", 0, 1); got == "cc" {
		t.Error("the enabled probe is gone, but the breakpoint stands")
	}
	g.do(g.k.Remove(g, c))
	if len(g.k.sites) != 0 || slices.Contains(g.k.slots.used, true) {
		t.Error("the aggregate stays without children")
	}
}

func TestKretprobeInstances(t *testing.T) { eachISA(t, holdKretprobeInstances) }

func holdKretprobeInstances(t *testing.T, isa string) {
	g := newGuest(t, isa, plain())
	allocated := len(g.used)
	p := g.add(Spec{Kind: Kretprobe, Symbol: "work_read", Handler: "ret_empty", MaxActive: 7, DataSize: 24})
	free := g.k.hlist(p.Addr+g.k.l.r.free.Offset, g.k.instanceLinks())
	if len(free) != 7 {
		t.Errorf("%d instances, want 7", len(free))
	}
	for _, ri := range free {
		if g.used[ri] != g.k.l.r.instSize+24 {
			t.Errorf("instance of %d bytes, want %d", g.used[ri], g.k.l.r.instSize+24)
		}
	}
	if g.k.m.Load(p.Addr, g.k.l.p.pre) != g.k.sym.returnPre {
		t.Error("the kprobe's handler is not the return probe's")
	}
	out := free[0]
	g.k.hlistDel(out, g.k.instanceLinks())
	g.k.m.Store(out, g.k.l.r.instRP, p.Addr)
	g.k.hlistAdd(g.k.bucket(g.k.sym.instances, mainTask), out, g.k.instanceLinks())
	g.do(g.k.Remove(g, p))
	if g.k.m.Load(out, g.k.l.r.instRP) != 0 {
		t.Error("the instance that is out still points to its probe")
	}
	g.do(g.Free(out))
	if len(g.used) != allocated {
		t.Errorf("%d allocations stay", len(g.used)-allocated)
	}
}

func TestKretprobeDefaults(t *testing.T) { eachISA(t, holdKretprobeDefaults) }

func holdKretprobeDefaults(t *testing.T, isa string) {
	for _, tt := range []struct {
		preempt bool
		want    int
	}{{false, 1}, {true, 10}} {
		o := plain()
		o.Preempt = tt.preempt
		g := newGuest(t, isa, o)
		p := g.add(Spec{Kind: Kretprobe, Symbol: "work_read"})
		if got := len(g.k.hlist(p.Addr+g.k.l.r.free.Offset, g.k.instanceLinks())); got != tt.want {
			t.Errorf("preempt %v: %d instances, want %d", tt.preempt, got, tt.want)
		}
	}
}

func TestListFormat(t *testing.T) { eachISA(t, holdListFormat) }

func holdListFormat(t *testing.T, isa string) {
	g := newGuest(t, isa, boosting())
	off := g.insn("bench_target", 1)
	a := g.add(Spec{Symbol: "bench_target", Offset: off, Disabled: true})
	g.add(Spec{Kind: Kretprobe, Symbol: "bench_target"})
	list, err := g.k.List()
	g.do(err)
	st := g.state(a)
	lines := strings.Split(strings.TrimSuffix(list, "\n"), "\n")
	slices.Sort(lines)
	digits := 2 * g.size()
	want := []string{
		fmt.Sprintf("%0*x  r  bench_target+0x0    ", digits, st.Addr-off),
		fmt.Sprintf("%0*x  k  bench_target+%#x    [DISABLED]", digits, st.Addr, off),
	}
	if !slices.Equal(lines, want) {
		t.Errorf("got\n%q\nwant\n%q", lines, want)
	}
}

func TestNoMemory(t *testing.T) { eachISA(t, holdNoMemory) }

func holdNoMemory(t *testing.T, isa string) {
	g := newGuest(t, isa, plain())
	g.full = true
	if _, err := g.k.Add(g, Spec{Symbol: "bench_target"}); !errors.Is(err, ENOMEM) {
		t.Errorf("no heap: %v", err)
	}
	g.full = false
	for i := range g.k.slots.used {
		g.k.slots.used[i] = true
	}
	if _, err := g.k.Add(g, Spec{Symbol: "bench_target"}); !errors.Is(err, ENOMEM) {
		t.Errorf("no slot: %v", err)
	}
}

func TestArmAll(t *testing.T) { eachISA(t, holdArmAll) }

func holdArmAll(t *testing.T, isa string) {
	g := newGuest(t, isa, Default())
	p := g.add(Spec{Symbol: "bench_target"})
	q := g.add(Spec{Symbol: "work_call_first"})
	g.do(g.k.WaitOptimizer(g))
	g.do(g.k.ArmAll(g, false))
	if g.state(p).Mode != Disabled || g.state(q).Mode != Disabled || g.text("work_call_first", 0, 1) != "e8" {
		t.Errorf("all disarmed: %+v, %+v", g.state(p), g.state(q))
	}
	another := g.add(Spec{Symbol: "work_frame"})
	for _, p := range []*Probe{p, another} {
		if st := g.state(p); st.Queued || st.Refusal == nil || st.Refusal.Rule != RuleDisabled {
			t.Errorf("while all are disarmed: %+v %v", st, st.Refusal)
		}
	}
	g.do(g.k.ArmAll(g, true))
	g.do(g.k.WaitOptimizer(g))
	if g.state(p).Mode != Optimized || g.state(q).Mode != Stepped {
		t.Errorf("all armed: %+v, %+v", g.state(p), g.state(q))
	}
}
