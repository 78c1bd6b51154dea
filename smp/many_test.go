package smp

import (
	"fmt"
	"slices"
	"testing"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// eachSize runs a test on both kinds of kernels with different numbers of CPUs.
func eachSize(t *testing.T, sizes []int, test func(t *testing.T, name string, cpus int)) {
	type machine struct {
		image string
		cpus  int
	}
	var all []machine
	for _, name := range images {
		for _, n := range fitting(t, name, sizes) {
			all = append(all, machine{name, n})
		}
	}
	for _, m := range hosttools.Share(t, "kernels and numbers of CPUs", 2, all) {
		t.Run(fmt.Sprintf("%s/%d", m.image, m.cpus), func(t *testing.T) { test(t, m.image, m.cpus) })
	}
}

// fitting are the sizes that the board for an image has places for, and in place of the larger ones all its
// places.
func fitting(t *testing.T, name string, sizes []int) []int {
	t.Helper()
	isa, board := machineOf(loadImage(t, name))
	space := require.Must(board.Space(isa))(t)
	if space.CPUs == 0 {
		return sizes
	}
	var out []int
	for _, n := range sizes {
		out = append(out, min(n, space.CPUs))
	}
	return slices.Compact(out)
}

// sizes are numbers of CPUs to test on.
var sizes = []int{1, 2, 4, 16}

// call calls a guest function.
func (b *board) call(c Caller, fn string, args ...uint64) uint64 {
	b.t.Helper()
	v := value(c.InvokeSym(fn, args...))(b)
	return v
}

// percpu reads a per-CPU word.
func (b *board) percpu(cpu int, name string) uint64 {
	b.t.Helper()
	a := value(b.m.PerCPU(cpu, name))(b)
	v := value(b.m.Load(a, b.word()))(b)
	return v
}

// start starts threads written in Go and returns their tasks.
func (b *board) start(n int, body func(c Caller, i int)) (tasks []uint64) {
	b.t.Helper()
	for i := range n {
		task := value(b.k.Go(b, fmt.Sprintf("t%d", i), func(c Caller) error { body(c, i); return nil }))(b)
		tasks = append(tasks, task)
	}
	return tasks
}

func (b *board) join(tasks []uint64) {
	b.t.Helper()
	for _, task := range tasks {
		b.do(b.k.Join(b, task))
	}
}

func TestOnline(t *testing.T) {
	eachSize(t, []int{1, 2, 4, 16, 64}, func(t *testing.T, name string, cpus int) {
		run(t, name, Options{CPUs: cpus}, func(b *board) {
			n := len(b.k.online())
			require.That(t, n == cpus, "%d CPUs online of %d", n, cpus)
			for i := range cpus {
				require.That(t, i == b.CPU() || b.k.cpus[i].curr.idle, "cpu %d is not idle", i)
			}
		})
	})
}

func TestOnline256(t *testing.T) {
	run(t, plain, Options{CPUs: 256}, func(b *board) {
		task := value(b.k.GoOn(b, 255, "last", func(c Caller) error { b.say("on %d", c.CPU()); return nil }))(b)
		b.do(b.k.Join(b, task))
		b.expect("on 255")
	})
}

func TestBoundThreadsRunWhereTheyBelong(t *testing.T) {
	eachSize(t, sizes, func(t *testing.T, name string, cpus int) {
		run(t, name, Options{CPUs: cpus}, func(b *board) {
			var tasks []uint64
			for i := range 2 * cpus {
				task, err := b.k.GoOn(b, i%cpus, "t", func(c Caller) error {
					for range 3 {
						b.do(b.k.Sleep(c, 1))
						if c.CPU() != i%cpus {
							t.Errorf("bound to %d, but on %d", i%cpus, c.CPU())
						}
					}
					return nil
				})
				b.do(err)
				tasks = append(tasks, task)
			}
			b.join(tasks)
		})
	})
}

// As many loops as CPUs take hardly longer than one of them, and a counter of each CPU is enough.
func TestLoopsRunAtTheSameTime(t *testing.T) {
	const rounds = 3000
	eachSize(t, sizes, func(t *testing.T, name string, cpus int) {
		run(t, name, Options{CPUs: cpus}, func(b *board) {
			begin := b.m.Now()
			b.join(b.start(1, func(c Caller, _ int) { b.call(c, "loop_counted", rounds) }))
			one := b.m.Now() - begin
			begin = b.m.Now()
			b.join(b.start(cpus, func(c Caller, _ int) { b.call(c, "loop_counted", rounds) }))
			all := b.m.Now() - begin
			require.That(t, all <= 2*one, "one loop takes %d cycles, %d of them %d", one.Cycles(), cpus, all.Cycles())
			var sum uint64
			for i := range cpus {
				sum += b.percpu(i, "many_counted")
			}
			want := uint64(rounds * (cpus + 1))
			require.That(t, sum == want || name != plain, "counted %d, want %d", sum, want)
		})
	})
}

func TestSharedCounterLosesNothing(t *testing.T) {
	eachSize(t, sizes, func(t *testing.T, name string, cpus int) {
		run(t, name, Options{CPUs: cpus, Tick: true}, func(b *board) {
			b.join(b.start(2*cpus, func(c Caller, _ int) { b.call(c, "loop_shared", 500) }))
			s, _ := b.m.Image().Symbol("many_shared")
			v, err := b.m.Load(s.Addr, b.word())
			require.That(t, err == nil && v == uint64(1000*cpus), "counted %d, want %d: %v", v, 1000*cpus, err)
		})
	})
}

func TestQueueOfProducersAndConsumers(t *testing.T) {
	eachSize(t, sizes, func(t *testing.T, name string, cpus int) {
		run(t, name, Options{CPUs: cpus, Tick: true}, func(b *board) {
			const n = 100
			var sum uint64
			b.join(b.start(4, func(c Caller, i int) {
				if i%2 == 0 {
					b.call(c, "produce", n)
				} else {
					sum += b.call(c, "consume", n)
				}
			}))
			require.That(t, sum == 2*n*(n+1)/2, "%d arrived, want %d", sum, n*(n+1))
		})
	})
}

// More sleepers than CPUs wake up on several of them.
func TestSleepersMove(t *testing.T) {
	eachSize(t, []int{2, 4, 16}, func(t *testing.T, name string, cpus int) {
		run(t, name, Options{CPUs: cpus, Tick: true}, func(b *board) {
			var moved uint64
			b.join(b.start(cpus+1, func(c Caller, i int) {
				moved += b.call(c, "loop_sleeping", 10, uint64(1+i%2), uint64(30000+5000*i))
			}))
			require.That(t, moved != 0, "no task has moved to another CPU")
		})
	})
}

// The memory of tasks that have been joined serves new ones.
func TestJoinedTasksAreReused(t *testing.T) {
	run(t, plain, Options{CPUs: 4}, func(b *board) {
		used := map[uint64]bool{}
		for range 50 {
			tasks := b.start(5, func(c Caller, _ int) { b.call(c, "loop_counted", 50) })
			for _, task := range tasks {
				used[task] = true
			}
			b.join(tasks)
		}
		require.That(t, len(used) <= 10, "%d tasks for five at a time", len(used))
		require.That(t, b.k.Join(b, 0x1234) != nil, "joined nobody")
	})
}

func TestSpawn(t *testing.T) {
	run(t, plain, Options{CPUs: 2}, func(b *board) {
		task := value(b.k.Spawn(b, Thread{Name: "guest", CPU: 1, Bound: true, Fn: "loop_counted", Arg: 10}))(b)
		b.do(b.k.Join(b, task))
		n := b.percpu(1, "many_counted")
		require.That(t, n == 10, "counted %d on cpu 1, want 10", n)
		for _, s := range []Thread{
			{Name: "x", CPU: anyCPU, Fn: "no_such"},
			{Name: "x", CPU: 2, Fn: "loop_counted"},
			{Name: "x", CPU: -5, Fn: "loop_counted"},
			{Name: "x", CPU: anyCPU, Bound: true, Fn: "loop_counted"},
		} {
			_, err := b.k.Spawn(b, s)
			require.That(t, err != nil, "%+v has been started", s)
		}
	})
}
