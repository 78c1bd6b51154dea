package pc_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kprobesim/boards/pc"
	"kprobesim/boards/pc/pctest"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/sim"
	"kprobesim/sim/simtest"
)

func TestStartUp(t *testing.T) {
	for _, n := range []int{2, 3, 16, 256} {
		b := &shown{}
		w := pctest.New(t, n, "boot_count", "ready", func(c *sim.Config) { c.Board = b })
		w.MustRun(t)
		require.Equal(t, pc.Flying(b.Hardware), 0, "interrupts are on their way that have arrived")
		require.That(t, slices.Equal(w.Reports, []uint64{uint64(n - 1)}), "%d CPUs: reported %d", n, w.Reports)
		got := len(w.Kind(sim.EventIPI))
		require.That(t, got == 3*(n-1), "%d CPUs: %d interrupts accepted, want INIT and two start-ups each", n, got)
		for i := range n {
			data := require.Must(w.PerCPU(i, "count"))(t)
			sp := w.CPU(i).SP()
			require.That(t, sp > data && sp <= data+4096, "%d CPUs: cpu %d has its stack at %#x, its data at %#x", n, i, sp, data)
		}
	}
}

func TestStartUpAgain(t *testing.T) {
	w := pctest.New(t, 2, "boot_again", "ready")
	w.MustRun(t)
	require.That(t, slices.Equal(w.Reports, []uint64{2}), "CPU 1 began %d times, want 2: INIT stops it and the next start-up starts it", w.Reports)
}

// TestIPI holds that every CPU takes the interrupt sent to it, ipi after it was sent, awake or asleep.
func TestIPI(t *testing.T) {
	for _, other := range []string{"ready", "busy"} {
		w := pctest.New(t, 4, "boot_ipis", other)
		w.MustRun(t)
		sent := map[uint64]clock.Ticks{}
		for _, e := range w.Kind(sim.EventIPISend) {
			if e.ID == 0x40 {
				sent[e.Arg] = e.At
			}
		}
		var to []int
		for _, e := range w.Kind(sim.EventIPI) {
			if e.ID != 0x40 {
				continue
			}
			to = append(to, e.CPU)
			late := e.At - sent[uint64(e.CPU)] - pctest.IPI
			require.That(t, late >= 0 && late <= 50*clock.PerCycle, "%s: cpu %d accepted it %d ticks after its time", other, e.CPU, late)
		}
		require.That(t, slices.Equal(to, []int{1, 2, 3}), "%s: accepted by %v", other, to)
		for i := 1; i < 4; i++ {
			at := require.Must(w.PerCPU(i, "count"))(t)
			n, _ := w.Load(at, 8)
			require.That(t, other != "ready" || n == 1, "cpu %d took %d interrupts", i, n)
		}
	}
}

// TestDestinations holds who takes an interrupt that is sent to one of many.
func TestDestinations(t *testing.T) {
	for _, x := range []struct {
		name, other string
		n           int
		command     uint64
		want        []int
	}{
		{"physical", "ready", 4, 0x40, []int{1}},
		{"logical, the last of 256", "logical", 256, 0x840, []int{255}},
		{"lowest priority of the others", "ranked", 4, 0xc0140, []int{3}},
		{"all others", "ready", 4, 0xc0040, []int{1, 2, 3}},
	} {
		w := pctest.New(t, x.n, "boot_send", x.other)
		w.Set(t, "arg2", x.command)
		w.MustRun(t)
		var got []int
		for _, e := range w.Kind(sim.EventIPI) {
			if e.ID == 0x40 {
				got = append(got, e.CPU)
			}
		}
		require.That(t, slices.Equal(got, x.want), "%s: accepted by %v, want %v", x.name, got, x.want)
	}
}

// TestAbuseOfTheAPIC writes random registers of it, most of all the interrupt command: the machine ends
// in whatever way, but it ends, and the same way again.
func TestAbuseOfTheAPIC(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	ways := []string{"<nil>", "all CPUs sleep", "triple fault", "system management", "none of 4 CPUs has"}
	simtest.Abuse(t, 150, len(ways), ways, func() func() string {
		var list []uint64
		for range 60 {
			off, v := uint64(0x300), uint64(rng.Uint32N(1<<20)) // any mode, level, trigger and shorthand
			switch rng.IntN(4) {
			case 0:
				off, v = 0x310, uint64(rng.IntN(4)+rng.IntN(100)/99)<<24 // seldom one that no CPU has
			case 1:
				off, v = uint64(1+rng.IntN(0x3ff))&^0xf+0x10, uint64(rng.Uint32())
			}
			if off == 0x300 && rng.IntN(100) != 0 {
				v = v&^0x8ff | 0x40 // a vector that has a gate, for one CPU
			}
			if off == 0x300 && v>>8&7 == 2 && rng.IntN(50) != 0 {
				v &^= 0x200 // fixed, not a system management interrupt
			}
			list = append(list, off, v)
		}
		return func() string {
			w := pctest.New(t, 4, "boot_abuse", "ready", func(c *sim.Config) { c.Budget = clock.FromCycles(200_000) })
			w.List(t, 8, append(list, 0, 0)...)
			return w.Ended(w.Run())
		}
	})
}

func TestInterruptToNobody(t *testing.T) {
	w := pctest.New(t, 4, "boot_send", "ready")
	w.Set(t, "arg2", 0x840) // logical, and nobody has a logical destination
	err := w.Run()
	if err == nil || !strings.Contains(err.Error(), "cpu 0 sent a fixed interrupt with vector 64 to destination 1, which none of 4 CPUs has") {
		t.Error(err)
	}
}

// TestNMI sends two at once to a CPU with interrupts disabled: the second waits for the iret of the first.
func TestNMI(t *testing.T) {
	w := pctest.New(t, 2, "boot_nmis", "deaf")
	w.MustRun(t)
	require.That(t, slices.Equal(w.Reports, []uint64{1}), "handlers were %d deep, want 1", w.Reports)
	require.Equal(t, w.CPU(1).Counters().Exceptions[2], 2, "NMIs delivered")
	got := w.Kind(sim.EventSignal)
	require.That(t, len(got) == 2 && got[0].CPU == 1 && got[0].Name == "nmi", "noted %+v", got)
}

// TestTimerClock holds that timers count what the machine says: cycles of the core, or of a clock of their own.
// It counts behind the first million cycles, when the timer is set.
func TestTimerClock(t *testing.T) {
	for hz, want := range map[int64]uint64{0: 1000, 1e9: 1000, 1e8: 100, 4e9: 4000} {
		w := pctest.New(t, 2, "boot_busy", "ticking", func(c *sim.Config) { c.TimerHz = hz })
		w.Set(t, "arg2", 5000)
		at := require.Must(w.PerCPU(1, "count"))(t)
		before := uint64(0)
		w.At(clock.FromCycles(1_000_000), func() { before = require.Must(w.Load(at, 8))(t) })
		w.At(clock.FromCycles(6_000_000), func() { w.Stop(nil) })
		w.MustRun(t)
		n := require.Must(w.Load(at, 8))(t) - before
		require.That(t, n+1 >= want && n <= want+1, "timers at %d Hz: %d interrupts, want about %d", hz, n, want)
	}
}

// TestTimerExpires has the timer of a CPU interrupt it ten times more than it would. A masked one stays silent.
func TestTimerExpires(t *testing.T) {
	w := pctest.New(t, 2, "boot_busy", "ticking", func(c *sim.Config) { c.TimerHz = 1e8 })
	w.Set(t, "arg2", 5000)
	at, before := require.Must(w.PerCPU(1, "count"))(t), uint64(0)
	w.At(clock.FromCycles(1_000_000), func() { before = require.Must(w.Load(at, 8))(t) })
	for i := range int64(10) {
		w.At(clock.FromCycles(2_000_000+100_000*i), func() {
			w.Expire(0)
			w.Expire(1)
		})
	}
	w.At(clock.FromCycles(6_000_000), func() { w.Stop(nil) })
	w.MustRun(t)
	n := require.Must(w.Load(at, 8))(t) - before
	require.That(t, n >= 109 && n <= 111, "%d interrupts, want about 110", n)
	require.Equal(t, w.CPU(0).Counters().Unhandled, 0, "interrupts of the CPU whose timer is masked")
	got := w.Kind(sim.EventSignal)
	require.That(t, len(got) == 20 && got[1].CPU == 1 && got[1].Name == "timer", "noted %+v", got)
}
