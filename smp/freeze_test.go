package smp

import (
	"testing"

	"kprobesim/internal/require"
	"kprobesim/sim"
)

// TestFrozenTasksAreAtKnownPoints: a task that was preempted in the middle of a loop is not frozen there, and all go on
// afterwards. While tasks are held no other than the freezer and the stoppers run.
func TestFrozenTasksAreAtKnownPoints(t *testing.T) {
	b := run(t, preempt, Options{CPUs: 2, Tick: true}, func(b *board) {
		p := b.preempt()
		b.do(b.k.FreezeTasks(b, true))
		require.That(t, p.state == "begun", "the mistake is not made: the preempted task has gone on")
		b.do(b.k.FreezeTasks(b, false))
		require.That(t, p.state == "done", "a preempted task was frozen in the middle of its loop")
		held := 0
		b.k.freeze(b, false)
		b.do(b.k.wait(b, &b.k.freezer.q, func() bool { return len(b.k.freezer.left) == 0 }, b.k.freezer.holders))
		for _, task := range b.k.order {
			require.Equal(t, b.k.mem.Load(task.addr, b.k.l.holdout), 0, "task %s is asked to give up its CPU", task.name)
		}
		if held = len(b.k.freezer.held); held != 1 {
			t.Errorf("%d tasks are held, want the one that takes turns", held)
		}
		switches := len(b.events)
		b.do(b.k.Sleep(b, 3))
		for _, e := range b.events[switches:] {
			require.That(t, e.Kind != sim.EventTask || e.Name != "other", "a frozen task runs")
		}
		b.k.thaw(b)
		p.over = true
	})
	b.holdPeriods("freeze")
}

// TestWokenTasksStayFrozen: a sleeper whose time has come does not run before the others may.
func TestWokenTasksStayFrozen(t *testing.T) {
	run(t, preempt, Options{CPUs: 2, Tick: true}, func(b *board) {
		woken := false
		task, err := b.k.GoOn(b, 1, "sleeper", func(c Caller) error {
			b.do(b.k.Sleep(c, 3))
			woken = true
			return nil
		})
		b.do(err)
		b.do(b.k.Sleep(b, 1))
		b.k.freeze(b, false)
		b.do(b.k.Sleep(b, 10))
		require.That(t, !woken && len(b.k.freezer.left) == 0, "the sleeper has gone on: %v; %d tasks are not frozen", woken, len(b.k.freezer.left))
		b.k.thaw(b)
		b.do(b.k.Join(b, task))
		require.That(t, woken, "the sleeper has not gone on")
	})
}
