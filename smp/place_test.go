package smp

import (
	"testing"

	"kprobesim/internal/require"
)

// hall is four CPUs, all idle, and a maker of tasks.
func hall(t *testing.T) (*Kernel, func(last int) *task) {
	w := newWorld(t)
	k := w.k
	for i := 1; i < 4; i++ {
		c := k.cpus[0]
		c.n, c.idle = i, idle+0x10000*uint64(i)
		k.cpus = append(k.cpus, c)
	}
	for i := range k.cpus {
		w.mem[k.cpus[i].idle+8] = 0x9000 + 0x100*uint64(i)
		k.cpus[i].curr = k.lookUp(k.cpus[i].idle)
	}
	n := uint64(0)
	return k, func(last int) *task {
		n++
		x := k.lookUp(0x800000 + 0x1000*n)
		w.mem[x.addr+8] = 0x900000 + 0x1000*n
		x.last = last
		return x
	}
}

func TestPlacement(t *testing.T) {
	k, newTask := hall(t)
	want := func(what string, x *task, n int) {
		t.Helper()
		require.Equal(t, k.selectCPU(x), n, "%s: placed on cpu", what)
	}
	x := newTask(2)
	want("its CPU is idle", x, 2)
	k.cpus[2].curr = newTask(2)
	want("another one is idle", x, 3)
	k.cpus[3].curr = newTask(3)
	want("the next idle one", x, 0)
	k.cpus[0].curr, k.cpus[1].curr = newTask(0), newTask(1)
	want("all are busy alike", x, 2)
	for i := range k.cpus {
		if i != 1 {
			k.enqueue(newTask(i), i, false)
		}
	}
	want("the shortest queue", x, 1)
	k.cpus[1].online = false
	want("not where no CPU is", x, 2)
	x.bound = 0
	want("bound", x, 0)
	y := newTask(3)
	k.mem.Store(y.addr, k.l.onCPU, 1)
	want("still in the registers of its CPU", y, 3)
}

func TestQueueOrder(t *testing.T) {
	k, newTask := hall(t)
	k.cpus[1].curr = newTask(1)
	var tasks []*task
	for _, s := range []struct {
		prio  int
		front bool
	}{{0, false}, {0, false}, {2, false}, {0, true}, {1, false}, {-1, true}} {
		x := newTask(1)
		x.prio = s.prio
		k.enqueue(x, 1, s.front)
		tasks = append(tasks, x)
	}
	for i, want := range []int{2, 4, 3, 0, 1, 5} {
		require.That(t, k.cpus[1].queue[i] == tasks[want], "position %d: not the task that came as number %d", i, want)
	}
	require.That(t, len(k.kicks) == 1 && k.kicks[0] == 1, "CPUs to reschedule %v, want 1, where more urgent tasks wait", k.kicks)
}

// An idle CPU takes the first task of the longest queue that may move.
func TestTakingFromOthers(t *testing.T) {
	k, newTask := hall(t)
	for i, n := range []int{0, 2, 3, 1} {
		for range n {
			k.enqueue(newTask(i), i, false)
		}
	}
	k.cpus[2].queue[0].bound = 2
	k.mem.Store(k.cpus[2].queue[1].addr, k.l.onCPU, 1)
	want := k.cpus[2].queue[2]
	got := k.choose(&k.cpus[0])
	require.That(t, got == want, "took %#x, want %#x", got.addr, want.addr)
	require.That(t, len(k.cpus[2].queue) == 2 && !want.queued, "the task is still in its queue")
	for range 3 {
		k.choose(&k.cpus[0])
	}
	if got := k.choose(&k.cpus[0]); !got.idle {
		t.Errorf("took %#x of what may not move", got.addr)
	}
}
