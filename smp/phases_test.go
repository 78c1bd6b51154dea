package smp

import (
	"testing"

	"kprobesim/image"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// phase is the time that a CPU has spent in a phase of its code, in whatever context.
func (b *board) phase(cpu int, p image.Phase) (sum clock.Ticks) {
	for _, times := range b.m.CPU(cpu).Counters().Time {
		sum += times[p]
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
		idle := b.phase(i, image.PhaseIdle)
		require.That(t, idle >= 15*b.k.jiffy, "cpu %d: idle for %d cycles of 20 jiffies", i, idle.Cycles())
		irq := b.phase(i, image.PhaseIRQ)
		require.That(t, irq > 0 && irq <= b.k.jiffy, "cpu %d: %d cycles in interrupts", i, irq.Cycles())
		stop := b.phase(i, image.PhaseStop)
		require.That(t, i <= 0 || stop >= clock.FromCycles(50_000), "cpu %d: stood still for %d cycles, want 50000", i, stop.Cycles())
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
			n := b.percpu(i, "many_ticks")
			require.That(t, n == 1, "cpu %d: called %d times", i, n)
		}
	})
	b.expect("stopped")
	b.holdStops(256)
}

// Ticks of several CPUs come together, but for when the CPUs were started, or spread over half a jiffy.
func TestTicksAreSpread(t *testing.T) {
	const n = 4
	for _, spread := range []bool{false, true} {
		for _, name := range []string{plain, "i386-2020", "ppc64-2017", "arm-2014"} {
			b := run(t, name, Options{CPUs: n, HZ: 1000, Tick: true, Spread: spread}, func(b *board) {
				b.do(b.k.Sleep(b, 3))
			})
			last := [n]clock.Ticks{}
			for _, e := range b.events {
				if e.Kind == EventTick && e.At != 0 {
					last[e.CPU] = e.At
				}
			}
			for cpu := 1; cpu < n; cpu++ {
				behind := (last[cpu] - last[0] + b.k.jiffy) % b.k.jiffy
				want, within := clock.Ticks(0), b.k.jiffy/20
				if spread {
					want = b.k.jiffy * clock.Ticks(cpu) / (2 * n)
				}
				if d := behind - want; d < -within/10 || d > within {
					t.Errorf("%s, spread %v: ticks of cpu %d come %.3f of a jiffy behind those of cpu 0, want %.3f", name,
						spread, cpu, float64(behind)/float64(b.k.jiffy), float64(want)/float64(b.k.jiffy))
				}
			}
		}
	}
}
