package kprobes

import (
	"errors"
	"fmt"
	"testing"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/smp"
)

// Return instances belong to tasks: they are found again when a task was preempted in the probed
// function and goes on on another CPU, and each call is seen or counted as missed.
func TestReturnsOfTasksThatMove(t *testing.T) {
	for _, o := range hosttools.Share(t, "kernels", 2, kernels()) {
		t.Run(o.name, func(t *testing.T) {
			bootMany(t, o.image, 4, o.opt, func(w *crowd) { countReturns(t, w) })
		})
	}
}

func countReturns(t *testing.T, w *crowd) {
	before := w.sum("handler_hits")
	loops := value(w.k.Add(w.Call, Spec{Kind: Kretprobe, Symbol: "bench_loop", Handler: "ret_count", MaxActive: 4}))(w)
	sleeps := value(w.k.Add(w.Call, Spec{Kind: Kretprobe, Symbol: "schedule", Handler: "ret_shared_count", MaxActive: 3}))(w)
	calls, moves := uint64(0), 0
	for i := range 7 {
		task, err := w.smp.Go(w.Call, fmt.Sprintf("mover/%d", i), func(c smp.Caller) error {
			for j := range 12 {
				at := c.CPU()
				_, err := c.InvokeSym("bench_loop", w.pointer("bench_target"), uint64(40+20*i), 1, 2)
				if err != nil {
					return err
				}
				calls++
				if err := w.smp.Sleep(c, int64(1+(i+j)%2)); err != nil {
					return err
				}
				if c.CPU() != at {
					moves++
				}
			}
			return nil
		})
		w.do(err)
		w.tasks = append(w.tasks, task)
	}
	w.end()
	st := w.state(loops)
	got := w.sum("handler_hits") - before + st.Unseen + st.NMissed
	require.That(t, got == calls, "%d returns of %d calls, %d of them not seen and %d missed", got, calls, st.Unseen, st.NMissed)
	require.That(t, moves != 0, "no task has moved to another CPU")
	if st := w.state(sleeps); st.Unseen == 0 {
		t.Errorf("three instances were enough for seven sleepers: %+v", st)
	}
	w.remove(loops)
	w.remove(sleeps)
	w.holdNothingLeft()
	w.sleep(3) // every task in schedule() has come back
	for i := range uint64(hashBuckets) {
		at := w.k.sym.instances + i*uint64(w.size())
		for _, ri := range w.k.hlist(at, w.k.instanceLinks()) {
			require.Equal(t, w.k.m.Load(ri, w.k.l.r.instRP), 0, "bucket %d: instance %#x still belongs to", i, ri)
		}
	}
}

// A task that dies in a probed function gives its instance back.
func TestDeadTasksGiveInstancesBack(t *testing.T) {
	bootAll(t, "", 2, Default(), func(w *crowd) {
		p := w.add(Spec{Kind: Kretprobe, Symbol: "do_exit", Handler: "ret_count", MaxActive: 1})
		for i := range 5 {
			task, err := w.smp.Spawn(w.Call, smp.Thread{
				Name: fmt.Sprintf("dying/%d", i), CPU: i % 2, Bound: true, Fn: "cond_resched",
			})
			w.do(err)
			w.do(w.smp.Join(w.Call, task))
		}
		st := w.state(p)
		require.That(t, st.Unseen == 0, "%d of five deaths found no instance", st.Unseen)
		w.remove(p)
		w.holdNothingLeft()
	})
}

// The default number of instances follows the number of CPUs and preemption.
func TestDefaultInstances(t *testing.T) {
	for _, tt := range []struct {
		cpus    int
		preempt bool
		want    uint64
	}{{1, false, 1}, {8, false, 8}, {1, true, 10}, {4, true, 10}, {8, true, 16}} {
		o := plain()
		o.Preempt = tt.preempt
		variant := ""
		if tt.preempt {
			variant = "-preempt"
		}
		bootAll(t, variant, tt.cpus, o, func(w *crowd) {
			p := w.add(Spec{Kind: Kretprobe, Symbol: "bench_target"})
			want := tt.want
			if w.k.era.many {
				want = uint64(max(10, 2*tt.cpus))
			}
			got := w.k.m.Load(p.Addr, w.k.l.r.maxactive)
			require.That(t, got == want, "%d CPUs, preemption %v: %d instances, want %d", tt.cpus, tt.preempt, got, want)
			w.remove(p)
		})
	}
}

// A failing machine has guest functions that fail.
type failing struct {
	smp.Caller
	fn string
}

var errEnded = errors.New("the machine has ended")

func (f failing) InvokeSym(name string, _ ...uint64) (uint64, error) {
	if name == f.fn {
		return 0, errEnded
	}
	return 0, nil
}

// TestBucketOfAnEndedMachine wants the errors of both functions of the lock, and nothing done without it.
func TestBucketOfAnEndedMachine(t *testing.T) {
	_, l := newMany(t, nil, "x86_64-2010", 2, Default())
	for fn, want := range map[string]bool{"lock_instances": false, "unlock_instances": true} {
		done := false
		err := l.k.bucketLocked(failing{fn: fn}, 0, func() { done = true })
		require.That(t, errors.Is(err, errEnded) && done == want, "%s fails: %v, done %v", fn, err, done)
	}
}
