package kprobes

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// Probes in text that vanishes are gone, keep their structures until they are unregistered, and
// nobody touches the text.
func TestModuleVanishes(t *testing.T) {
	eachProtocol(t, func(image string, o Options) {
		bootImage(t, image, o, func(l *live) { holdVanishing(t, l) })
	})
}

func holdVanishing(t *testing.T, l *live) {
	want := l.call("module_sum", 3, 4)
	text := l.read("module_mix", 8)
	var ps []*Probe
	for _, s := range []Spec{
		{Symbol: "module_mix", Handler: "handler_count"},
		{Symbol: "module_mix", Handler: "handler_count", Kind: Kretprobe},
		{Symbol: "module_sum", Handler: "handler_count", Post: "post_empty"},
		{Symbol: "module_sum", Handler: "handler_count", Disabled: true},
		{Symbol: "bench_target", Handler: "handler_count"},
	} {
		ps = append(ps, l.add(s))
	}
	pending := value(l.k.Add(l.Call, Spec{Symbol: "work_frame"}))(l)
	l.do(l.k.Unload(l.Call, "work_module"))
	if got, poison := l.read("module_mix", 8), hex(bytes.Repeat(l.k.arch.Breakpoint, 8/len(l.k.arch.Breakpoint))); got != poison {
		t.Errorf("text %s after unloading, want %s", got, poison)
	}
	for i, p := range ps[:4] {
		st := l.state(p)
		require.That(t, st.Mode == Gone && !st.Queued && st.Refusal != nil && st.Refusal.Rule == RuleGone, "probe %d: %+v %v", i, st, st.Refusal)
		err := l.k.Enable(l.Call, p)
		require.That(t, errors.Is(err, EINVAL), "enabling a probe that is gone: %v", err)
	}
	l.do(l.k.WaitOptimizer(l.Call))
	require.Equal(t, l.state(pending).Mode, Optimized, "a probe that waited for the optimizer")
	st := l.state(ps[4])
	require.That(t, st.Mode == Optimized, "a probe elsewhere: %+v", st)
	list, err := l.k.List()
	require.That(t, err == nil && strings.Count(list, " work_module [GONE]\n") == 4, "list %v\n%s", err, list)
	if _, err := l.k.Add(l.Call, Spec{Symbol: "module_mix"}); !errors.Is(err, l.k.era.missing) {
		t.Errorf("registering in vanished text: %v", err)
	}
	holdReturn(t, l, ps[0], want, text)
	for _, p := range append(ps, pending) {
		l.remove(p)
	}
	l.holdNothingLeft()
}

// holdReturn loads the module again: old probes stay gone, a new one is armed beside them.
func holdReturn(t *testing.T, l *live, old *Probe, want uint64, text string) {
	l.do(l.k.Load(l.Call, "work_module"))
	got := l.read("module_mix", 8)
	require.That(t, got == text, "text %s after loading, was %s", got, text)
	if got := l.call("module_sum", 3, 4); got != want {
		t.Errorf("module_sum returns %#x, was %#x", got, want)
	}
	again := l.add(Spec{Symbol: "module_mix", Handler: "handler_count"})
	hits := l.percpu("handler_hits") + 2
	if got := l.call("module_sum", 3, 4); got != want || l.percpu("handler_hits") != hits {
		t.Errorf("module_sum returns %#x, was %#x; %d hits, want %d", got, want, l.percpu("handler_hits"), hits)
	}
	st := l.state(again)
	require.That(t, st.Mode == Optimized || st.Refusal != nil && st.Refusal.Rule == RuleModuleText, "the new probe: %+v %v", st, st.Refusal)
	if st := l.state(old); st.Mode != Gone {
		t.Errorf("the old one: %+v", st)
	}
	l.remove(again)
	if got := l.read("module_mix", 8); got != text {
		t.Errorf("text %s after removal, was %s", got, text)
	}
}

// holdNothingLeft expects that no probe and nothing of one is there but those that the kernel has for itself.
func (l *live) holdNothingLeft() {
	l.t.Helper()
	k := l.k
	if len(k.sites) != l.own || len(k.freeing)+len(k.optimizing)+len(k.unoptimizing) != 0 ||
		k.stray() {
		l.t.Errorf("%d sites, %d to be freed, %d and %d queued, %d slots and %d detours are left",
			len(k.sites), len(k.freeing), len(k.optimizing), len(k.unoptimizing), k.slots.taken(), k.detours.taken())
	}
}

// stray reports whether a slot or a detour buffer is in use that no site has.
func (k *Kprobes) stray() bool {
	var slots, detours int64
	for _, s := range k.sites {
		if s.slot != 0 {
			slots++
		}
		if s.detour != 0 {
			detours++
		}
	}
	return k.slots.taken() != slots || k.detours.taken() != detours
}

// TestTextIsForgotten: text of modules that are gone is known until other text comes to one of its bytes.
func TestTextIsForgotten(t *testing.T) {
	const size = 0x100
	for by, want := range map[int64]bool{-2 * size: true, -size: true, -size + 16: false, 0: false, size - 16: false, size: true, 2 * size: true} {
		g := newGuest(t, newest("x86_64"), Default())
		at := require.Must(g.Alloc(8*size, 64))(t) + 4*size
		code := bytes.Repeat([]byte{0x90}, size)
		g.do(g.k.Adopt(g, "old", at, code))
		g.do(g.k.Unload(g, "old"))
		g.do(g.k.Adopt(g, "new", at+uint64(by), code))
		text := require.Must(g.ReadBytes(at+uint64(by), size))(t)
		require.That(t, bytes.Equal(text, code), "text %d bytes behind what is gone is not in memory", by)
		_, err := g.k.module("old", true)
		require.Equal(t, err == nil, want, "text %d bytes behind what is gone leaves it known", by)
		_, err = g.k.module("new", false)
		require.NoError(t, err)
	}
}

// TestRegisteredIn finds probes by where their structures and handlers lie, but not by handlers that are in the range of the probe itself.
func TestRegisteredIn(t *testing.T) {
	g := newGuest(t, newest("x86_64"), Default())
	p := g.add(Spec{Symbol: "bench_target", Handler: "handler_count"})
	handler, _ := g.im.Func("handler_count")
	target, _ := g.im.Func("bench_target")
	for _, x := range []struct {
		what     string
		from, to uint64
		want     int
	}{
		{"its structure", p.Addr, p.Addr + 1, 1},
		{"its handler", handler.Entry, handler.Entry + 1, 1},
		{"the probed function", target.Entry, target.Entry + 1, 0},
		{"both", min(handler.Entry, target.Entry), max(handler.Entry, target.Entry) + 1, 0},
		{"neither", handler.Entry + 1, handler.Entry + 2, 0},
	} {
		require.Equal(t, len(g.k.RegisteredIn(Span{x.from, x.to})), x.want, "probes in a range with %s", x.what)
	}
	require.That(t, stepName(steps) == "" && stepName(1<<40) == "" && stepName(stepSync) == "", "steps that there are not have names")
}
