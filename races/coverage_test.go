package races

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/kprobes"
	"kprobesim/sim"
	"kprobesim/smp"
)

// cellsOf lists cells by their names.
func cellsOf(c Covered) string {
	var cov Coverage
	cov.add(&Outcome{Covered: c}, 1)
	s := ""
	for i := range protocolSteps {
		for p := range positions {
			if cov.cell(i, p) > 0 {
				s += fmt.Sprintf("%s, %s\n", protocolSteps[i].name, positionNames[p])
			}
		}
	}
	return s
}

// toyStep is a step of the toy's function as it was compiled, or of another place.
func toyStep(cpu int, pc uint64) *cpus.Step {
	s := &cpus.Step{CPU: cpu, PC: pc}
	if c := pc - toyAt; c < uint64(len(toyCode)) {
		s.Code = toyCode[c:][:toyCode[c]>>4]
	}
	return s
}

// TestCoverageOfAToy has one CPU make steps while the other stands at known places.
func TestCoverageOfAToy(t *testing.T) {
	g := newToyGuest()
	next, context := [2]uint64{}, [2]uint8{}
	x := newCovering(g.checker, func(cpu int) (uint64, uint8) { return next[cpu], context[cpu] })
	x.handlers = []span{{toyHandler2, toyHandler2 + 2}}
	tell := func(cpu int, kind sim.EventKind, name string, arg uint64) {
		e := sim.Event{CPU: cpu, Kind: kind, Name: name, ID: arg, Arg: arg}
		g.event(e)
		x.event(e)
	}
	run := func(cpu int, pc uint64) {
		g.syncs[cpu]++ // who enters a slot has to
		x.Step(toyStep(cpu, pc))
	}
	for _, tt := range []struct {
		do   func()
		want string
	}{
		{func() { // as long as no task is told of
			run(1, toyAt)
			tell(0, kprobes.EventProbe, "registered", toyAt)
			tell(1, kprobes.EventSync, "", 0)
			tell(0, kprobes.EventPatch, "no such step", toyAt)
		}, "probe registered, idle\na CPU synchronized, elsewhere\n"},
		{func() { // the other CPU executes the first byte in front of its store, and the bytes behind it after theirs
			tell(1, sim.EventTask, "caller", 2)
			run(1, toyAt)
			next[1] = toyAt + 1
			tell(0, kprobes.EventPatch, "breakpoint", toyAt)
			next[1] = toyAt
			tell(0, kprobes.EventPatch, "tail", toyAt+1)
			run(1, toyAt+1)
			next[1] = toyAt + 9
			tell(0, kprobes.EventPatch, "first", toyAt)
			run(0, toyAt) // the CPU that has stored it
		}, "breakpoint stored, region\nbreakpoint stored, fetch before\ntail stored, site\ntail stored, fetch after\nfirst byte stored, function\n"},
		{func() { // what the CPU itself has fetched, of its tasks
			tell(1, sim.EventTask, "idle", 0)
			run(0, toyAt)
			tell(0, kprobes.EventPatch, "breakpoint", toyAt)
			tell(1, sim.EventTask, "caller", 2)
		}, "breakpoint stored, function\n"},
		{func() { // the same step, seen from what the CPU is in the middle of
			next[1] = 0
			for context[1] = cpus.Breakpoint; context[1] < cpus.Contexts; context[1]++ {
				tell(0, kprobes.EventProbe, "optimized", toyAt)
			}
			context[1] = cpus.Breakpoint
			next[1] = toyHandler2 + 1
			tell(0, kprobes.EventProbe, "optimized", toyAt)
			context[1] = cpus.NoException
		}, "jump in place, handler\njump in place, hit\njump in place, single-step\njump in place, exception\njump in place, interrupt\n"},
		{func() { // a slot between its two ends
			tell(0, kprobes.EventSlot, "taken", 0x9000)
			next[1] = 0x9001
			run(1, 0x9000)
			tell(0, smp.EventGraceBegin, smp.PeriodSched, 0)
			tell(0, kprobes.EventSlot, "freed", 0x9000)
		}, "slot taken, handler\nslot taken, fetch after\nRCU-sched begins, slot\nslot freed, slot\nslot freed, fetch before\n"},
		{func() { // a task is in a detour, calls what is elsewhere, and is preempted there; the stopper comes
			tell(0, kprobes.EventDetour, "taken", 0xa000)
			run(1, 0xa000)
			next[1] = 0xa001
			tell(0, kprobes.EventProbe, "unoptimizing", toyAt)
			next[1] = 0
			tell(0, smp.EventGraceBegin, smp.PeriodTasks, 0)
			tell(1, sim.EventTask, "migration/1", 3)
			tell(0, smp.EventStop, "run", 0)
			tell(1, sim.EventTask, "caller", 2)
			run(1, toyAt)
			tell(0, smp.EventStop, "exit", 0)
		}, "detour taken, slot\ndetour taken, fetch after\njump to go, detour\nstop: run, stopper\nstop: run, off CPU\nstop: exit, elsewhere\nRCU-tasks begins, detour\n"},
	} {
		tt.do()
		c, _ := x.take()
		require.Equal(t, cellsOf(c), tt.want, "cells are")
	}
	c, _ := x.take()
	require.Equal(t, cellsOf(c), "", "cells of a schedule without steps are")
}

// TestBytesOfSteps wants a step to count for the bytes that it stores.
func TestBytesOfSteps(t *testing.T) {
	g := newToyGuest()
	g.arch.Breakpoint = []byte{toyBreak, 0}
	x := newCovering(g.checker, func(int) (uint64, uint8) { return 0, 0 })
	counts := map[string]int{"tail": toyJumpSize - 1, "whole": toyJumpSize, "taken": 1, "freed": 1} // of others the breakpoint's
	for i, s := range protocolSteps {
		at, want := uint64(toyAt), cmp.Or(counts[s.event], 2)
		switch s.event {
		case "tail":
			at++
		case "taken", "freed":
			at = toyDetour
		}
		if !s.stores {
			continue
		}
		x.event(sim.Event{Kind: s.kind, Name: s.event, Arg: at})
		got := 0
		for addr := at - 8; addr < at+8; addr++ {
			if r := x.replaced[addr]; r != nil && r.last == i+1 && addr >= at {
				got++
			}
		}
		require.Equal(t, got, want, "%s: bytes from %#x", s.name, at)
		_, _ = x.take()
	}
}

// TestCoverageOfARow prints cells and pairs that are known, for people and for programs.
func TestCoverageOfARow(t *testing.T) {
	cell := func(step string, at ...position) (c Covered) {
		i := slices.IndexFunc(protocolSteps[:], func(s protocolStep) bool { return s.name == step })
		for _, p := range at {
			c.add(i, p)
		}
		return c
	}
	r := Row{Scenario: &Scenario{Name: "s"}, Variant: &Variant{Name: "v"}, Tally: Tally{Schedules: 9, Steps: 8, Calls: 7, Hits: 6, Violations: 5}}
	c := &r.Tally.Coverage
	stores, both := c.Orders()
	require.That(t, stores+both+c.Cells() == 0, "nothing is known: %d, %d and %d cells", stores, both, c.Cells())
	many := []Pair{{"f+1", "g+1"}, {"h+1", "g+1"}, {"h+2", "g+1"}}
	for i := range mostPairs {
		many = append(many, Pair{fmt.Sprintf("a%02d", i), "b"})
	}
	for i, o := range []Outcome{
		{Covered: cell("slot taken", atIdle, fetchedBefore), Pairs: many},
		{Covered: cell("slot taken", atIdle)},
		{Covered: cell("slot taken", atOffCPU)},
		{Covered: cell("slot freed", fetchedBefore, fetchedAfter, atFunction)},
		{Covered: cell("tail stored", fetchedAfter)},
		{Covered: cell("jump gone", atIdle)},
		{Covered: cell("jump gone", atIdle)},
	} {
		c.add(&o, uint64(i+1))
	}
	var b strings.Builder
	r.coverage(&b, &Options{Coverage: true})
	want := `
s/v: 8 cells and 23 orders of accesses, the last new one in schedule 6 of 9; 1 of 3 kinds of stores came in front of a fetch and behind one
         step  idle  function  off CPU  fetch before  fetch after
   slot taken     2         -        1             1            -
  tail stored     -         -        -             -            1
    jump gone     2         -        -
   slot freed     -         1        -             1            1
23 pairs of accesses to a word by two CPUs, 0 of them in both orders; in one order only
     2  h, then g
     1  f, then g
`
	for i := range mostPairs - 2 {
		want += fmt.Sprintf("     1  a%02d, then b\n", i)
	}
	require.Equal(t, b.String(), want+"  and 2 more pairs of functions\n", "the report is")
	var j bytes.Buffer
	c.Pairs = c.Pairs[:1]
	require.NoError(t, ReportCoverageJSON(&j, []Row{r}))
	var short bytes.Buffer
	require.NoError(t, json.Compact(&short, j.Bytes()))
	require.Equal(t, short.String(), `[{"scenario":"s","variant":"v","schedules":9,"steps":8,"calls":7,"hits":6,"violations":5,"last_new":6,"cells":[`+
		`{"step":"slot taken","position":"idle","schedules":2},{"step":"slot taken","position":"off CPU","schedules":1},{"step":"slot taken","position":"fetch before","schedules":1},`+
		`{"step":"tail stored","position":"fetch after","schedules":1},{"step":"jump gone","position":"idle","schedules":2},`+
		`{"step":"slot freed","position":"function","schedules":1},{"step":"slot freed","position":"fetch before","schedules":1},{"step":"slot freed","position":"fetch after","schedules":1}],`+
		`"pairs":[{"first":"f+1","then":"g+1"}]}]`, "for programs it is")
}

// labOf is a lab of a scenario of this program, for searches with batches of another size.
func labOf(t *testing.T, scenario, variant string, opt Options) *lab {
	t.Helper()
	s := require.Must(Load(scenario))(t)
	l := require.Must(newLab(s, require.Must(s.Variant(variant))(t), opt.Mutant))(t)
	l.opt = opt
	return l
}

// TestSilent knows the protocols that change text by one store and tell nobody: by their name, or as what an instruction set does first.
func TestSilent(t *testing.T) {
	for variant, want := range map[string]bool{"ppc64-store": true, "ppc64-stop_machine": false, "breakpoint": false, "arm": false} {
		l := labOf(t, "optimize", variant, Options{})
		require.Equal(t, l.silent(), want, "%s is silent", variant)
		plain := *l.v
		plain.Patching, l.v = "", &plain
		require.Equal(t, l.silent(), strings.HasPrefix(variant, "ppc64"), "%s without a protocol of its own is silent", variant)
	}
}

// coverageOf searches, and returns both reports of what was covered.
func coverageOf(t *testing.T, l *lab, opt Options) (Tally, string) {
	t.Helper()
	rows := []Row{{Scenario: l.s, Variant: l.v, Tally: require.Must(search(&opt, l.run))(t)}}
	var b bytes.Buffer
	require.NoError(t, Report(&b, opt, rows))
	require.NoError(t, ReportCoverageJSON(&b, rows))
	return rows[0].Tally, b.String()
}

// TestCoverageIsTheSameEverywhere searches with several workers, for all instruction sets. Asking for coverage changes no schedule.
func TestCoverageIsTheSameEverywhere(t *testing.T) {
	for _, x := range hosttools.Share(t, "policies and variants", 3, [][2]string{
		{Random, "preempt-breakpoint"},
		{Exhaustive, "arm"},
		{Random, "i386-breakpoint"},
		{Random, "ppc64-stop_machine"},
		{PCT, "preempt-breakpoint"},
		{Random, "arm"},
	}) {
		opt := Options{Schedules: 20, Policy: x[0], Depth: 3, Preemptions: 1, Coverage: true, Workers: 1, batch: 7}
		l := labOf(t, "optimize", x[1], opt)
		one, want := coverageOf(t, l, opt)
		opt.Workers = 3
		_, got := coverageOf(t, l, opt)
		require.Equal(t, got, want, "%s: three workers report", x)
		require.That(t, one.Coverage.Cells() > 50 && strings.Contains(want, `"position": "detour"`), "%s: %s", x, want)
		opt.Coverage = false
		plain, _ := coverageOf(t, labOf(t, "optimize", x[1], opt), opt)
		one.Coverage = Coverage{}
		for i := range one.Found {
			one.Found[i].Covered, one.Found[i].Pairs = Covered{}, nil
		}
		require.Equal(t, fmt.Sprintf("%+v", plain), fmt.Sprintf("%+v", one), "%s: without coverage", x)
	}
}

// TestNothingNew ends searches of which it is known which schedules add cells.
func TestNothingNew(t *testing.T) {
	adds := map[uint64]int{0: 1, 2: 2, 9: 3, 12: 1, 30: 4} // the cell of a schedule, where it has one
	run := func(_ chooser, first, count uint64) (out []Outcome, err error) {
		for n := first; n < first+count; n++ {
			o := Outcome{N: n}
			if c, ok := adds[n]; ok {
				o.Covered.add(c, atSite)
			}
			out = append(out, o)
		}
		return out, nil
	}
	for _, tt := range []struct{ nothing, ends, newest uint64 }{{0, 50, 31}, {1, 2, 1}, {6, 9, 3}, {7, 17, 10}, {20, 30, 10}, {21, 50, 31}, {25, 50, 31}} {
		for _, workers := range []int{1, 3} {
			opt := Options{Schedules: 50, Policy: Random, Coverage: true, NothingNew: tt.nothing, Workers: workers, batch: 8}
			got := require.Must(search(&opt, run))(t)
			require.That(t, got.Schedules == tt.ends && got.Coverage.Newest == tt.newest, "until nothing new in %d: %d schedules, the last new in %d; want %+v",
				tt.nothing, got.Schedules, got.Coverage.Newest, tt)
		}
	}
}

// TestMachineEndsWithNothingNew wants a machine to run no schedules that do not count.
func TestMachineEndsWithNothingNew(t *testing.T) {
	opt := Options{Schedules: 1000, Policy: Random, NothingNew: 3}
	out := require.Must(labOf(t, "optimize", "breakpoint", opt).run(newRandom(1), 0, 1000))(t)
	whole, _ := coverageOf(t, labOf(t, "optimize", "breakpoint", opt), Options{Schedules: 1000, Seed: 1, Policy: Random, NothingNew: 3})
	require.That(t, uint64(len(out)) == whole.Schedules && whole.Schedules == whole.Coverage.Newest+3 && len(out) > 3, "a machine runs %d schedules; the search ends after %d, the last new one is %d",
		len(out), whole.Schedules, whole.Coverage.Newest)
}
