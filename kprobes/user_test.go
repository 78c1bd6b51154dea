package kprobes

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/smp"
)

// Every call that user tasks on several CPUs make by a system call is seen by a probe, exactly once, while
// it is optimized and unoptimized under them, and while others come and go beside it.
func TestHitsInSystemCalls(t *testing.T) {
	// Waiting for tasks without preemption differs from the others in what kernel threads do.
	all := slices.DeleteFunc(kernels(), func(o kernel) bool { return o.opt.Quiesce == QuiesceTasks && !o.opt.Preempt })
	for _, o := range hosttools.Share(t, "kernels", 6, all) {
		t.Run(o.name, func(t *testing.T) {
			bootMany(t, o.image, 3, o.opt, func(w *crowd) { countUserHits(t, w) })
		})
	}
}

func countUserHits(t *testing.T, w *crowd) {
	before := w.sum("handler_hits")
	want := w.call("bench_target", 5, 77)
	p := value(w.k.Add(w.Call, Spec{Symbol: "bench_target", Handler: "handler_count"}))(w)
	var tasks []uint64
	for i := range w.cpus {
		task, err := w.smp.SpawnUser(w.Call, smp.Thread{
			Name: fmt.Sprintf("user/%d", i), CPU: i, Bound: true, Fn: "user_works", Arg: want,
		})
		w.do(err)
		tasks = append(tasks, task)
	}
	seen := map[Mode]bool{}
	for range 2 {
		w.churn("bench_target")
		seen[w.state(p).Mode] = true
	}
	w.userOver(1)
	calls := uint64(0)
	for i, task := range tasks {
		n := w.exitCode(task)
		require.That(t, n > 0, "task %d: %d calls; a negative number says that one returned a wrong result", i, n)
		calls += uint64(n)
	}
	w.userOver(0)
	st := w.state(p)
	got := w.sum("handler_hits") - before + st.NMissed
	require.That(t, got == calls && calls >= 100, "%d hits of %d calls, %d of them missed", got, calls, st.NMissed)
	require.That(t, seen[Optimized] == w.k.opt.OptProbes || seen[Ftrace], "the probe was %v", seen)
	w.remove(p)
	w.holdNothingLeft()
}

func (w *crowd) userOver(v uint64) {
	w.t.Helper()
	w.do(w.m.Store(w.addr("user_over"), 4, v))
}

// exitCode waits for a task and returns its exit code.
func (w *crowd) exitCode(task uint64) int32 {
	w.t.Helper()
	w.do(w.smp.Join(w.Call, task))
	st := value(w.m.Image().Struct("task_struct"))(w)
	f := value(st.Field("exit_code"))(w)
	v := value(w.m.Load(task+uint64(f.Offset), int(f.Size)))(w)
	return int32(v)
}

// What runs in user mode is no text of the kernel, and what leads there is none to be probed.
func TestNoProbesOfUserMode(t *testing.T) {
	for _, isa := range isas() {
		bootMany(t, newest(isa), 2, Default(), func(w *crowd) {
			user := EINVAL
			if w.k.era.located {
				user = ENOENT
			}
			for symbol, want := range map[string]Errno{"user_busy": user, "syscall_entry": EINVAL} {
				_, err := w.k.Add(w.Call, Spec{Symbol: symbol, Handler: "handler_empty"})
				require.That(t, errors.Is(err, want), "%s, %s: error %v; want %v", isa, symbol, err, want)
			}
		})
	}
}
