package smp

import (
	"slices"
	"testing"

	"kprobesim/internal/clock"
)

// phase is the time that a CPU has spent in a phase of its code, in whatever context.
func (b *board) phase(cpu int, name string) (sum clock.Ticks) {
	b.t.Helper()
	i := slices.Index(b.m.ISA().Phases, name)
	if i < 0 {
		b.t.Fatalf("no phase %s", name)
	}
	for _, times := range b.m.CPU(cpu).Counters().Time {
		sum += times[i]
	}
	return sum
}

// What CPUs do is booked: idling while they are halted, interrupts, and standing still.
func TestTimeIsBooked(t *testing.T) {
	b := run(t, plain, Options{CPUs: 4, Tick: true}, func(b *board) {
		b.do(b.k.Sleep(b, 20))
		b.do(b.k.StopMachine(b, func(c Caller) error { c.Charge(50_000); return nil }))
	})
	for i := range 4 {
		if idle := b.phase(i, "idle"); idle < 15*b.k.jiffy {
			t.Errorf("cpu %d: idle for %d cycles of 20 jiffies", i, idle.Cycles())
		}
		if irq := b.phase(i, "irq"); irq <= 0 || irq > b.k.jiffy {
			t.Errorf("cpu %d: %d cycles in interrupts", i, irq.Cycles())
		}
		if stop := b.phase(i, "stop"); i > 0 && stop < clock.FromCycles(50_000) {
			t.Errorf("cpu %d: stood still for %d cycles, want 50000", i, stop.Cycles())
		}
	}
}

func TestStopOf64CPUs(t *testing.T) {
	b := run(t, plain, Options{CPUs: 64}, func(b *board) {
		for range 2 {
			b.do(b.k.StopMachine(b, func(Caller) error { b.say("stopped"); return nil }))
		}
	})
	b.expect("stopped", "stopped")
	b.holdStops(64)
}

func TestStopOf256CPUs(t *testing.T) {
	b := run(t, plain, Options{CPUs: 256}, func(b *board) {
		b.do(b.k.StopMachine(b, func(Caller) error { b.say("stopped"); return nil }))
		b.do(b.k.OnEachCPU(b, "tick_work", 1))
		b.do(b.k.SynchronizeSched(b))
		for i := range 256 {
			if n := b.percpu(i, "many_ticks"); n != 1 {
				t.Errorf("cpu %d: called %d times", i, n)
			}
		}
	})
	b.expect("stopped")
	b.holdStops(256)
}
