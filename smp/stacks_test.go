package smp

import "testing"

// TestStacksTellThePreempted: where a preempted task goes on is on its stack, and is not once the task has gone on. A task
// that sleeps has what it calls there.
func TestStacksTellThePreempted(t *testing.T) {
	run(t, preempt, Options{CPUs: 2, Tick: true}, func(b *board) {
		busy, _ := b.k.im.Func("loop_busy")
		in := func(word uint64) bool { return word-busy.Entry < busy.Size }
		p := b.preempt()
		var words int64
		look := func() (name string) {
			b.do(b.k.StopMachine(b, func(Caller) (err error) {
				name, words, err = b.k.OnStacks(in)
				return err
			}))
			return name
		}
		if got := look(); got != "preempted" || p.state != "begun" || words == 0 {
			t.Errorf("%q is in loop_busy, want the preempted task; it is %s, %d words were read", got, p.state, words)
		}
		for p.state != "done" {
			b.do(b.k.Sleep(b, 1))
		}
		if got := look(); got != "" {
			t.Errorf("%q is in loop_busy, want nobody", got)
		}
		p.over = true
	})
}
