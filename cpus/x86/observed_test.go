package x86

import (
	"math/rand/v2"
	"slices"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
)

// spanned is an observer that keeps the addresses in a span, and breaks behind some of them.
type spanned struct {
	c     *CPU
	span  [2]uint64
	every int // breaks behind one in so many, 0 for never
	pcs   []uint64
}

// Step implements cpus.Observer.
func (o *spanned) Step(s *cpus.Step) {
	if s.PC-o.span[0] >= o.span[1]-o.span[0] {
		return
	}
	o.pcs = append(o.pcs, s.PC)
	if o.every != 0 && len(o.pcs)%o.every == 0 {
		o.c.Break()
	}
}

// TestObserveCode runs random code with nobody, with an observer of a span of it, and with an observer
// of everything that looks at the span alone: the first is no different, the other two see the same.
func TestObserveCode(t *testing.T) { eachMode(t, observeCode) }

func observeCode(t *testing.T, isa *cpus.ISA) {
	g := newGen(isa.Bits, 5, 1)
	for _, x := range groups {
		x.build(g)
	}
	total := 0
	for i := range 40 {
		var code []byte
		for len(code) < 400 {
			code = append(code, g.forms[g.rng.IntN(len(g.forms))].code...)
		}
		seed := g.rng.Uint64()
		plain, _ := spannedRun(t, isa, code, seed, i%5, "")
		some, inSpan := spannedRun(t, isa, code, seed, i%5, "span")
		all, inAll := spannedRun(t, isa, code, seed, i%5, "all")
		require.That(t, slices.Equal(inSpan, inAll), "run %d: observing a span shows %d instructions, observing all %d", i, len(inSpan), len(inAll))
		for _, c := range []*CPU{some, all} {
			if c.R != plain.R || c.Now() != plain.Now() || c.Counts != plain.Counts {
				t.Errorf("run %d: observed, %d instructions in %d ticks to %#x; else %d in %d to %#x", i,
					c.Counts.Instructions, c.Now(), c.PC(), plain.Counts.Instructions, plain.Now(), plain.PC())
			}
		}
		total += len(inAll)
	}
	require.That(t, total >= 100, "only %d instructions were observed", total)
}

// spannedRun executes 500 instructions and returns those that were observed in a span.
func spannedRun(t *testing.T, isa *cpus.ISA, code []byte, seed uint64, every int, observe string) (*CPU, []uint64) {
	w := newWorld(t, isa, []string{cpus.Window, cpus.Throughput}[rand.New(rand.NewPCG(seed, 7)).IntN(2)], nil)
	fuzzPages(w, code)
	c := w.cpu()
	fuzzState(w, c, seed)
	from := c.PC() + 5
	o := &spanned{c: c, span: [2]uint64{from, from + 100}, every: every}
	switch observe {
	case "span":
		c.ObserveCode(o, [][2]uint64{o.span}, false)
	case "all":
		c.ObserveCode(o, [][2]uint64{o.span}, true)
	}
	for left := 500; left > 0; {
		n, e := c.Steps(left, c.Now()+1<<40)
		if left -= n; n == 0 || e.Reason != cpus.Limit && e.Reason != cpus.Broken {
			break
		}
	}
	return c, o.pcs
}

// TestBreak stops before a block with observed code and at each instruction of a span.
func TestBreak(t *testing.T) {
	isa := ISA64()
	w := newWorld(t, isa, cpus.Throughput, []byte{0x90, 0x90, 0x90, 0x90, 0x90, 0xeb, 0xf9}) // five nops in a loop
	c := w.cpu()
	o := &spanned{c: c, span: [2]uint64{c.PC() + 1, c.PC() + 3}, every: 1}
	c.ObserveCode(o, [][2]uint64{o.span}, false)
	start := c.PC()
	for i, want := range []struct{ n, off uint64 }{{2, 2}, {1, 3}, {3, 0}, {2, 2}, {1, 3}} {
		n, e := c.Steps(100, 1<<40)
		require.That(t, uint64(n) == want.n && e.Reason == cpus.Broken && c.PC() == start+want.off, "stop %d: %d instructions to +%d, reason %d; want %d to +%d", i, n, c.PC()-start, e.Reason, want.n, want.off)
	}
}
