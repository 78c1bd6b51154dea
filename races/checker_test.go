package races

import (
	"bytes"
	"slices"
	"testing"

	"kprobesim/cpus"
	"kprobesim/kprobes"
	"kprobesim/sim"
)

// Places of a toy guest: the function toy with two probes at its start, their handlers, and what
// callers call in the end. A third probe stands in the handler of the first one.
const (
	toyHandler  = toyAt + 0x100
	toyHandler2 = toyAt + 0x110
	toyReturned = toyAt + 0x120
	toyStores   = toyAt + 0x130
	toyHandler3 = toyAt + 0x140
	toyResult   = 42
)

// toyGuest is a machine whose memory is an array, and a reporter that notes what was found.
type toyGuest struct {
	*checker
	bytes  []byte
	result uint64
	syncs  []uint64
	kinds  []Kind
}

func (g *toyGuest) Text(addr uint64, n int) []byte { return g.bytes[addr-toyAt:][:n] }

func (g *toyGuest) TextIs(addr uint64, want []byte) bool {
	return bytes.HasPrefix(g.bytes[addr-toyAt:], want)
}

func (g *toyGuest) Arg(int, int) uint64 { return g.result }

func (g *toyGuest) Syncs() []uint64 { return slices.Clone(g.syncs) }

func (g *toyGuest) found(k Kind, _ int, _ uint64, _ string) { g.kinds = append(g.kinds, k) }

func (g *toyGuest) passed(int, bool) {}

func newToyGuest() *toyGuest {
	g := &toyGuest{bytes: make([]byte, 0x200), result: toyResult, syncs: make([]uint64, 2)}
	copy(g.bytes, toyCode)
	handler := []byte{0x10, 0x11}
	copy(g.bytes[toyHandler-toyAt:], handler)
	c := &checker{m: g, arch: toyArch(), report: g, code: newCodeMap(span{toyAt, toyAt + 0x200}), calls: newCalls(2)}
	g.checker = c
	c.calls.current = []uint64{1, 2}
	c.calls.results[toyAt] = toyResult
	c.calls.probes = []*probed{
		{name: "p", addr: toyAt, fn: toyAt, handler: toyHandler},
		{name: "q", addr: toyAt, fn: toyAt, handler: toyHandler2},
		{name: "n", addr: toyHandler, fn: toyHandler, handler: toyHandler3, nested: true},
	}
	r := &forms{arch: c.arch, probed: c.calls.probedAt, leads: c.leads}
	c.texts = []*text{newText("toy", toyAt, toyCode, r), newText("handler", toyHandler, handler, r)}
	c.texts[0].called = true
	c.code.mark(textCode, span{toyAt, toyAt + uint64(len(toyCode))})
	for _, h := range []uint64{toyHandler, toyHandler2, toyHandler3} {
		c.code.mark(handlerCode, span{h, h + 1})
	}
	c.code.mark(returnCode, span{toyReturned, toyReturned + 1})
	c.code.mark(storeCode, span{toyStores, toyStores + 1})
	c.code.mark(slotCode, span{0x9000, 0xa000})
	c.code.mark(detourCode, span{0xa000, 0xb000})
	return g
}

// run lets a CPU execute the instructions at some places.
func (g *toyGuest) run(cpu int, pcs ...uint64) {
	for _, pc := range pcs {
		s := &cpus.Step{CPU: cpu, PC: pc}
		if t := g.textAt(pc); t != nil {
			code := g.bytes[pc-toyAt:]
			s.Code = code[:max(g.arch.Classify(code, pc).Len, 1)]
		}
		g.Step(s)
	}
}

func TestHandlerCallsAreCounted(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(g *toyGuest)
		want []Kind
	}{
		{"one call each", func(g *toyGuest) {
			g.run(0, toyAt, toyHandler, toyHandler2, toyAt+1, toyReturned)
		}, nil},
		{"lost", func(g *toyGuest) { g.run(0, toyAt, toyHandler, toyReturned) }, []Kind{Lost}},
		{"doubled", func(g *toyGuest) {
			g.run(0, toyAt, toyHandler, toyHandler2, toyHandler, toyReturned)
		}, []Kind{Doubled}},
		{"disabled and called", func(g *toyGuest) {
			g.calls.set(1, off)
			g.run(0, toyAt, toyHandler, toyHandler2, toyReturned)
		}, []Kind{Doubled}},
		{"disabled in the middle", func(g *toyGuest) {
			g.run(0, toyAt, toyHandler)
			g.calls.set(1, maybe)
			g.calls.set(1, off)
			g.run(0, toyReturned)
		}, nil},
		{"disabled and enabled again in the middle", func(g *toyGuest) {
			g.run(0, toyAt, toyHandler)
			g.calls.set(1, off)
			g.calls.set(1, on)
			g.run(0, toyReturned)
		}, nil},
		{"twice while it is disabled", func(g *toyGuest) {
			g.run(0, toyAt, toyHandler, toyHandler2)
			g.calls.set(1, maybe)
			g.run(0, toyHandler2, toyReturned)
		}, []Kind{Doubled}},
		{"called by a hit from before it was disabled", func(g *toyGuest) {
			g.run(0, toyAt, toyHandler)
			g.calls.set(1, off)
			g.run(0, toyHandler2, toyReturned)
		}, nil},
		{"called by a hit from before it was unregistered", func(g *toyGuest) {
			g.run(0, toyAt, toyHandler)
			g.calls.set(1, absent)
			g.run(0, toyHandler2, toyReturned)
		}, []Kind{Stale}},
		{"tasks that take turns on a CPU", func(g *toyGuest) {
			g.run(0, toyAt, toyHandler)
			g.calls.current[0] = 3
			g.run(0, toyAt, toyHandler, toyHandler2, toyReturned)
			g.calls.current[0] = 1
			g.run(0, toyHandler2, toyReturned)
		}, nil},
		{"a task that moves", func(g *toyGuest) {
			g.run(0, toyAt, toyHandler)
			g.calls.current[0], g.calls.current[1] = 2, 1
			g.run(1, toyHandler2, toyReturned)
		}, nil},
		{"another result", func(g *toyGuest) {
			g.result++
			g.run(0, toyAt, toyHandler, toyHandler2, toyReturned)
		}, []Kind{Result}},
	} {
		g := newToyGuest()
		for i := range g.calls.probes {
			g.calls.set(i, on)
		}
		tt.do(g)
		if !slices.Equal(g.kinds, tt.want) {
			t.Errorf("%s: found %q, want %q", tt.name, g.kinds, tt.want)
		}
	}
}

// TestCallsBeforeACPUIsTold judges calls on a CPU that need not know of a change yet: the caches are not coherent.
func TestCallsBeforeACPUIsTold(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(g *toyGuest)
		want []Kind
	}{
		{"not told yet, and lost", func(g *toyGuest) {
			g.calls.told(1, 1, g.Syncs())
			g.run(0, toyAt, toyHandler, toyReturned)
		}, nil},
		{"not told yet of a change by itself, and lost", func(g *toyGuest) {
			g.calls.told(1, 0, g.Syncs())
			g.run(0, toyAt, toyHandler, toyReturned)
		}, []Kind{Lost}},
		{"synchronized since, and lost", func(g *toyGuest) {
			g.calls.told(1, 1, g.Syncs())
			g.syncs[0]++
			g.run(0, toyAt, toyHandler, toyReturned)
		}, []Kind{Lost}},
		{"not told yet that it was disabled, and called", func(g *toyGuest) {
			g.calls.set(1, off)
			g.calls.told(1, 1, g.Syncs())
			g.run(0, toyAt, toyHandler, toyHandler2, toyReturned)
		}, nil},
		{"not told yet, and called twice", func(g *toyGuest) {
			g.calls.told(1, 1, g.Syncs())
			g.run(0, toyAt, toyHandler, toyHandler2, toyHandler2, toyReturned)
		}, []Kind{Doubled}},
	} {
		g := newToyGuest()
		g.lazy = true
		for i := range g.calls.probes {
			g.calls.set(i, on)
		}
		tt.do(g)
		if !slices.Equal(g.kinds, tt.want) {
			t.Errorf("%s: found %q, want %q", tt.name, g.kinds, tt.want)
		}
	}
}

// TestProbeInAHandler has a breakpoint in the first byte of a handler: the handler is called once,
// whether the instruction goes on in a slot or, as the breakpoint is gone by then, is executed again. The
// handler of the probe there must not be called.
func TestProbeInAHandler(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(g *toyGuest)
		want []Kind
	}{
		{"stepped in a slot", func(g *toyGuest) {
			g.run(0, toyHandler, 0x9010, toyHandler+1, toyHandler2, toyReturned)
		}, nil},
		{"vanished", func(g *toyGuest) {
			g.run(0, toyHandler)
			g.bytes[toyHandler-toyAt] = 0x10
			g.run(1, toyStores)
			g.run(0, toyHandler, toyHandler+1, toyHandler2, toyReturned)
		}, nil},
		{"called twice", func(g *toyGuest) {
			g.run(0, toyHandler, 0x9010, toyHandler+1, toyHandler, 0x9010, toyHandler2, toyReturned)
		}, []Kind{Doubled}},
		{"handled in a handler", func(g *toyGuest) {
			g.run(0, toyHandler, toyHandler3, 0x9010, toyHandler2, toyReturned)
		}, []Kind{Doubled}},
		{"half a breakpoint", func(g *toyGuest) {
			g.bytes[toyHandler-toyAt] = 0x20
			g.run(1, toyStores)
			g.run(0, toyHandler)
		}, []Kind{Torn}},
	} {
		g := newToyGuest()
		for i := range g.calls.probes {
			g.calls.set(i, on)
		}
		g.event(sim.Event{Kind: kprobes.EventSlot, Name: "taken", Arg: 0x9010})
		g.bytes[toyHandler-toyAt] = toyBreak
		g.run(0, toyStores, toyAt)
		tt.do(g)
		if !slices.Equal(g.kinds, tt.want) {
			t.Errorf("%s: found %q, want %q", tt.name, g.kinds, tt.want)
		}
	}
}

func TestCheckerSeesStoresAndSlots(t *testing.T) {
	g := newToyGuest()
	g.bytes[1] = 0x32
	if _, ok := g.unseen(); !ok {
		t.Error("a store that nobody looked at is not noticed")
	}
	g.run(0, toyStores)
	if _, ok := g.unseen(); ok {
		t.Error("a store that was looked at counts as unseen")
	}
	g.run(1, toyAt)
	g.event(sim.Event{Kind: kprobes.EventSlot, Name: "taken", Arg: 0x9010})
	g.run(0, 0x9010, 0x9013)
	if len(g.kinds) != 0 {
		t.Errorf("found %q too early", g.kinds)
	}
	g.event(sim.Event{Kind: kprobes.EventSlot, Name: "freed", Arg: 0x9010})
	g.run(1, 0x9013)
	g.run(1, 0xa000)
	g.restored()
	if want := []Kind{Stale, Stale, Stale}; !slices.Equal(g.kinds, want) {
		t.Errorf("found %q, want %q: a freed slot, a buffer that never was, text that is not restored", g.kinds, want)
	}
}

// TestCheckerHearsOfPromises wants bytes that the kernel says to be everybody's to be just that.
func TestCheckerHearsOfPromises(t *testing.T) {
	for name, want := range map[string][]Kind{"registered": nil, "optimized": {Unsynced}, "unoptimized": {Unsynced}, "gone": {Stale}} {
		g := newToyGuest()
		g.bytes[0] = toyBreak
		g.run(0, toyStores)
		g.event(sim.Event{Kind: kprobes.EventProbe, Name: name, Arg: toyAt})
		g.run(1, toyAt)
		if !slices.Equal(g.kinds, want) {
			t.Errorf("%s: found %q, want %q", name, g.kinds, want)
		}
	}
}
