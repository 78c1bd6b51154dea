package ppc64

import (
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// answering is a hypervisor that gives one answer, and notes what it was asked.
type answering struct {
	answer  Answer
	asked   [HypercallRegisters]uint64
	problem bool
	at      clock.Ticks
	c       *CPU
}

func (*answering) Load(uint64, int) uint64   { return 0 }
func (*answering) Store(uint64, int, uint64) {}

func (h *answering) Hypercall(r *[HypercallRegisters]uint64, problem bool) Answer {
	h.asked, h.problem, h.at = *r, problem, h.c.Now()
	r[0], r[1] = 5, 6
	if h.answer == Stopped {
		h.c.Reset()
	}
	return h.answer
}

const insnHypercall = insnSC | 1<<5

// TestHypercall looks at what a call is given, what it leaves, and what time it takes.
func TestHypercall(t *testing.T) {
	const cost = 700 * clock.PerCycle
	for answer, name := range map[Answer]string{Answered: "answered", Waits: "waits", Stopped: "stopped", Unknown: "unknown"} {
		h := &answering{answer: answer}
		w := newWorld(t, cpus.Throughput, []uint32{li(3, 7), li(12, 9), insnHypercall, insnTrap})
		w.cfg.Events["hypercall"], w.bus.Device = cost, h
		c := w.cpu()
		h.c = c
		c.srr = [2]uint64{1, 2}
		if e := c.Run(clock.FromCycles(1e6)); e.Reason != cpus.Limit { // the machine looks around behind a call
			t.Errorf("%s: stopped for reason %d", name, e.Reason)
		}
		require.That(t, h.asked[0] == 7 && h.asked[9] == 9 && !h.problem, "%s: asked with %d", name, h.asked)
		require.That(t, h.at >= cost && h.at <= cost+100*clock.PerCycle+w.cfg.Memory*8, "%s: asked after %d ticks", name, h.at)
		if answer == Stopped {
			require.That(t, c.R[3] == 0 && c.Halted, "%s: r3 %d", name, c.R[3])
			continue
		}
		if c.R[3] != 5 || c.R[4] != 6 || c.R[12] != 9 || c.srr[0] != testCode+12 {
			t.Errorf("%s: r3 %d, r4 %d, r12 %d, SRR0 %#x", name, c.R[3], c.R[4], c.R[12], c.srr[0])
		}
		require.That(t, c.Halted == (answer == Waits) && (c.msr&msrEE != 0) == (answer == Waits), "%s: halted %v, MSR %#x", name, c.Halted, c.msr)
		require.That(t, (c.Counts.Unmodelled != 0) == (answer == Unknown), "%s: not modelled: %d", name, c.Counts.Unmodelled)
	}
}

// TestHypercallInProblemState tells the hypervisor who calls.
func TestHypercallInProblemState(t *testing.T) {
	h := &answering{}
	w := newWorld(t, cpus.Throughput, nil, userMaps()...)
	w.words(freePages, insnHypercall, insnTrap)
	w.bus.Device = h
	c := w.cpu()
	h.c = c
	c.setMSR(userMSR)
	c.R[rPC] = userCode
	c.Run(1e6)
	if !h.problem || c.R[rPC] != userCode+4 {
		t.Errorf("%+v, at %#x", h, c.R[rPC])
	}
}
