package kprobes

import (
	"fmt"
	"slices"
	"testing"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/sim"
	"kprobesim/smp"
)

// ledger is the guest's heap with a list of what is allocated.
type ledger struct {
	Guest
	used map[uint64]bool
}

func (g *ledger) Alloc(size, align uint64) (uint64, error) {
	at, err := g.Guest.Alloc(size, align)
	if err == nil {
		g.used[at] = true
	}
	return at, err
}

func (g *ledger) Free(at uint64) error {
	if !g.used[at] {
		return fmt.Errorf("free of %#x, which is not allocated", at)
	}
	delete(g.used, at)
	return g.Guest.Free(at)
}

// keepBooks lists what is allocated from now on.
func (w *crowd) keepBooks() *ledger {
	books := &ledger{w.k.m.g, map[uint64]bool{}}
	w.k.m.g = books
	return books
}

// balance expects that everything was freed.
func (g *ledger) balance(t *testing.T) {
	t.Helper()
	require.That(t, len(g.used) == 0, "%d allocations are left: %v", len(g.used), g.used)
}

// A CPU gives a return instance back to a probe that is being taken apart: it has read that the
// instance belongs to it and waits in front of the list of free ones.
func TestInstanceComesBackToAProbeThatGoes(t *testing.T) {
	// The old ones have one lock for all of it. Where there are no jprobes, the free ones are in a pool without a lock to wait for.
	able := slices.DeleteFunc(kernels(), func(o kernel) bool { return o.old() || !o.jprobes() })
	for _, o := range hosttools.Share(t, "kernels", 2, able) {
		t.Run(o.name, func(t *testing.T) {
			a := &ambush{victim: 1, patience: 40}
			bootUnder(t, a, o.image, 2, o.opt, func(w *crowd) { giveBack(t, w, a) })
		})
	}
}

func giveBack(t *testing.T, w *crowd, a *ambush) {
	books := w.keepBooks()
	w.begin("bench_target", w.call("bench_target", 5, 77)) // so that no CPU idles
	p := value(w.k.Add(w.Call, Spec{Kind: Kretprobe, Symbol: "schedule", Handler: "ret_count", MaxActive: 12}))(w)
	task, err := w.smp.GoOn(w.Call, a.victim, "sleeper", func(c smp.Caller) error {
		for !w.done {
			if err := w.smp.Sleep(c, 20); err != nil {
				return err
			}
		}
		return nil
	})
	w.do(err)
	w.tasks = append(w.tasks, task)
	w.sleep(8)
	w.m.Watch(giveBackStage(a, w.addr("lock_free_instances")))
	remover, err := w.smp.GoOn(w.Call, 0, "remover", func(c smp.Caller) error {
		return w.k.Remove(c, p)
	})
	w.do(err)
	w.do(w.smp.Join(w.Call, remover))
	w.end()
	// The optimizer and the stoppers sleep in schedule, too. Another jump has them return.
	w.remove(w.add(Spec{Symbol: "bench_target"}))
	w.sleep(2)
	require.That(t, a.held && a.released, "the stage was not reached: held %v, released %v", a.held, a.released)
	w.holdNothingLeft()
	books.balance(t)
}

// giveBackStage lays the ambush when the grace period of an unregistration is over: the sleeper's
// instance is still out then.
func giveBackStage(a *ambush, at uint64) func(sim.Event) {
	gone, period := false, uint64(0)
	return func(e sim.Event) {
		switch {
		case e.Kind == EventProbe && e.Name == "unregistered":
			gone = true
		case e.Kind == smp.EventGraceBegin && e.Name == "sched" && gone && period == 0:
			period = e.ID
		case e.Kind == smp.EventGraceEnd && e.Name == "sched" && e.ID == period && a.at == 0:
			a.at, a.hurry = at, true
		}
	}
}
