package smp

import (
	"errors"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

func TestSchedulingWhileAtomic(t *testing.T) {
	for _, s := range []struct {
		name, want string
		do         func(b *board)
	}{
		{"interrupts off", "calls schedule() with interrupts disabled", func(b *board) {
			b.call(b, "irq_disable_save")
			b.do(b.k.Sleep(b, 1))
		}},
		{"interrupt", "calls schedule() in an interrupt", sleepWith(0x10000)},
		{"interrupt without preemption", "calls schedule() in an interrupt", sleepWith(0x10001)},
		{"no preemption", "calls schedule() with preemption disabled 2 times", sleepWith(2)},
		{"handler", "calls schedule() in a handler of mine", func(b *board) {
			b.k.Atomic(func(int) (string, bool) { return "in a handler of mine", true })
			b.do(b.k.Sleep(b, 1))
		}},
		{"stopped machine", "task migration/0 on cpu 0 calls schedule() with interrupts disabled", func(b *board) {
			err := b.k.StopMachine(b, func(c Caller) error { return b.k.Sleep(c, 1) })
			require.That(b.t, err != nil, "slept in stop_machine")
		}},
	} {
		_, err := tryRun(t, plain, Options{CPUs: 2}, nil, s.do)
		require.That(t, err != nil && strings.Contains(err.Error(), "scheduling while atomic: task ") && strings.Contains(err.Error(), s.want), "%s: error %v, want one with %q", s.name, err, s.want)
	}
}

// sleepWith has the running task sleep while it has a preempt_count.
func sleepWith(count uint64) func(b *board) {
	return func(b *board) {
		task := b.k.lookUp(b.k.Current(b))
		b.k.mem.Store(b.k.info(task), b.k.l.preemptCount, count)
		b.do(b.k.Sleep(b, 1))
	}
}

func TestDeadlockIsExplained(t *testing.T) {
	_, err := tryRun(t, plain, Options{CPUs: 2}, nil, func(b *board) {
		one, two := Mutex{Name: "one"}, Mutex{Name: "two"}
		b.join(b.start(2, func(c Caller, i int) {
			first, second := &one, &two
			if i == 1 {
				first, second = second, first
			}
			b.do(b.k.Lock(c, first))
			b.do(b.k.Sleep(c, 2))
			b.do(b.k.Lock(c, second))
		}))
	})
	for _, want := range []string{
		"task init: waits for the end of t0", "task t0: waits for mutex two, which t1 holds",
		"task t1: waits for mutex one, which t0 holds",
	} {
		require.That(t, err != nil && strings.Contains(err.Error(), want), "error %v, want one with %q", err, want)
	}
}

func TestExplain(t *testing.T) {
	k, newTask := hall(t)
	run, wait, sleep, dead := newTask(2), newTask(1), newTask(0), newTask(0)
	run.name, wait.name, sleep.name, dead.name = "r", "w", "s", "d"
	k.cpus[2].curr, run.running, dead.dead = run, true, true
	k.enqueue(wait, 1, false)
	m := Mutex{Name: "m"}
	want := "task r: runs on cpu 2\ntask w: could run on cpu 1\ntask s: sleeps\n"
	require.Equal(t, k.Explain(), want, "explained as\n")
	sleep.waits = func() string { return "mutex " + m.Name }
	got := k.Explain()
	require.That(t, strings.Contains(got, "task s: waits for mutex m\n"), "explained as\n%s", got)
}

// Who holds a grace period up is named.
func TestStallIsExplained(t *testing.T) {
	for _, s := range []struct {
		image, want string
		sync        func(b *board) error
	}{
		{plain, "task init: waits for a grace period of RCU-sched, held up by cpu 1\n", func(b *board) error {
			return b.k.SynchronizeSched(b)
		}},
		{preempt, "task init: waits for a grace period of the tasks, held up by reader\n", func(b *board) error {
			return b.k.SynchronizeTasks(b)
		}},
	} {
		said, begun := "", false
		run(t, s.image, Options{CPUs: 2}, func(b *board) {
			_, err := b.k.GoOn(b, 1, "reader", func(c Caller) error {
				begun = true
				b.call(c, "loop_busy", 100_000)
				said = b.k.Explain()
				return nil
			})
			b.do(err)
			for !begun {
				b.do(b.k.Schedule(b))
			}
			b.do(s.sync(b))
		})
		require.That(t, strings.Contains(said, s.want), "explained as\n%swant\n%s", said, s.want)
	}
}

// Failures of the guest's memory and calls that make no sense are kept as errors.
func TestFailuresAreKept(t *testing.T) {
	run(t, plain, Options{CPUs: 2}, func(b *board) {
		require.That(t, b.k.Online(b) != nil, "all CPUs have been started twice")
	})
	for _, s := range []struct {
		want string
		do   func(b *board)
	}{
		{"enter state 9, which does not exist", func(b *board) { b.call(b, "stop_state", 9) }},
		{"cannot go on", func(b *board) {
			_, err := b.k.Go(b, "fails", func(Caller) error { return errors.New("cannot go on") })
			b.do(err)
			b.do(b.k.Sleep(b, 5))
		}},
		{"is not mapped", func(b *board) { b.k.mem.Store(0x10, b.k.l.state, 1) }},
	} {
		b, err := tryRun(t, plain, Options{CPUs: 2}, nil, s.do)
		require.That(t, err != nil && b.k.Err() != nil && strings.Contains(err.Error(), s.want), "error %v, want one with %q", err, s.want)
	}
}
