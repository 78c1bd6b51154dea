package cpustest

import (
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/host"
)

// far is a time that no test reaches.
const far clock.Ticks = 1 << 60

// ways are the ways to execute a program up to the native address at its end.
var ways = []struct {
	name string
	run  func(c cpus.CPU)
}{
	{"run", func(c cpus.CPU) { byLimit(c, 1e8) }},
	{"limit", func(c cpus.CPU) { byLimit(c, 300) }},
	{"steps", func(c cpus.CPU) { bySteps(c, 1) }},
	{"turns", func(c cpus.CPU) { bySteps(c, 7) }},
	{"observed", func(c cpus.CPU) {
		c.Observe(observer{})
		byLimit(c, 1e8)
	}},
}

type observer struct{}

// Step implements cpus.Observer.
func (observer) Step(*cpus.Step) {}

// byLimit runs for a time again and again. A timer that is set ends a run early, too.
func byLimit(c cpus.CPU, each clock.Ticks) {
	for c.Run(c.Now()+each).Reason == cpus.Limit {
	}
}

func bySteps(c cpus.CPU, n int) {
	for {
		if _, e := c.Steps(n, far); e.Reason != cpus.Limit {
			return
		}
	}
}

// InEveryWay executes a program, whose name is for messages, in every way and by some models: in one run, in
// short ones, by steps of one and of seven instructions, and observed. Registers and memory are the same after
// each, which unlike compares and returns "" or the difference; and so is the time of a model. The same holds of
// CPUs that execute without their cost model at first. Start makes a CPU that stands at the program's first
// instruction, ended returns "" or why the program is not at its end.
func InEveryWay[C cpus.CPU](t *testing.T, name string, models []string, start func(model string) C, ended func(C) string, unlike func(a, b C) string) {
	t.Helper()
	first := start(models[0])
	byLimit(first, 1e8)
	code := host.Code
	defer func() { host.Code = code }()
	for _, model := range models {
		var now clock.Ticks
		for i := range 2 * len(ways) { // the second time what is executed is soon code of the host
			way := ways[i%len(ways)]
			host.Code = code
			if i >= len(ways) {
				host.Code.Blocks = 1
			}
			c := start(model)
			way.run(c)
			if why := ended(c); why != "" {
				t.Fatalf("%s, %s, %s: %s", name, model, way.name, why)
			}
			if now == 0 {
				now = c.Now()
			}
			if d := unlike(first, c); d != "" {
				t.Errorf("%s, %s, %s: %s", name, model, way.name, d)
			}
			if c.Now() != now {
				t.Errorf("%s, %s, %s: ends at %d ticks, else at %d", name, model, way.name, c.Now(), now)
			}
		}
		untimed(t, name+", "+model, func() C { return start(model) }, ended, func(c C) string { return unlike(first, c) })
	}
}

// untimed is InEveryWay without a cost model for a while: in long runs, in short ones and by turns.
func untimed[C cpus.CPU](t *testing.T, name string, start func() C, ended, unlike func(c C) string) {
	t.Helper()
	const each, until = 7, 2000
	var now clock.Ticks
	for _, way := range []int{0, 1, 3} {
		c, name := start(), name+", "+ways[way].name+", untimed"
		c.Untimed(each, until)
		ways[way].run(c)
		if why := ended(c); why != "" {
			t.Fatalf("%s: %s", name, why)
		}
		if d := unlike(c); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if now == 0 {
			now = c.Now()
		}
		if c.Now() != now {
			t.Errorf("%s: ends at %d ticks, else at %d", name, c.Now(), now)
		}
	}
}
