package experiments_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"kprobesim/cpus"
	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/reports"
	"kprobesim/experiments/running"
	"kprobesim/internal/clock"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/kprobes"
	"kprobesim/sim"
	"kprobesim/smp"
	"kprobesim/targets"
)

// speedLoops are the guest's loops for measuring the simulator itself, each in a call of a few
// milliseconds. In chase and near every load misses the first-level data cache.
//
// How many instructions a round has is the compiler's: GCC makes four of a round of chase for x86, and
// two for ppc64, which counts in a branch. So these two are to be compared by rounds. What chase reads is more than
// the second-level caches of most hosts hold, and of some simulated machines: it measures the host's memory beside
// the simulator. near stays in both.
var speedLoops = []struct {
	name, symbol string
	rounds       uint64
	table        int // bytes of the table of pointers that it follows
}{
	{"alu", "speed_alu", 20000, 0},
	{"chase", "speed_chase", 100000, chaseBytes},
	{"near", "speed_chase", 100000, nearBytes},
	{"calls", "speed_calls", 20000, 0},
}

const (
	chaseBytes = 4 << 20 // speed_chase_init makes no other table
	nearBytes  = 512 << 10
)

// speedMachines are the machines and the guest images that run the loops of every target; prefix names them. model is the one
// of the machine's description.
var speedMachines = []struct{ prefix, target, machine, image, model string }{
	{"", "x86_64", "xeon-e5410", "x86_64-2010", cpus.Window},
	{"ppc64-", "ppc64", "power5-1656", "ppc64-2010", cpus.Window},
	{"i386-", "i386", "xeon-e5410-i386", "i386-2010", cpus.Window},
	{"arm-", "arm", "tc2-cortex-a7", "arm-2010", cpus.Scoreboard},
	{"arm-a15-", "arm", "tc2-cortex-a15", "arm-2010", cpus.Window},
}

// untimed is in place of a cost model where the CPU executes without one.
const untimed = "untimed"

// speedRun is one loop on one machine under one cost model.
type speedRun struct {
	name    string // PREFIX LOOP/MODEL
	machine string
	image   string
	model   string
	symbol  string
	rounds  uint64
	table   int
}

// speedRuns lists every loop on every target under the fast cost model, that of the machine, and none.
func speedRuns() []speedRun {
	var runs []speedRun
	for _, m := range speedMachines {
		for _, l := range speedLoops {
			for _, model := range []string{cpus.Throughput, m.model, untimed} {
				runs = append(runs, speedRun{
					m.prefix + l.name + "/" + model, m.machine, m.image, model, l.symbol, l.rounds, l.table,
				})
			}
		}
	}
	return runs
}

// TestSpeedIsMeasuredOnEveryTarget wants a row of speedMachines for each row of the list of targets.
func TestSpeedIsMeasuredOnEveryTarget(t *testing.T) {
	var names []string
	for _, m := range speedMachines {
		names = append(names, m.target)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if want := targets.Names(targets.List()); !slices.Equal(names, want) {
		t.Errorf("the loops run on %v, want every target: %v", names, want)
	}
}

// build makes the machine of a run with its whole kernel and all of its timing.
func (r speedRun) build() (*targets.System, error) {
	m, err := planning.NewLoader().Machine(r.machine, "", nil)
	if err != nil {
		return nil, err
	}
	im, err := targets.LoadImage(r.image)
	if err != nil {
		return nil, err
	}
	if r.model != untimed {
		m.CPU.Model = r.model
	}
	return targets.Find(targets.List(), m.ISA).Build(targets.Config{
		Machine: sim.Config{CPU: m.CPU, Image: im, TimerHz: m.TimerHz, Budget: clock.FromCycles(3600 * m.CPU.Hz)},
		Kernel:  smp.Options{HZ: 1000},
		Probes:  kprobes.Default(),
	})
}

// boot gives body a function that runs one call of the loop and returns its instructions. Before, the loop
// has gone around once: caches, predictors and decoded blocks are warm.
func (r speedRun) boot(tb testing.TB, body func(run func(n uint64) uint64)) {
	tb.Helper()
	sys, err := r.build()
	require.NoError(tb, err)
	err = sys.Run(func(c *sim.Call) error {
		args := []uint64{0, 0}
		if r.table != 0 {
			if args[1], err = r.pointers(sys.Machine, c); err != nil {
				return err
			}
		}
		var failed error
		run := func(n uint64) uint64 {
			args[0] = n
			before := sys.Machine.CPU(0).Counters().Instructions
			if _, err := c.InvokeSym(r.symbol, args...); err != nil {
				failed = err
			}
			return sys.Machine.CPU(0).Counters().Instructions - before
		}
		if r.model == untimed {
			sys.Machine.CPU(0).Untimed(clock.PerCycle, 1<<62)
		}
		run(chaseBytes / 64)
		body(run)
		return failed
	})
	require.NoError(tb, err)
}

// pointers makes the table that a loop follows.
func (r speedRun) pointers(m *sim.Machine, c *sim.Call) (uint64, error) {
	at, err := m.Alloc(uint64(r.table), 4096)
	if err != nil {
		return 0, err
	}
	if r.table == chaseBytes {
		_, err = c.InvokeSym("speed_chase_init", at)
		return at, err
	}
	return at, cycle(m, at, r.table)
}

// cycle links one word in each line of a table into one cycle in random order (Sattolo). No first-level data
// cache has longer lines.
func cycle(m *sim.Machine, at uint64, n int) error {
	const line = 128
	next := make([]uint64, n/line)
	for i := range next {
		next[i] = uint64(i)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := len(next) - 1; i > 0; i-- {
		j := r.IntN(i)
		next[i], next[j] = next[j], next[i]
	}
	var errs []error
	for i, to := range next {
		errs = append(errs, m.Store(at+uint64(i)*line, m.ISA().Bits/8, at+to*line))
	}
	return errors.Join(errs...)
}

// BenchmarkSpeed reports simulated instructions a second of host time, with caches, TLBs, predictors and
// the cost model.
func BenchmarkSpeed(b *testing.B) {
	for _, r := range speedRuns() {
		b.Run(r.name, func(b *testing.B) {
			b.ReportAllocs()
			r.boot(b, func(run func(uint64) uint64) {
				var done uint64
				for b.Loop() {
					done += run(r.rounds)
				}
				b.ReportMetric(float64(done)/b.Elapsed().Seconds()/1e6, "MIPS")
				b.ReportMetric(float64(b.N)*float64(r.rounds)/b.Elapsed().Seconds()/1e6, "Mrounds/s")
				b.ReportMetric(float64(done)/float64(b.N)/float64(r.rounds), "insns/round")
			})
		})
	}
}

// TestNoAllocation runs each loop for many instructions: the host allocates for the
// call and for timer interrupts, and nothing for an instruction.
func TestNoAllocation(t *testing.T) {
	exptest.Alone(t)
	for _, r := range hosttools.Share(t, "loops, each by every model", 2, speedRuns()) {
		t.Run(r.name, func(t *testing.T) { r.allocations(t) })
	}
}

func (r speedRun) allocations(t *testing.T) {
	const few, tried = 100, 1000
	length := 1000 * uint64(hosttools.Part(t, "thousand instructions of each loop", 1050, 120))
	r.boot(t, func(run func(uint64) uint64) {
		var done uint64
		rounds := length*tried/run(tried) + tried
		allocs := testing.AllocsPerRun(1, func() { done = run(rounds) })
		t.Logf("%.0f allocations in %d instructions", allocs, done)
		require.That(t, done >= length*9/10 && !(allocs > few), "%.0f allocations in %d instructions, want at most %d", allocs, done, few)
	})
}

// BenchmarkExperiment runs the whole main experiment: files read and checked, every point booted,
// measured, and reported.
func BenchmarkExperiment(b *testing.B) {
	for b.Loop() {
		p := require.Must(planning.NewLoader().Plan(exptest.E5410, nil))(b)
		require.NoError(b, reports.Collect(p).Report((&running.Runner{Measure: kinds.Measure}).Run(p)).Err())
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/experiment")
}
