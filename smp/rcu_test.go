package smp

import (
	"testing"

	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// TestGracePeriodWaitsForReaders: a grace period waits for a CPU that executes a loop and lets nobody run, and not for idle ones.
func TestGracePeriodWaitsForReaders(t *testing.T) {
	eachSize(t, []int{2, 4, 16}, func(t *testing.T, name string, cpus int) {
		run(t, plain, Options{CPUs: cpus}, func(b *board) {
			begin := b.m.Now()
			b.do(b.k.SynchronizeSched(b))
			d := b.m.Now() - begin
			require.That(t, d <= b.k.jiffy/2, "with idle CPUs it takes %d cycles", d.Cycles())
			var ended clock.Ticks
			begun := false
			_, err := b.k.GoOn(b, cpus-1, "reader", func(c Caller) error {
				begun = true
				b.call(c, "loop_busy", 200000)
				ended = b.m.Now()
				return nil
			})
			b.do(err)
			for !begun {
				b.do(b.k.Schedule(b))
			}
			b.do(b.k.SynchronizeSched(b))
			require.That(t, ended != 0 && b.m.Now() >= ended, "the grace period is over at %d, the reader at %d", b.m.Now(), ended)
		})
	})
}

// TestGracePeriodEndsWithRescheduling: CPUs that are asked to reschedule end a grace period although their loops go on.
func TestGracePeriodEndsWithRescheduling(t *testing.T) {
	eachSize(t, []int{2, 4}, func(t *testing.T, name string, cpus int) {
		for _, force := range []int64{-1, 0, 10} {
			b := run(t, name, Options{CPUs: cpus, ForceQuiescent: force}, func(b *board) {
				over := false
				tasks := b.start(cpus-1, func(c Caller, _ int) {
					for !over {
						b.call(c, "loop_counted", 100)
					}
				})
				b.do(b.k.Sleep(b, 1))
				begin := b.k.Jiffies()
				b.do(b.k.SynchronizeSched(b))
				took, want := b.k.Jiffies()-begin, max(force, 0)
				if force == 0 {
					want = 3
				}
				require.That(t, took >= want && took <= want+1, "forced after %d: took %d jiffies", force, took)
				over = true
				b.join(tasks)
			})
			b.holdPeriods("sched")
		}
	})
}

// holdPeriods checks that grace periods begin and end in turn, and that each CPU's quiescent state lies between.
func (b *board) holdPeriods(name string) {
	b.t.Helper()
	open := uint64(0)
	for _, e := range b.events {
		if e.Name != name {
			continue
		}
		switch e.Kind {
		case EventGraceBegin:
			require.Equal(b.t, open, 0, "period %d begins in", e.ID)
			open = e.ID
		case EventGraceEnd, EventQuiescent:
			require.That(b.t, open == e.ID, "%s of %d in %d", e.Kind, e.ID, open)
			if e.Kind == EventGraceEnd {
				open = 0
			}
		}
	}
}

// TestGracePeriodsFollowEachOther: who asks while a grace period runs waits for the next one.
func TestGracePeriodsFollowEachOther(t *testing.T) {
	eachSize(t, []int{2, 4}, func(t *testing.T, name string, cpus int) {
		b := run(t, name, Options{CPUs: cpus}, func(b *board) {
			begun, over := false, false
			_, err := b.k.GoOn(b, 1, "reader", func(c Caller) error {
				begun = true
				for !over {
					b.call(c, "loop_busy", 20000)
					b.do(b.k.Schedule(c))
				}
				return nil
			})
			b.do(err)
			for !begun {
				b.do(b.k.Schedule(b))
			}
			tasks := b.start(3, func(c Caller, i int) {
				b.do(b.k.SynchronizeSched(c))
				b.say("%d", i)
			})
			b.join(tasks)
			over = true
			require.That(t, len(b.log) == 3, "returned %q", b.log)
		})
		b.holdPeriods("sched")
	})
}

// preempted is a task named preempted that is in loop_busy on CPU 1 and waits there for its turn, and a task that
// takes turns with it until over is set.
type preempted struct {
	state string // "begun", and "done" when it is behind the loop
	over  bool
}

// preempt starts both, and waits until the first one is preempted.
func (b *board) preempt() *preempted {
	p := &preempted{}
	_, err := b.k.GoOn(b, 1, "preempted", func(c Caller) error {
		p.state = "begun"
		b.call(c, "loop_busy", 300000)
		p.state = "done"
		return nil
	})
	b.do(err)
	_, err = b.k.GoOn(b, 1, "other", func(c Caller) error {
		for !p.over {
			b.call(c, "loop_counted", 100)
		}
		return nil
	})
	b.do(err)
	for p.state == "" || !b.k.cpus[1].queue[0].queued {
		b.do(b.k.Sleep(b, 1))
	}
	return p
}

// TestTasksPeriodWaitsForThePreempted: a preempted task holds a grace period of the tasks up, though not one of RCU-sched.
func TestTasksPeriodWaitsForThePreempted(t *testing.T) {
	b := run(t, preempt, Options{CPUs: 2, Tick: true}, func(b *board) {
		p := b.preempt()
		b.do(b.k.SynchronizeSched(b))
		require.That(t, p.state == "begun", "RCU-sched has waited for a preempted task")
		b.do(b.k.SynchronizeTasks(b))
		require.That(t, p.state == "done", "the tasks flavour has not waited for a preempted task")
		p.over = true
	})
	b.holdPeriods("tasks")
}
