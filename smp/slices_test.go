package smp

import (
	"fmt"
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/sim"
)

// TestTimeSlices: without ticks nobody runs beside a loop on one CPU; with ticks loops take turns, on a preemptible kernel even those
// that let nobody run.
func TestTimeSlices(t *testing.T) {
	for _, s := range []struct {
		name, loop string
		tick       bool
		turns      bool
	}{
		{plain, "loop_counted", true, true},
		{plain, "loop_counted", false, false},
		{plain, "loop_busy", true, false},
		{preempt, "loop_busy", true, true},
		{preempt, "loop_busy", false, false},
	} {
		for _, slice := range []int64{1, 4} {
			var jiffies int64
			b := run(t, s.name, Options{CPUs: 2, Tick: s.tick, Slice: slice}, func(b *board) {
				begin := b.k.Jiffies()
				var tasks []uint64
				for i := range 2 {
					task, err := b.k.GoOn(b, 1, fmt.Sprintf("loop%d", i), func(c Caller) error {
						b.call(c, s.loop, 200000)
						return nil
					})
					b.do(err)
					tasks = append(tasks, task)
				}
				b.join(tasks)
				jiffies = b.k.Jiffies() - begin
			})
			turns := int64(0)
			for _, e := range b.of(sim.EventTask) {
				if strings.HasPrefix(e, "1 loop") {
					turns++
				}
			}
			require.That(t, s.turns == (turns > 3), "%+v, slices of %d: %d turns", s, slice, turns)
			want := jiffies / slice
			require.That(t, !s.turns || turns >= want-2 && turns <= want+2, "%+v, slices of %d: %d turns in %d jiffies", s, slice, turns, jiffies)
		}
	}
}

// TestPriorities: a more urgent task that wakes up runs at once on a preemptible kernel, and when the other one lets it on others. A
// less urgent one waits for the end.
func TestPriorities(t *testing.T) {
	for _, name := range []string{plain, preempt} {
		run(t, name, Options{CPUs: 2, Tick: true}, func(b *board) {
			var tasks []uint64
			for i, prio := range []int{0, -1, 1} {
				task, err := b.k.native(b, Thread{Name: fmt.Sprint(prio), CPU: 1, Bound: true, Priority: prio},
					func(c Caller) error {
						b.do(b.k.Sleep(c, int64(1+i))) // the first begins alone
						b.say("%d begins", prio)
						b.call(c, "loop_busy", 200000)
						b.say("%d ends", prio)
						return nil
					})
				b.do(err)
				tasks = append(tasks, task)
			}
			b.join(tasks)
			if name == preempt {
				b.expect("0 begins", "1 begins", "1 ends", "0 ends", "-1 begins", "-1 ends")
			} else {
				b.expect("0 begins", "0 ends", "1 begins", "1 ends", "-1 begins", "-1 ends")
			}
		})
	}
}

func TestTicks(t *testing.T) {
	b := run(t, plain, Options{CPUs: 4, Tick: true}, func(b *board) { b.do(b.k.Sleep(b, 20)) })
	count := map[string]int{}
	for _, e := range b.of(EventTick) {
		count[e]++
	}
	for i := range 4 {
		n := count[fmt.Sprint(i)]
		require.That(t, n >= 18 && n <= 22, "cpu %d: %d ticks in 20 jiffies", i, n)
	}
}

// TestSleepersWithoutTicks: without ticks one CPU's timer wakes all sleepers in time.
func TestSleepersWithoutTicks(t *testing.T) {
	eachSize(t, sizes, func(t *testing.T, name string, cpus int) {
		b := run(t, name, Options{CPUs: cpus}, func(b *board) {
			tasks := b.start(8, func(c Caller, i int) {
				for j := range 4 {
					want := b.k.Jiffies() + int64(3*i+j)
					b.do(b.k.Sleep(c, int64(3*i+j)))
					d := b.k.Jiffies() - want
					require.That(t, d >= 0 && d <= 1, "sleeper %d: woke %d jiffies late", i, d)
				}
			})
			b.join(tasks)
		})
		n := len(b.of(EventTick))
		require.That(t, n <= 40, "%d timer interrupts for 32 sleeps", n)
	})
}
