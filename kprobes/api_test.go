package kprobes

import (
	"errors"
	"testing"

	"kprobesim/image"
	"kprobesim/internal/require"
)

func plain() Options { return Options{Costs: defaultCosts()} }

func boosting() Options {
	o := plain()
	o.Boost = true
	return o
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
			_, err := l.k.Add(l.Call, Spec{Symbol: f})
			require.That(t, errors.Is(err, EINVAL), "%s: a probe on %s: %v, want EINVAL", image, f, err)
		}
		require.That(t, there >= 3, "%s: %d functions of the way are known", image, there)
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
				_, err := l.k.Add(l.Call, Spec{Kind: kind, Symbol: f})
				require.That(t, errors.Is(err, EINVAL), "%s: a %s of %s: %v, want EINVAL", image, kind, f, err)
			}
		}
		require.That(t, there != 0, "%s: no function of the chain is known", image)
	})
}

func TestRegisterByAddress(t *testing.T) { eachKernel(t, holdRegisterByAddress) }

func holdRegisterByAddress(t *testing.T, kernel string) {
	g := newGuest(t, kernel, plain())
	l := &g.k.l.p
	target, _ := g.im.Func("bench_target")
	p, _ := g.Alloc(l.size, 64)
	store := func(f image.Field, v uint64) { g.do(g.Store(p+f.Offset, f.Size, v)) }
	err := g.k.Register(g, Kprobe, p)
	require.That(t, errors.Is(err, EINVAL), "neither address nor symbol: %v", err)
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
	f, _ := g.Load(p+l.flags.Offset, 4)
	require.That(t, f == want, "flags %#x after registration, want %#x", f, want)
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
	a, _ := g.Load(q+l.addr.Offset, g.size())
	require.That(t, a == 0, "address %#x of a probe that was not registered stays", a)
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
	require.That(t, errors.Is(err, EINVAL) && len(g.k.sites) == 0, "%v, %d sites stay", err, len(g.k.sites))
	if err := g.k.RegisterAll(g, Kprobe); !errors.Is(err, EINVAL) {
		t.Errorf("no probes: %v", err)
	}
}

func TestKretprobeInstances(t *testing.T) { eachKernel(t, holdKretprobeInstances) }

func holdKretprobeInstances(t *testing.T, image string) {
	g := newGuest(t, image, plain())
	allocated := len(g.used)
	p := g.add(Spec{Kind: Kretprobe, Symbol: "work_read", Handler: "ret_empty", MaxActive: 7, DataSize: 24})
	free := g.k.hlist(g.k.freeHead(p.Addr), g.k.instanceLinks())
	require.That(t, len(free) == 7, "%d instances, want 7", len(free))
	for _, ri := range free {
		require.That(t, g.used[ri] == g.k.l.r.instSize+24, "instance of %d bytes, want %d", g.used[ri], g.k.l.r.instSize+24)
	}
	require.That(t, g.k.m.Load(p.Addr, g.k.l.p.pre) == g.k.sym.returnPre, "the kprobe's handler is not the return probe's")
	out, owner, link := free[0], free[0], g.k.l.r.instRP
	g.k.hlistDel(out, g.k.instanceLinks())
	if g.k.era.Hooks {
		owner, link = g.k.m.Load(p.Addr, g.k.l.r.hook), g.k.l.r.hookRP
	} else {
		g.k.m.Store(out, g.k.l.r.instRP, p.Addr)
		g.k.hlistAdd(g.k.bucket(g.k.sym.instances, mainTask), out, g.k.instanceLinks())
	}
	g.do(g.k.Remove(g, p))
	require.That(t, g.k.m.Load(owner, link) == 0, "the instance that is out still leads to its probe")
	g.do(g.Free(out))
	if g.k.era.Hooks {
		g.do(g.Free(owner)) // as happens with the last instance
	}
	require.That(t, len(g.used) == allocated, "%d allocations stay", len(g.used)-allocated)
}
