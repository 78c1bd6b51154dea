package x86

import (
	"math/rand/v2"
	"testing"

	"kprobesim/cpus"
)

// counting is an observer that counts, and checks that time does not run backwards.
type counting struct {
	t     *testing.T
	steps uint64
	end   int64
}

// Step implements cpus.Observer.
func (o *counting) Step(s *cpus.Step) {
	o.steps++
	if int64(s.Start) < o.end || s.End < s.Start {
		o.t.Errorf("step %d at %#x runs from %d to %d after %d", o.steps, s.PC, s.Start, s.End, o.end)
	}
	o.end = int64(s.End)
}

// TestObserverChangesNothing runs random code with and without an observer.
func TestObserverChangesNothing(t *testing.T) {
	eachMode(t, observerChangesNothing)
}

func observerChangesNothing(t *testing.T, isa *cpus.ISA) {
	g := newGen(isa.Bits, 99, 1)
	for _, x := range groups {
		x.build(g)
	}
	n := 150
	if testing.Short() {
		n = 20
	}
	for i := range n {
		var code []byte
		for len(code) < 400 {
			code = append(code, g.forms[g.rng.IntN(len(g.forms))].code...)
		}
		seed := g.rng.Uint64()
		plain, watched := observedRun(t, isa, code, seed, false), observedRun(t, isa, code, seed, true)
		if plain.r != watched.r || plain.retire != watched.retire || plain.ctr.Instructions != watched.ctr.Instructions ||
			plain.flags() != watched.flags() || plain.ctr != watched.ctr {
			t.Errorf("run %d, seed %#x: %d instructions in %d ticks to rip %#x; observed %d in %d to %#x", i, seed,
				plain.ctr.Instructions, plain.retire, plain.PC(), watched.ctr.Instructions, watched.retire, watched.PC())
		}
	}
}

func observedRun(t *testing.T, isa *cpus.ISA, code []byte, seed uint64, observe bool) *CPU {
	w := newWorld(t, isa, []string{cpus.Window, cpus.Throughput}[rand.New(rand.NewPCG(seed, 7)).IntN(2)], nil)
	fuzzPages(w, code)
	c := w.cpu()
	fuzzState(w, c, seed)
	if observe {
		c.Observe(&counting{t: t})
	}
	for range 8 {
		if e := c.Run(c.Now() + 60*4000); e.Reason != cpus.Limit {
			break
		}
	}
	return c
}
