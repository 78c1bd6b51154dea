package sim_test

import (
	"fmt"
	"testing"

	"kprobesim/boards/pc/pctest"
	"kprobesim/internal/clock"
	"kprobesim/sim"
)

// BenchmarkCPUs measures what a simulated second of a CPU of 1 GHz costs the host, for machines of 1 to
// 256 CPUs: all of them computing, each on its own data; one computing while the others sleep; and the
// others woken by timers a thousand times a second.
func BenchmarkCPUs(b *testing.B) {
	for _, other := range []string{"busy", "ready", "ticking"} {
		for n := 1; n <= sim.MaxCPUs; n *= 2 {
			if n == 1 && other != "busy" {
				continue
			}
			b.Run(fmt.Sprintf("%s/%d", other, n), func(b *testing.B) { benchCPUs(b, n, other) })
		}
	}
}

func benchCPUs(b *testing.B, n int, other string) {
	const window = 1_000_000 // cycles that one iteration takes
	w := pctest.New(b, n, "boot_busy", other, func(c *sim.Config) { c.Budget = 1 << 60 })
	w.Unwatch()
	w.Set(b, "arg2", 1_000_000)
	from := clock.FromCycles(3_000_000) // all are up by then
	var before uint64
	w.At(from, func() { before = instructions(w); b.ResetTimer() })
	w.At(from+clock.FromCycles(int64(b.N)*window), func() { b.StopTimer(); w.Stop(nil) })
	w.MustRun(b)
	seconds := float64(b.N) * window / 1e9
	b.ReportMetric(b.Elapsed().Seconds()/seconds, "host-s/sim-s")
	b.ReportMetric(b.Elapsed().Seconds()/seconds/float64(n), "host-s/cpu-s")
	b.ReportMetric(float64(instructions(w)-before)/b.Elapsed().Seconds()/1e6, "MIPS")
}

func instructions(w *pctest.Guest) (n uint64) {
	for i := range w.CPUs() {
		n += w.CPU(i).Counters().Instructions
	}
	return n
}

// dice is a policy that switches at random, every ten instructions on average.
type dice struct{ state uint64 }

func (p *dice) Next(_ *sim.Machine, runnable []int) (cpu, steps int) {
	p.state = p.state*6364136223846793005 + 1442695040888963407
	r := p.state >> 33
	return runnable[r%uint64(len(runnable))], 1 + int(r>>8%19)
}

// BenchmarkPolicy measures how fast chosen CPUs run in short turns.
func BenchmarkPolicy(b *testing.B) {
	for _, n := range []int{2, 4, 16} {
		for _, observed := range []bool{false, true} {
			b.Run(fmt.Sprintf("cpus=%d/observed=%v", n, observed), func(b *testing.B) { benchPolicy(b, n, observed) })
		}
	}
}

func benchPolicy(b *testing.B, n int, observed bool) {
	w := pctest.New(b, n, "boot_busy", "busy", func(c *sim.Config) { c.Budget, c.Policy = 1<<60, &dice{state: 1} })
	w.Unwatch()
	if observed {
		for i := range n {
			w.CPU(i).Observe(nothing{})
		}
	}
	var before uint64
	from := clock.FromCycles(1_000_000)
	w.At(from, func() { before = instructions(w); b.ResetTimer() })
	w.At(from+clock.FromCycles(int64(b.N)*1000), func() { b.StopTimer(); w.Stop(nil) })
	w.MustRun(b)
	b.ReportMetric(float64(instructions(w)-before)/b.Elapsed().Seconds()/1e6, "MIPS")
}
