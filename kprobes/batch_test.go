package kprobes

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
	"kprobesim/sim"
	"kprobesim/workloads"
)

// addSites registers probes at the first n sites of a function that has 16, the last one first.
func (l *live) addSites(fn string, n int) (ps []*Probe) {
	l.t.Helper()
	for i := n - 1; i >= 0; i-- {
		p := value(l.k.Add(l.Call, Spec{Symbol: fn, Offset: uint64(i * 8), Handler: "handler_count"}))(l)
		ps = append(ps, p)
	}
	return ps
}

// Three probes become jumps in one pass of the optimizer: one after the other, or step by step together
// in the order of their addresses.
func TestStepsOfBatches(t *testing.T) {
	const cpus = 3
	sync := strings.Repeat(" sync", cpus)
	alone := func(site string) string {
		return "breakpoint" + site + sync + " tail" + site + sync + " first" + site + sync
	}
	for protocol, want := range map[string]string{
		PatchStore:      "whole+2 whole+1 whole+0",
		PatchStop:       "whole+2 whole+1 whole+0" + sync,
		PatchStopEach:   "whole+2" + sync + " whole+1" + sync + " whole+0" + sync,
		PatchBreakpoint: alone("+2") + " " + alone("+1") + " " + alone("+0"),
		PatchBatch: "breakpoint+0 breakpoint+1 breakpoint+2" + sync + " tail+0 tail+1 tail+2" + sync +
			" first+0 first+1 first+2" + sync,
	} {
		o := Default()
		o.Patching = protocol
		bootAll(t, "", cpus, o, func(w *crowd) {
			w.do(w.k.WaitOptimizer(w.Call)) // of probes that the kernel has for itself
			ps := w.addSites("site_5", 3)
			var steps []string
			ids := map[uint64]bool{}
			w.m.Watch(func(e sim.Event) {
				switch e.Kind {
				case EventPatch:
					ids[e.ID] = true
					steps = append(steps, fmt.Sprintf("%s+%d", e.Name, (e.Arg-w.addr("site_5"))/8))
				case EventSync:
					steps = append(steps, "sync")
				}
			})
			w.do(w.k.WaitOptimizer(w.Call))
			got := strings.Join(steps, " ")
			require.That(t, got == want, "%s: steps\n%s\nwant\n%s", protocol, got, want)
			patches := map[bool]int{true: 1, false: 3}[protocol == PatchStop || protocol == PatchBatch]
			require.That(t, len(ids) == patches, "%s: %d patches, want %d", protocol, len(ids), patches)
			for _, p := range ps {
				w.remove(p)
			}
			w.holdNothingLeft()
		})
	}
}

// frozen stops all CPUs but the victim when that has synchronized behind the tails of a patch, and
// counts what it executes alone.
type frozen struct {
	ambush
	left  int // instructions
	tails bool
	alone bool
	counts
}

func (f *frozen) Next(m *sim.Machine, runnable []int) (cpu, steps int) {
	if !f.alone {
		return f.ambush.Next(m, runnable)
	}
	f.left--
	f.alone = f.left > 0
	return f.victim, 1
}

func (f *frozen) event(e sim.Event) {
	switch {
	case e.Kind == EventPatch:
		f.tails = e.Name == "tail"
	case e.Kind == EventSync && e.CPU == f.victim && f.tails:
		f.alone = f.left > 0
	}
}

// Step implements cpus.Observer.
func (f *frozen) Step(s *cpus.Step) {
	if f.alone {
		f.counts.Step(s)
	}
}

// counts counts executions of some instructions.
type counts map[uint64]int

// Step implements cpus.Observer.
func (c counts) Step(s *cpus.Step) {
	if _, ok := c[s.PC]; ok {
		c[s.PC]++
	}
}

// A CPU that runs into breakpoints of a batch, however many there are, goes on in the detour of each
// without asking kprobes; into one that is not of the batch, it asks.
func TestEachBreakpointOfABatchIsFound(t *testing.T) {
	for _, image := range older(kernelsWith(PatchBatch)) { // later ones ask before they look for listeners
		for _, n := range []int{1, 2, 3, 8, 15} {
			o := Default()
			o.Patching, o.Delay, o.Costs = PatchBatch, 20, Costs{}
			f := &frozen{ambush: ambush{victim: 1}, left: 40000}
			bootUnder(t, f, image, 2, o, func(w *crowd) { w.findEach(f, n) })
		}
	}
}

func (w *crowd) findEach(f *frozen, n int) {
	const fn = "site_5"
	other := value(w.k.Add(w.Call, Spec{Symbol: fn, Offset: 15 * 8, Handler: "handler_empty", Post: "post_empty"}))(w)
	ps := w.addSites(fn, n)
	before := w.sum("handler_hits")
	task := value(w.smp.GoOn(w.Call, 1, "loop", func(c Caller) error { return w.loop(c, fn, 5) }))(w)
	w.tasks = append(w.tasks, task)
	w.sleep(2)
	mine, theirs := w.addr("batch_notify"), w.addr("listen")
	own := w.addr("handler_empty")
	f.counts = counts{mine: 0, theirs: 0, own: 0}
	w.m.Watch(f.event)
	w.m.CPU(f.victim).Observe(f)
	w.do(w.k.WaitOptimizer(w.Call))
	w.m.CPU(f.victim).Observe(nil)
	w.end()
	// A hit of the other one is a breakpoint and a step; hits of the batch are breakpoints alone.
	hits := f.counts[own]
	if d := f.counts[mine] - hits*(n+2); hits < 5 || d < -n-2 || d > n+2 || f.counts[theirs]/2 > hits+1 {
		w.t.Errorf("%d in a batch: with %d hits of another probe %d exceptions came, and kprobes was asked %d times",
			n, hits, f.counts[mine], f.counts[theirs])
	}
	if got, want := w.sum("handler_hits")-before, w.calls*uint64(n); got != want {
		w.t.Errorf("%d in a batch: %d handler calls, want %d", n, got, want)
	}
	for _, p := range append(ps, other) {
		w.remove(p)
	}
	w.holdNothingLeft()
}

// More sites than a page has room for are changed in two patches.
func TestBatchesFitAPage(t *testing.T) {
	const n, room = 300, 256
	o := Default()
	o.Patching, o.Batch = PatchBatch, n
	boot(t, o, func(l *live) {
		var ps []uint64
		for _, s := range workloads.Sites()[:n] {
			p := value(l.k.Add(l.Call, Spec{Symbol: s.Symbol, Offset: s.Offset, Handler: "handler_empty"}))(l)
			ps = append(ps, p.Addr)
		}
		was := l.read("site_5", 128)
		firsts := map[uint64]int{}
		l.m.Watch(func(e sim.Event) {
			if e.Kind == EventPatch && e.Name == "first" {
				firsts[e.ID]++
			}
		})
		l.do(l.k.WaitOptimizer(l.Call))
		var sizes []int
		for _, v := range firsts {
			sizes = append(sizes, v)
		}
		slices.Sort(sizes)
		require.That(t, slices.Equal(sizes, []int{n - room, room}), "patches of %d, want %d and %d", sizes, n-room, room)
		for _, p := range ps {
			st, err := l.k.State(p)
			require.Need(t, err == nil && st.Mode == Optimized, "%+v, %v", st, err)
		}
		l.do(l.k.SetOptimization(l.Call, false))
		got := l.read("site_5", 128)
		require.That(t, got == was, "text %s without jumps, was %s", got, was)
		l.do(l.k.Unregister(l.Call, Kprobe, ps...))
	})
}
