package smp

import (
	"debug/elf"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/sim"
)

func TestOnEachCPU(t *testing.T) {
	eachSize(t, []int{1, 2, 4, 16}, func(t *testing.T, name string, cpus int) {
		b := run(t, name, Options{CPUs: cpus}, func(b *board) {
			for range 3 {
				b.do(b.k.OnEachCPU(b, "tick_work", 7))
			}
			for i := range cpus {
				n := b.percpu(i, "many_ticks")
				require.That(t, n == 3, "cpu %d: called %d times, want 3", i, n)
			}
			require.That(t, b.k.OnEachCPU(b, "no_such", 0) != nil, "a function that does not exist has been called")
		})
		sent := 0
		for _, e := range b.events {
			if e.Kind == sim.EventIPISend && e.ID == b.callNumber() {
				sent++
			}
		}
		want := 3 * (cpus - 1)
		if cpus > 1 && cpus <= 8 && !b.oneNumber() {
			want = 3 // one command reaches all
		}
		require.That(t, sent == want || b.oneNumber() && sent > want, "%d commands to the interrupt controller, want %d", sent, want)
	})
}

// TestStopMachine: the states follow each other; all stoppers run before interrupts go off and until the end, and nothing else runs
// meanwhile.
func TestStopMachine(t *testing.T) {
	eachSize(t, []int{2, 4, 16}, func(t *testing.T, name string, cpus int) {
		stopped := false
		b := run(t, name, Options{CPUs: cpus, Tick: true}, func(b *board) {
			over := false
			tasks := b.start(cpus, func(c Caller, _ int) {
				for !over {
					require.That(t, !stopped, "a task runs while the machine is stopped")
					b.call(c, "loop_shared", 20)
				}
			})
			b.do(b.k.Sleep(b, 1))
			for i := range 3 {
				b.do(b.k.StopMachine(b, func(c Caller) error {
					stopped = true
					c.Charge(10000)
					b.call(c, "loop_busy", 100)
					if c.CPU() != 0 || !b.irqsOff(c) {
						t.Errorf("runs on cpu %d, interrupts off %v", c.CPU(), b.irqsOff(c))
					}
					stopped = false
					return nil
				}))
				b.say("%d", i)
			}
			b.expect("0", "1", "2")
			want := errors.New("refused")
			err := b.k.StopMachine(b, func(Caller) error { return want })
			require.That(t, errors.Is(err, want), "error %v", err)
			over = true
			b.join(tasks)
		})
		var names []string
		for _, e := range b.events {
			if e.Kind == EventStop {
				names = append(names, fmt.Sprintf("%d %s", e.ID, e.Name))
			}
		}
		var want []string
		for i := 1; i <= 4; i++ {
			for _, s := range []string{"prepare", "disable-irq", "run", "exit"} {
				want = append(want, fmt.Sprintf("%d %s", i, s))
			}
		}
		require.That(t, slices.Equal(names, want), "states %q, want %q", names, want)
		b.holdStops(cpus)
	})
}

// TestStopperWakesAtOnce: the last stopper interrupts the caller's idle CPU before it sleeps itself, as every wake-up does.
// One of three may end on the caller's own CPU.
func TestStopperWakesAtOnce(t *testing.T) {
	eachSize(t, []int{2, 4}, func(t *testing.T, name string, cpus int) {
		b := run(t, name, Options{CPUs: cpus}, func(b *board) {
			b.events = nil
			for range 3 {
				b.do(b.k.StopMachine(b, func(Caller) error { return nil }))
			}
		})
		on, sent := make([]string, cpus), 0
		for _, e := range b.events {
			switch {
			case e.Kind == sim.EventTask:
				on[e.CPU] = e.Name
			case e.Kind == sim.EventIPISend && strings.HasPrefix(on[e.CPU], "migration/"):
				sent++
			}
		}
		require.That(t, sent >= 2, "stoppers sent %d interrupts in three stops", sent)
	})
}

// oneNumber reports whether all interrupts between CPUs have one number, what they ask for being in memory.
func (b *board) oneNumber() bool { return b.m.Image().Machine == elf.EM_PPC64 }

// callNumber is the number of the interrupt by which CPUs have others call a function.
func (b *board) callNumber() uint64 {
	switch b.m.Image().Machine {
	case elf.EM_PPC64:
		return 2
	case elf.EM_ARM:
		return 1
	}
	return 0xfc
}

// irqsOff tells whether interrupts are off on the caller's CPU.
func (b *board) irqsOff(c Caller) bool {
	for _, r := range b.m.CPU(c.CPU()).Registers() {
		switch {
		case strings.HasSuffix(r.Name, "flags"):
			return r.Value&0x200 == 0
		case r.Name == "msr":
			return r.Value&0x8000 == 0
		case r.Name == "cpsr":
			return r.Value&0x80 != 0
		}
	}
	b.t.Error("no register of flags")
	return false
}

// holdStops checks that between the states disable-irq and exit every CPU has its stopper.
func (b *board) holdStops(cpus int) {
	b.t.Helper()
	on := make([]string, cpus)
	for _, e := range b.events {
		switch {
		case e.Kind == sim.EventTask:
			on[e.CPU] = e.Name
		case e.Kind == EventStop && e.Name != "prepare":
			for i, name := range on {
				if name != fmt.Sprintf("migration/%d", i) {
					b.t.Errorf("stop %d, %s: cpu %d runs %q", e.ID, e.Name, i, name)
				}
			}
		}
	}
}

// TestShownSteps counts where other CPUs may go on in a search: in a grace period behind its steps, and behind each CPU that it looks at,
// and in a stop nowhere but with the mistake of being preempted.
func TestShownSteps(t *testing.T) {
	for _, mutant := range []string{"", MutantStopPreempted} {
		for _, cpus := range []int{2, 4} {
			run(t, plain, Options{CPUs: cpus, Mutant: mutant}, func(b *board) {
				shown := 0
				b.k.Show(func() { shown++ })
				for name, x := range map[string]struct {
					do   func() error
					want int
				}{
					"a grace period": {func() error { return b.k.SynchronizeSched(b) }, cpus + 2},
					"a stop":         {func() error { return b.k.StopMachine(b, func(Caller) error { return nil }) }, map[bool]int{true: cpus}[mutant != ""]},
				} {
					shown = 0
					b.do(x.do())
					require.Equal(t, shown, x.want, "%s of %d CPUs with mistake %q is shown", name, cpus, mutant)
				}
				b.k.Show(nil)
			})
		}
	}
}
