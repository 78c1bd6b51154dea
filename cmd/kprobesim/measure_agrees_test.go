package main

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/distro"
	"kprobesim/experiments/planning"
	"kprobesim/internal/clock"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/results/measured"
	"kprobesim/sim"
)

// TestMeasureAgrees has packaged kernels insert the module that times hits. What it reads off the time-stamp counter agrees
// with the simulator's clock within 3 %, for each loop with and without probes. Each probe is hit as often as the module says, by as many exceptions as
// its kind has.
func TestMeasureAgrees(t *testing.T) { measureAgrees(t, "vmlinuz*", "b hit as k", "rb hit as k") }

// TestMeasureAgreesAboutBoosting has a kernel without preemption do so.
func TestMeasureAgreesAboutBoosting(t *testing.T) {
	measureAgrees(t, "more/vmlinuz-5.10*", "rk hit as b")
}

// measureAgrees wants kernels of a pattern to have all kinds of hits but some.
func measureAgrees(t *testing.T, pattern string, absent ...string) {
	for _, file := range hosttools.Kernels(t, pattern, "the module that times hits, against the simulator's own account") {
		if planning.Headers(file, strings.TrimPrefix(filepath.Base(file), "vmlinuz-")) == "" {
			hosttools.Missing(t, "the module that times hits for "+file, "no headers of the kernel, make or gcc-12")
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			const repeats = 2
			o := &measureOptions{kernel: file}
			i := require.Must(o.insertion("calls=20 repeats=2"))(t)
			mach := require.Must(planning.NewLoader().Machine(map[int]string{64: "xeon-e5410", 32: "xeon-e5410-i386"}[i.kernel.Image.Bits], "", nil))(t)
			c, own := i.config(mach), &account{}
			c.Attach = func(m *sim.Machine) func(error) {
				m.CPU(0).ObserveCode(own, modulesArea(i.kernel.Image.Bits), false)
				return func(error) {}
			}
			m := require.Must(distro.RunTimed(c, measured.Begin))(t)
			table, err := measured.Read(m.Console())
			require.Need(t, err == nil, "%v; the console:\n%s", err, m.Console())
			checkKinds(t, table, absent)
			own.compare(t, table, repeats+1)
		})
	}
}

// kindsOfHits has the kinds of the module, in its order.
var kindsOfHits = []string{"f", "e", "k", "b", "o", "rf", "re", "rk", "rb", "ro"}

// lacks tells whether a kernel has no hits of a kind.
func lacks(table *measured.Table, kind string) bool {
	return slices.ContainsFunc(table.Absent, func(line string) bool { return strings.HasPrefix(line, kind+" ") })
}

// checkKinds wants each kind of hit but some, with one to sixteen probes and both handlers.
func checkKinds(t *testing.T, table *measured.Table, absent []string) {
	t.Helper()
	n := map[string]int{}
	for _, r := range table.Rows {
		n[r.Kind]++
	}
	for _, kind := range kindsOfHits {
		want := 10
		if lacks(table, kind) {
			want = 0
		}
		require.Equal(t, n[kind], want, "rows of %s", kind)
	}
	require.That(t, slices.Equal(table.Absent, absent), "not there: %q, want %q", table.Absent, absent)
}

// modulesArea is where a kernel puts the code of modules, slots and detours, and no code of its own.
func modulesArea(bits int) [][2]uint64 {
	if bits == 32 {
		return [][2]uint64{{0xe0000000, 0xff000000}}
	}
	return [][2]uint64{{0xffffffffc0000000, 0xffffffffff000000}}
}

// account is the simulator's own account of the loops between two readings of the time-stamp counter.
type account struct {
	loops   []timedLoop
	running bool
}

// timedLoop is one of them: when it began, what it took, and which instructions were executed how often.
type timedLoop struct {
	begin, took clock.Ticks
	exceptions  int64
	at          map[uint64]*executed
}

type executed struct {
	code  string
	times int64
}

// readCounter is the instruction that reads the counter (SDM vol. 2).
const readCounter = "\x0f\x31"

// Step implements cpus.Observer.
func (a *account) Step(s *cpus.Step) {
	code := string(s.Code)
	switch {
	case code == readCounter && !a.running:
		a.loops = append(a.loops, timedLoop{begin: s.End, at: map[uint64]*executed{}})
		a.running = true
		return
	case !a.running:
		return
	}
	l := &a.loops[len(a.loops)-1]
	if code == readCounter {
		l.took, a.running = s.End-l.begin, false
		return
	}
	e := l.at[s.PC]
	if e == nil {
		e = &executed{code: code}
		l.at[s.PC] = e
	}
	if e.times++; s.Exception != "" {
		l.exceptions++
	}
}

// compare goes through the rows in their order. A loop runs once to get warm and then as often as it is repeated.
func (a *account) compare(t *testing.T, table *measured.Table, runs int) {
	t.Helper()
	rest := a.loops[runs:] // behind the clock's
	next := func() (l []timedLoop) {
		require.Need(t, len(rest) >= runs, "the module has rows of loops that the simulator has not seen")
		l, rest = rest[1:runs], rest[runs:]
		slices.SortFunc(l, func(x, y timedLoop) int { return int(x.took - y.took) })
		return l
	}
	kinds := kindsOfHits
	for i := range table.Rows {
		r := &table.Rows[i]
		for ; kinds[0] != r.Kind; kinds = kinds[1:] {
			if lacks(table, kinds[0]) {
				next() // its loop without probes
			}
		}
		base, with := next(), next()
		mid := (len(base) - 1) / 2
		compareRow(t, r, &base[mid], &with[mid])
	}
	require.That(t, len(rest) == runs, "%d loops are left, want the %d of the clock", len(rest), runs)
}

// exceptionsOf is how many exceptions a hit has at its entry. Nothing that a return probe does behind that takes one.
func exceptionsOf(entry string) int64 {
	return map[string]int64{"f": 0, "e": 1, "k": 2, "b": 1, "o": 0}[entry]
}

// compareRow holds a row against the account of two loops. A probe is where an instruction is another one than without probes.
func compareRow(t *testing.T, r *measured.Row, base, with *timedLoop) {
	t.Helper()
	var arrivals int64
	for pc, e := range with.at {
		if b := base.at[pc]; b != nil && b.code != e.code {
			arrivals += e.times
		}
	}
	entry, returns := strings.CutPrefix(r.Kind, "r")
	places := int64(r.Probes)
	if returns || entry == "f" {
		places = 1 // all at the start
	}
	require.That(t, arrivals == r.Calls*places && r.Hits == r.Calls*int64(r.Probes) && with.exceptions == arrivals*exceptionsOf(entry), "%s with %d: %d arrivals, %d exceptions and %d hits in %d calls", r.Kind, r.Probes, arrivals, with.exceptions, r.Hits, r.Calls)
	said := float64(r.With.Median-r.Base.Median) / float64(r.Hits)
	want := float64(with.took-base.took) / float64(clock.PerCycle) / float64(r.Hits)
	require.That(t, !(math.Abs(said-want) > 0.03*want), "%s with %d, handler %s: the module says %.1f cycles a hit, the simulator %.1f", r.Kind, r.Probes, r.Handler, said, want)
}
