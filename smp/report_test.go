package smp

import (
	"strings"
	"testing"
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
		{"handler", "calls schedule() in a handler of mine", func(b *board) {
			b.k.Atomic(func(int) (string, bool) { return "in a handler of mine", true })
			b.do(b.k.Sleep(b, 1))
		}},
		{"stopped machine", "task migration/0 on cpu 0 calls schedule() with interrupts disabled", func(b *board) {
			err := b.k.StopMachine(b, func(c Caller) error { return b.k.Sleep(c, 1) })
			if err == nil {
				b.t.Error("slept in stop_machine")
			}
		}},
	} {
		_, err := tryRun(t, plain, Options{CPUs: 2}, nil, s.do)
		if err == nil || !strings.Contains(err.Error(), "scheduling while atomic: task ") || !strings.Contains(err.Error(), s.want) {
			t.Errorf("%s: error %v, want one with %q", s.name, err, s.want)
		}
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
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
