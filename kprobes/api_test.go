package kprobes

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kprobesim/image"
)

func plain() Options { return Options{Costs: defaultCosts()} }

func boosting() Options {
	o := plain()
	o.Boost = true
	return o
}

func TestAddArmsAndRemoveRestores(t *testing.T) { eachKernel(t, holdAddArmsAndRemoveRestores) }

func holdAddArmsAndRemoveRestores(t *testing.T, image string) {
	g := newGuest(t, image, plain())
	was := g.text("bench_target", 0, 8)
	allocated := len(g.used)
	p := g.add(Spec{Symbol: "bench_target", Handler: "handler_empty"})
	breakpoint := hex(g.k.arch.Breakpoint)
	if got := g.text("bench_target", 0, 8); got != breakpoint+was[len(breakpoint):] {
		t.Errorf("armed text %s", got)
	}
	st := g.state(p)
	if st.Mode != g.k.arch.First || st.Symbol != "bench_target" || st.Refusal == nil || st.Refusal.Rule != RuleUnsupported {
		t.Errorf("state %+v", st)
	}
	g.do(g.k.Remove(g, p))
	if got := g.text("bench_target", 0, 8); got != was {
		t.Errorf("text afterwards %s, was %s", got, was)
	}
	if len(g.used) != allocated || slices.Contains(g.k.slots.used, true) {
		t.Errorf("%d allocations and slots %v stay", len(g.used)-allocated, slices.Index(g.k.slots.used, true))
	}
}

func TestRegisterErrors(t *testing.T) { eachKernel(t, holdRegisterErrors) }

func holdRegisterErrors(t *testing.T, image string) {
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
			g := newGuest(t, image, plain())
			switch {
			case tt.want == EILSEQ && g.k.arch.Align > 1:
				tt.want = EINVAL
			case tt.symbol == "kretprobe_trampoline" && returnsTrap(image):
				t.Skip("does not apply: the kernel itself has a probe there")
			}
			if _, ok := g.im.Symbol(tt.symbol); !ok && tt.symbol != "no_such_function" {
				t.Skip("does not apply: the image has no symbol " + tt.symbol)
			}
			allocated := len(g.used)
			if tt.symbol == "no_such_function" || tt.off == 1<<30 && g.k.era.located {
				tt.want = g.k.era.missing
			}
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
func TestSwitchOfTasksRefuses(t *testing.T) { eachRegion(t, holdSwitchOfTasksRefuses) }

func holdSwitchOfTasksRefuses(t *testing.T, image string) {
	g := newGuest(t, image, plain())
	if _, err := g.k.Add(g, Spec{Kind: Kretprobe, Symbol: "__switch_to"}); !errors.Is(err, EINVAL) {
		t.Errorf("return probe: %v, want EINVAL", err)
	}
	_, err := g.k.Add(g, Spec{Symbol: "__switch_to"})
	if refused := errors.Is(err, EINVAL); refused != (g.size() == 8 && !g.k.era.located) {
		t.Errorf("kprobe: %v, want EINVAL on x86-64 before 2020 alone", err)
	}
}

// The way of a fault may begin under a probe, so that it takes none.
func TestWayOfAFaultRefuses(t *testing.T) {
	bootImages(t, images(), plain(), func(l *live, image string) {
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

// A hit asks those who listen for exceptions, so that no function of their chain takes a probe. The kernels call it
// notifier_call_chain; how many functions it has differs.
func TestChainOfListenersRefuses(t *testing.T) {
	bootImages(t, images(), plain(), func(l *live, image string) {
		there := 0
		for _, f := range []string{"ask_listeners", "ask_as_reader", "offer_exception", "notify_die"} {
			if _, ok := l.m.Image().Func(f); !ok {
				continue // part of another, or of other years
			}
			there++
			for _, kind := range []Kind{Kprobe, Kretprobe} {
				if _, err := l.k.Add(l.Call, Spec{Kind: kind, Symbol: f}); !errors.Is(err, EINVAL) {
					t.Errorf("%s: a %s of %s: %v, want EINVAL", image, kind, f, err)
				}
			}
		}
		if there == 0 {
			t.Errorf("%s: no function of the chain is known", image)
		}
	})
}

func TestRegisterByAddress(t *testing.T) { eachKernel(t, holdRegisterByAddress) }

func holdRegisterByAddress(t *testing.T, kernel string) {
	g := newGuest(t, kernel, plain())
	l := &g.k.l.p
	target, _ := g.im.Func("bench_target")
	p, _ := g.Alloc(l.size, 64)
	store := func(f image.Field, v uint64) { g.do(g.Store(p+f.Offset, f.Size, v)) }
	if err := g.k.Register(g, Kprobe, p); !errors.Is(err, EINVAL) {
		t.Errorf("neither address nor symbol: %v", err)
	}
	store(l.offset, target.Entry) // in 32 bits an offset reaches everything
	if err := g.k.Register(g, Kprobe, p); !errors.Is(err, EINVAL) {
		t.Errorf("an offset alone: %v", err)
	}
	store(l.offset, 0)
	store(l.addr, target.Entry)
	store(l.flags, flagOptimized|flagGone)
	g.do(g.k.Register(g, Kprobe, p))
	want := uint64(0)
	if g.k.era.located {
		want = flagEntry
	}
	if f, _ := g.Load(p+l.flags.Offset, 4); f != want {
		t.Errorf("flags %#x after registration, want %#x", f, want)
	}
	if err := g.k.Register(g, Kprobe, p); !errors.Is(err, EINVAL) {
		t.Errorf("registered twice: %v", err)
	}
	name, _ := g.Alloc(16, 16)
	g.do(g.WriteBytes(name, []byte("bench_target\x00")))
	q, _ := g.Alloc(l.size, 64)
	g.do(g.Store(q+l.addr.Offset, g.size(), target.Entry))
	g.do(g.Store(q+l.name.Offset, g.size(), name))
	if err := g.k.Register(g, Kprobe, q); !errors.Is(err, EINVAL) {
		t.Errorf("address and symbol: %v", err)
	}
	g.do(g.k.Unregister(g, Kprobe, p, q))
	if a, _ := g.Load(q+l.addr.Offset, g.size()); a != 0 {
		t.Errorf("address %#x of a probe that was not registered stays", a)
	}
	g.do(g.k.Register(g, Kprobe, p)) // by the address that it still has
}

func TestRegisterAllUndoesOnError(t *testing.T) { eachKernel(t, holdRegisterAllUndoesOnError) }

func holdRegisterAllUndoesOnError(t *testing.T, image string) {
	g := newGuest(t, image, plain())
	l := &g.k.l.p
	var ps []uint64
	for _, s := range []string{"bench_target", "work_read", "find_probe"} {
		fn, _ := g.im.Func(s)
		p, _ := g.Alloc(l.size, 64)
		g.do(g.Store(p+l.addr.Offset, g.size(), fn.Entry))
		ps = append(ps, p)
	}
	err := g.k.RegisterAll(g, Kprobe, ps...)
	if !errors.Is(err, EINVAL) || len(g.k.sites) != 0 {
		t.Errorf("%v, %d sites stay", err, len(g.k.sites))
	}
	if err := g.k.RegisterAll(g, Kprobe); !errors.Is(err, EINVAL) {
		t.Errorf("no probes: %v", err)
	}
}

func TestEnableDisable(t *testing.T) { eachKernel(t, holdEnableDisable) }

func holdEnableDisable(t *testing.T, image string) {
	g := newGuest(t, image, plain())
	p := g.add(Spec{Symbol: "bench_target", Disabled: true})
	if st := g.state(p); st.Mode != Disabled || len(g.pokes) != 0 {
		t.Errorf("registered disabled: %+v, %v", st, g.pokes)
	}
	g.do(g.k.Enable(g, p))
	g.do(g.k.Enable(g, p))
	if st := g.state(p); st.Mode != g.k.arch.First {
		t.Errorf("enabled: %+v", st)
	}
	g.do(g.k.Disable(g, p))
	g.do(g.k.Disable(g, p))
	if st := g.state(p); st.Mode != Disabled || len(g.pokes) != 2 {
		t.Errorf("disabled: %+v, %v", st, g.pokes)
	}
	g.do(g.k.Unregister(g, Kprobe, p.Addr))
	if err := g.k.Enable(g, p); !errors.Is(err, EINVAL) {
		t.Errorf("enabling what is not registered: %v", err)
	}
	if err := g.k.Disable(g, p); !errors.Is(err, EINVAL) {
		t.Errorf("disabling what is not registered: %v", err)
	}
}

func TestBoostable(t *testing.T) { eachRegion(t, holdBoostable) }

func holdBoostable(t *testing.T, image string) {
	boostable := func(opt Options, symbol string) int32 {
		g := newGuest(t, image, opt)
		p := g.add(Spec{Symbol: symbol})
		member := g.k.l.p.arch[slices.Index(g.k.arch.Members, "ainsn.boostable")]
		return int32(g.k.m.Load(p.Addr, member))
	}
	learns := newGuest(t, image, plain()).k.arch.Learned != ""
	boosted, stepped := int32(0), int32(-1) // to be boosted by the first hit, or never
	if !learns {
		boosted, stepped = 1, 0
	}
	if got := boostable(boosting(), "bench_target"); got != boosted {
		t.Errorf("lea: %d, want %d", got, boosted)
	}
	if got := boostable(boosting(), "work_call_first"); got != -1 {
		t.Errorf("call: %d, want -1", got)
	}
	if got := boostable(plain(), "bench_target"); got != stepped {
		t.Errorf("kernel without boosting: %d, want %d", got, stepped)
	}
}

func TestAggregateOrderAndHandlers(t *testing.T) { eachKernel(t, holdAggregateOrderAndHandlers) }

func holdAggregateOrderAndHandlers(t *testing.T, image string) {
	g := newGuest(t, image, plain())
	l := &g.k.l.p
	was := g.text("bench_target", 0, 4)
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
	if err := g.k.Disable(g, &Probe{Addr: s.head}); !errors.Is(err, EINVAL) {
		t.Errorf("the aggregate is nobody's probe: %v", err)
	}
	g.do(g.k.Remove(g, b))
	if g.k.m.Load(s.head, l.post) != 0 {
		t.Error("with the last post handler gone, the aggregate still has one")
	}
	g.do(g.k.Disable(g, a))
	if g.state(c).Mode != g.k.arch.First || g.state(a).Mode != Disabled {
		t.Errorf("one of two disabled: %+v %+v", g.state(a), g.state(c))
	}
	g.do(g.k.Disable(g, c))
	if g.text("bench_target", 0, 4) != was {
		t.Error("nothing is enabled, but the breakpoint stands")
	}
	g.do(g.k.Enable(g, a))
	g.do(g.k.Remove(g, a))
	if g.text("bench_target", 0, 4) != was {
		t.Error("the enabled probe is gone, but the breakpoint stands")
	}
	g.do(g.k.Remove(g, c))
	if len(g.k.sites) != 0 || slices.Contains(g.k.slots.used, true) {
		t.Error("the aggregate stays without children")
	}
}

func TestKretprobeInstances(t *testing.T) { eachKernel(t, holdKretprobeInstances) }

func holdKretprobeInstances(t *testing.T, image string) {
	g := newGuest(t, image, plain())
	allocated := len(g.used)
	p := g.add(Spec{Kind: Kretprobe, Symbol: "work_read", Handler: "ret_empty", MaxActive: 7, DataSize: 24})
	free := g.k.hlist(g.k.freeHead(p.Addr), g.k.instanceLinks())
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
	out, owner, link := free[0], free[0], g.k.l.r.instRP
	g.k.hlistDel(out, g.k.instanceLinks())
	if g.k.era.Hooks {
		owner, link = g.k.m.Load(p.Addr, g.k.l.r.hook), g.k.l.r.hookRP
	} else {
		g.k.m.Store(out, g.k.l.r.instRP, p.Addr)
		g.k.hlistAdd(g.k.bucket(g.k.sym.instances, mainTask), out, g.k.instanceLinks())
	}
	g.do(g.k.Remove(g, p))
	if g.k.m.Load(owner, link) != 0 {
		t.Error("the instance that is out still leads to its probe")
	}
	g.do(g.Free(out))
	if g.k.era.Hooks {
		g.do(g.Free(owner)) // as happens with the last instance
	}
	if len(g.used) != allocated {
		t.Errorf("%d allocations stay", len(g.used)-allocated)
	}
}

func TestKretprobeDefaults(t *testing.T) { eachKernel(t, holdKretprobeDefaults) }

func holdKretprobeDefaults(t *testing.T, image string) {
	for _, tt := range []struct {
		preempt bool
		want    int
	}{{false, map[bool]int{false: 1, true: 10}[has(image).many]}, {true, 10}} {
		o := plain()
		o.Preempt = tt.preempt
		g := newGuest(t, image, o)
		p := g.add(Spec{Kind: Kretprobe, Symbol: "work_read"})
		if got := len(g.k.hlist(g.k.freeHead(p.Addr), g.k.instanceLinks())); got != tt.want {
			t.Errorf("preempt %v: %d instances, want %d", tt.preempt, got, tt.want)
		}
	}
}

func TestListFormat(t *testing.T) { eachKernel(t, holdListFormat) }

func holdListFormat(t *testing.T, image string) {
	g := newGuest(t, image, boosting())
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

func TestNoMemory(t *testing.T) { eachKernel(t, holdNoMemory) }

func holdNoMemory(t *testing.T, image string) {
	g := newGuest(t, image, plain())
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

func TestArmAll(t *testing.T) { eachKernel(t, holdArmAll) }

func holdArmAll(t *testing.T, image string) {
	g := newGuest(t, image, Default())
	const kept = "work_faulting" // by its exception table no jump stands there
	was := g.text(kept, 0, 4)
	p := g.add(Spec{Symbol: "bench_target"})
	q := g.add(Spec{Symbol: kept})
	g.do(g.k.WaitOptimizer(g))
	g.do(g.k.armAll(g, false))
	if g.state(p).Mode != Disabled || g.state(q).Mode != Disabled || g.text(kept, 0, 4) != was {
		t.Errorf("all disarmed: %+v, %+v", g.state(p), g.state(q))
	}
	another := g.add(Spec{Symbol: "work_frame"})
	for _, p := range []*Probe{p, another} {
		if st := g.state(p); st.Queued || st.Refusal == nil || st.Refusal.Rule != RuleDisabled {
			t.Errorf("while all are disarmed: %+v %v", st, st.Refusal)
		}
	}
	g.do(g.k.armAll(g, true))
	g.do(g.k.WaitOptimizer(g))
	if g.state(p).Mode != Optimized || g.state(q).Mode == Disabled {
		t.Errorf("all armed: %+v, %+v", g.state(p), g.state(q))
	}
}
