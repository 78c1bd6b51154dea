package smp

import "testing"

// TestStacksTellThePreempted: where a preempted task goes on is on its stack, and is not once the task has gone on. A task
// that sleeps has what it calls there.
func TestStacksTellThePreempted(t *testing.T) {
	run(t, preempt, Options{CPUs: 2, Tick: true}, func(b *board) {
		busy, _ := b.k.im.Func("loop_busy")
		in := func(word uint64) bool { return word-busy.Entry < busy.Size }
		state := ""
		_, err := b.k.GoOn(b, 1, "preempted", func(c Caller) error {
			state = "begun"
			b.call(c, "loop_busy", 300000)
			state = "done"
			return nil
		})
		b.do(err)
		over := false
		_, err = b.k.GoOn(b, 1, "other", func(c Caller) error {
			for !over {
				b.call(c, "loop_counted", 100)
			}
			return nil
		})
		b.do(err)
		for state == "" || !b.k.cpus[1].queue[0].queued {
			b.do(b.k.Sleep(b, 1))
		}
		look := func() (name string) {
			b.do(b.k.StopMachine(b, func(Caller) (err error) {
				var words int64
				if name, words, err = b.k.OnStacks(in); words == 0 {
					t.Error("no stack was read")
				}
				return err
			}))
			return name
		}
		if got := look(); got != "preempted" || state != "begun" {
			t.Errorf("%q is in loop_busy, want the preempted task; it is %s", got, state)
		}
		for state != "done" {
			b.do(b.k.Sleep(b, 1))
		}
		if got := look(); got != "" {
			t.Errorf("%q is in loop_busy, want nobody", got)
		}
		over = true
	})
}
