package smp

import (
	"slices"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
)

// TestLateIsNoticed makes CPU 1 forget what it was asked for, each time in another way.
func TestLateIsNoticed(t *testing.T) {
	for _, tt := range []struct {
		want  string
		ticks bool // it is to see a tick before anything else
		spoil func(b *board, cpu *cpuState)
	}{
		{"", true, func(*board, *cpuState) {}},
		{"1 a tick finds the task idle, although it was asked to reschedule and has forgotten it", true, func(_ *board, cpu *cpuState) {
			cpu.asked = asked{asked: true, kicked: true}
		}},
		{"1 a tick finds the task idle, although it is to reschedule and nobody interrupts it", true, func(b *board, cpu *cpuState) {
			b.k.resched(cpu)
			b.k.kicks = nil
		}},
		{"1 a tick finds the task idle, although the more urgent first waits and nobody has asked for it", true, func(_ *board, cpu *cpuState) {
			waiting := *cpu.curr
			waiting.name, waiting.prio, waiting.idle = "first", cpu.curr.prio+1, false
			cpu.queue = []*task{&waiting}
		}},
		{"1 a tick finds the task idle, although it has halted and has not looked for the grace period that waits for it", true, func(_ *board, cpu *cpuState) {
			cpu.holds, cpu.awake = true, true
		}},
		{"1 the CPU halts, although it was asked to reschedule before an interrupt that it has served", false, func(_ *board, cpu *cpuState) {
			cpu.asked = asked{asked: true, kicked: true}
		}},
	} {
		b := run(t, plain, Options{CPUs: 2, Tick: true}, func(b *board) {
			b.do(b.k.Sleep(b, 1))
			b.k.Show(func() {})
			tt.spoil(b, &b.k.cpus[1])
			if !tt.ticks {
				b.do(b.k.OnEachCPU(b, "tick_work", 7))
			}
			b.do(b.k.Sleep(b, 2))
		})
		first, _, _ := strings.Cut(strings.Join(b.of(EventLate), "\n"), "\n")
		require.That(t, first == tt.want, "told %q, want %q", first, tt.want)
	}
}

// TestPreemptionIsDue has a tick find a task that the tick before should have ended in the place of.
func TestPreemptionIsDue(t *testing.T) {
	for _, name := range []string{plain, preempt} {
		b := run(t, name, Options{CPUs: 2, Tick: true}, func(b *board) {
			task, err := b.k.GoOn(b, 1, "loop", func(c Caller) error {
				b.call(c, "loop_busy", 200000)
				return nil
			})
			b.do(err)
			b.do(b.k.Sleep(b, 1))
			b.k.Show(func() {})
			b.k.needResched(b.k.cpus[1].curr)
			b.k.cpus[1].asked = asked{asked: true, kicked: true, due: true}
			b.join([]uint64{task})
		})
		late, want := b.of(EventLate), "1 a tick finds the task loop, although another task was to run behind the tick before"
		require.That(t, (name == preempt) == slices.Contains(late, want), "%s: told %q", name, late)
	}
}

// TestInterruptsAreBounded wants a task that is preempted in an interrupt of an interrupt to be named. On its way back to user mode a
// task is in none any more, though the first has not returned.
func TestInterruptsAreBounded(t *testing.T) {
	for _, tt := range []struct {
		n     int
		stack uint64 // in user mode
		want  string
	}{
		{1, 0, ""}, {2, 0, "task caller is preempted in 2 interrupts"}, {2, 0x1000, ""}, {3, 0x1000, "task caller is preempted in 3 interrupts"},
	} {
		k := &Kernel{shown: func() {}}
		k.checkStruck(&task{
			name: "caller", userStack: tt.stack,
			contexts: append([]uint8{cpus.SingleStep}, slices.Repeat([]uint8{cpus.Interrupted}, tt.n)...),
		})
		got := ""
		if err := k.Err(); err != nil {
			got = err.Error()
		}
		require.That(t, (got == "") == (tt.want == "") && strings.HasPrefix(got, tt.want), "%+v: %q", tt, got)
	}
}
