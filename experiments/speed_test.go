package experiments_test

import (
	"errors"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/reports"
	"kprobesim/experiments/running"
	"kprobesim/sim"
)

// speedLoops are the guest's loops for measuring the simulator itself, each in a call of a few
// milliseconds. In chase every load misses the first-level data cache.
var speedLoops = []struct {
	name, symbol string
	rounds       uint64
	table        bool // it follows pointers through a table of chaseBytes
}{
	{"alu", "speed_alu", 20000, false},
	{"chase", "speed_chase", 100000, true},
	{"calls", "speed_calls", 20000, false},
}

const chaseBytes = 4 << 20

// speedISAs are the experiments whose machines run the loops, one an instruction set; prefix names them.
var speedISAs = []struct{ prefix, experiment string }{
	{"", exptest.E5410}, {"i386-", "overhead-xeon-e5410-i386"},
}

// speedSession boots the machine of an experiment, with its whole kernel and all of its timing, and gives
// body a function that runs one call of a loop and returns its instructions.
func speedSession(tb testing.TB, experiment, symbol string, table bool, body func(run func(n uint64) uint64) error) {
	tb.Helper()
	p, err := planning.NewLoader().Plan(experiment, []string{"budget=3600 s"})
	if err != nil {
		tb.Fatal(err)
	}
	err = kinds.Boot(&p.Points[0], func(m *sim.Machine, c *sim.Call) error {
		fn, ok := m.Image().Symbol(symbol)
		if !ok {
			return errors.New("no function " + symbol)
		}
		var at uint64
		if table {
			var err error
			if at, err = m.Alloc(chaseBytes, 4096); err != nil {
				return err
			}
			if _, err = c.InvokeSym("speed_chase_init", at); err != nil {
				return err
			}
		}
		args := []uint64{0, at}
		run := func(n uint64) uint64 {
			args[0] = n
			before := m.CPU(0).Counters().Instructions
			c.Invoke(fn.Addr, args...)
			return m.CPU(0).Counters().Instructions - before
		}
		run(chaseBytes / 64) // once around: caches, predictors and decoded blocks are warm
		return body(run)
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkSpeed reports simulated instructions a second of host time, caches, TLBs, predictors and
// the window in.
func BenchmarkSpeed(b *testing.B) {
	for _, isa := range speedISAs {
		for _, l := range speedLoops {
			b.Run(isa.prefix+l.name, func(b *testing.B) {
				b.ReportAllocs()
				speedSession(b, isa.experiment, l.symbol, l.table, func(run func(uint64) uint64) error {
					var done uint64
					for b.Loop() {
						done += run(l.rounds)
					}
					b.ReportMetric(float64(done)/b.Elapsed().Seconds()/1e6, "MIPS")
					b.ReportMetric(float64(done)/float64(b.N)/float64(l.rounds), "insns/round")
					return nil
				})
			})
		}
	}
}

// TestNoAllocation runs each loop for more than a million instructions: the host allocates for the
// call and for timer interrupts, and nothing for an instruction.
func TestNoAllocation(t *testing.T) {
	exptest.Alone(t)
	for _, isa := range speedISAs {
		for _, l := range speedLoops {
			t.Run(isa.prefix+l.name, func(t *testing.T) { noAllocation(t, isa.experiment, l.symbol, l.table) })
		}
	}
}

func noAllocation(t *testing.T, experiment, symbol string, table bool) {
	const few = 100
	speedSession(t, experiment, symbol, table, func(run func(uint64) uint64) error {
		var done uint64
		allocs := testing.AllocsPerRun(1, func() { done = run(300000) })
		t.Logf("%.0f allocations in %d instructions", allocs, done)
		if done < 1e6 || allocs > few {
			t.Errorf("%.0f allocations in %d instructions, want at most %d in a million", allocs, done, few)
		}
		return nil
	})
}

// BenchmarkExperiment runs the whole main experiment: files read and checked, every point booted,
// measured, and reported.
func BenchmarkExperiment(b *testing.B) {
	for b.Loop() {
		p, err := planning.NewLoader().Plan(exptest.E5410, nil)
		if err != nil {
			b.Fatal(err)
		}
		if err := reports.New(p, (&running.Runner{Measure: kinds.Measure}).Run(p)).Err(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/experiment")
}
