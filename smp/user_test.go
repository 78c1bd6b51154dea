package smp

import (
	"fmt"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/image"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/sim"
	"kprobesim/workloads"
)

// user starts a user task.
func (b *board) user(s Thread) uint64 {
	b.t.Helper()
	task := value(b.k.SpawnUser(b, s))(b)
	require.Equal(b.t, b.k.mem.Load(task, b.k.l.mm), b.k.userMM(), "task->mm of %s", s.Name)
	return task
}

// onCPU is a user task that stays on a CPU.
func onCPU(cpu int, fn string, arg uint64) Thread {
	return Thread{Name: fmt.Sprintf("%s/%d", fn, cpu), CPU: cpu, Bound: true, Fn: fn, Arg: arg}
}

// exit waits for a task and returns its exit code.
func (b *board) exit(task uint64) int32 {
	b.t.Helper()
	st := value(b.m.Image().Struct("task_struct"))(b)
	f := value(st.Field("exit_code"))(b)
	b.do(b.k.Join(b, task))
	v := value(b.m.Load(task+uint64(f.Offset), int(f.Size)))(b)
	return int32(v)
}

// over ends the tasks in user_busy.
func (b *board) over(tasks ...uint64) {
	b.t.Helper()
	s, ok := b.m.Image().Symbol("user_over")
	require.Need(b.t, ok, "no symbol user_over")
	b.do(b.m.Store(s.Addr, int(s.Size), 1))
	b.join(tasks)
	b.do(b.m.Store(s.Addr, int(s.Size), 0))
}

// levels holds the privilege level of every instruction against where its code lies.
type levels struct {
	t      *testing.T
	im     *image.Image
	user   int // instructions in user mode
	enters int // changes into it
	last   map[int]bool
}

func (l *levels) Step(s *cpus.Step) {
	if phase := l.im.Phase(s.PC); s.User != (phase == image.PhaseUser) {
		l.t.Errorf("cpu %d executes %s of phase %v with user mode %v", s.CPU, l.im.SymbolText(s.PC), phase, s.User)
	}
	if s.User {
		l.user++
		if !l.last[s.CPU] {
			l.enters++
		}
	}
	l.last[s.CPU] = s.User
}

// A user task computes and calls the kernel in every kernel that there is. Code of its own, and no other,
// is executed in user mode.
func TestUserTask(t *testing.T) {
	for _, im := range workloads.List() {
		for _, n := range []int{1, 2} {
			if n > 1 && im.ISA == "i386" && im.Era < "2010" {
				continue // is for one
			}
			t.Run(fmt.Sprintf("%s/%d", im.Name, n), func(t *testing.T) {
				run(t, im.Name, Options{CPUs: n, Tick: true}, func(b *board) {
					l := &levels{t: t, im: b.m.Image(), last: map[int]bool{}}
					for i := range n {
						b.m.CPU(i).Observe(l)
					}
					want := int32(10 * b.call(b, "bench_target", 3, 4))
					require.Equal(t, b.exit(b.user(onCPU(n-1, "user_calls", 10))), want, "exit code")
					got := b.exit(b.user(onCPU(n-1, "user_asks", 1000)))
					require.That(t, got == -38, "a system call that there is not gives %d", got)
					require.That(t, l.user >= 50 && l.enters >= 12, "%d instructions in user mode, entered %d times", l.user, l.enters)
				})
			})
		}
	}
}

// A CPU that never leaves user mode holds a grace period up until its next tick, on every kernel.
func TestUserModeIsQuiescent(t *testing.T) {
	eachSize(t, []int{2, 4}, func(t *testing.T, name string, n int) {
		run(t, name, Options{CPUs: n, Tick: true, ForceQuiescent: 100}, func(b *board) {
			var tasks []uint64
			for i := 1; i < n; i++ {
				tasks = append(tasks, b.user(onCPU(i, "user_busy", 0)))
			}
			b.do(b.k.Sleep(b, 2))
			for _, f := range []func(Caller) error{b.k.SynchronizeSched, b.k.SynchronizeTasks} {
				begin := b.m.Now()
				b.do(f(b))
				d := b.m.Now() - begin
				require.That(t, d >= 1000*clock.PerCycle && d <= 2*b.k.jiffy+b.k.jiffy/10, "took %d cycles, jiffies of %d", d.Cycles(), b.k.jiffy.Cycles())
			}
			b.over(tasks...)
		})
	})
}

// A loop in the kernel that lets nobody run holds it up until it is over, ticks or not, where kernel code
// is not preempted.
func TestKernelLoopIsNotQuiescent(t *testing.T) {
	for _, name := range []string{plain, "i386-2020", "ppc64-2017", "arm-2014"} {
		run(t, name, Options{CPUs: 2, Tick: true}, func(b *board) {
			var ended, begin clock.Ticks
			task, err := b.k.GoOn(b, 1, "loop", func(c Caller) error {
				begin = b.m.Now()
				b.call(c, "loop_busy", 300_000)
				ended = b.m.Now()
				return nil
			})
			b.do(err)
			b.do(b.k.Sleep(b, 2))
			b.do(b.k.SynchronizeSched(b))
			require.That(t, ended != 0 && ended-begin >= 5*b.k.jiffy, "%s: over at %d, the loop from %d to %d", name, b.m.Now(), begin, ended)
			b.join([]uint64{task})
		})
	}
}

// User tasks give way on their return to user mode, also where kernel code is not preempted: to each other
// when a time slice is over, to a thread that wakes up at once.
func TestUserTasksGiveWay(t *testing.T) {
	for _, name := range images {
		var late clock.Ticks
		b := run(t, name, Options{CPUs: 2, Tick: true}, func(b *board) {
			one, two := b.user(onCPU(1, "user_busy", 0)), b.user(onCPU(1, "user_busy", 0))
			b.do(b.k.Sleep(b, 10))
			b.events = nil
			b.do(b.k.Sleep(b, 10))
			if turns := len(b.of(sim.EventTask)); turns < 9 || turns > 13 { // 10 of theirs, the sleeper's
				t.Errorf("%s: %d turns in 10 jiffies: %q", name, turns, b.of(sim.EventTask))
			}
			begin := b.m.Now()
			task, err := b.k.native(b, Thread{Name: "urgent", CPU: 1, Bound: true, Priority: 1}, func(Caller) error {
				late = b.m.Now() - begin
				return nil
			})
			b.do(err)
			b.join([]uint64{task})
			b.over(one, two)
		})
		require.That(t, late > 0 && late <= b.k.jiffy/10, "%s: an urgent thread waits for %d cycles", name, late.Cycles())
	}
}

// A thread that takes over from a user task that was interrupted is no part of that interrupt, and neither
// is the task when it goes on.
func TestContextsFollowTasks(t *testing.T) {
	for _, name := range images {
		b := run(t, name, Options{CPUs: 2, Tick: true}, func(b *board) {
			task := b.user(onCPU(1, "user_busy", 0))
			for range 3 {
				b.do(b.k.Sleep(b, 2))
				loop, err := b.k.native(b, Thread{Name: "loop", CPU: 1, Bound: true, Priority: 1}, func(c Caller) error {
					b.call(c, "loop_busy", 1000)
					return nil
				})
				b.do(err)
				b.join([]uint64{loop})
			}
			b.over(task)
		})
		c := b.m.CPU(1).Counters()
		for _, phase := range []image.Phase{image.PhaseUser, image.PhaseWorkload} {
			plain, irq := c.Time[cpus.NoException][phase], c.Time[cpus.Interrupted][phase]
			require.That(t, plain > 0 && irq == 0, "%s: phase %s has %d ticks, and %d in interrupts", name, phase, plain, irq)
		}
	}
}

// User tasks that sleep and move keep their registers and stacks; stacks of the dead serve others.
func TestUserTasksMove(t *testing.T) {
	eachSize(t, []int{1, 4}, func(t *testing.T, name string, n int) {
		b := run(t, name, Options{CPUs: n, Tick: true}, func(b *board) {
			for range 2 {
				var tasks []uint64
				for i := range 3 * n {
					tasks = append(tasks, b.user(Thread{Name: fmt.Sprint("u", i), CPU: -1, Fn: "user_sleeps", Arg: uint64(20 + i)}))
				}
				for i, task := range tasks {
					got := b.exit(task)
					require.That(t, got == int32(20+i), "task %d: exit code %d", i, got)
				}
			}
			require.That(t, len(b.k.user.stacks) == 256, "%d stacks are left", len(b.k.user.stacks))
		})
		where := map[string]map[int]bool{}
		for _, e := range b.events {
			if e.Kind == sim.EventTask && e.Arg == 1 {
				if where[e.Name] == nil {
					where[e.Name] = map[int]bool{}
				}
				where[e.Name][e.CPU] = true
			}
		}
		moved := false
		for _, cpus := range where {
			moved = moved || len(cpus) > 1
		}
		require.That(t, len(where) == 3*n && moved == (n > 1), "tasks ran at %v", where)
	})
}

// What user mode may not do ends the run with who, what and where.
func TestUserFaults(t *testing.T) {
	address := func(im *image.Image, name string) uint64 {
		s, ok := im.Symbol(name)
		require.Need(t, ok, "no symbol %s", name)
		return s.Addr
	}
	const missing, protected, stored = 1 << 30, 1 << 27, 1 << 25 // of ppc64
	const section, page, nothing, write = 0xd, 0xf, 5, 0x800     // of ARM: rights by the size of what is mapped
	for _, x := range []struct {
		fn, arg string
		code    [4]uint64 // of the page fault: x86-64, i386, ppc64, ARM; 0 is another exception, or none
		vector  [4]string
	}{
		{"user_reads", "bench_target", [4]uint64{5, 5, protected, section}, [4]string{}},
		{"user_writes", "init_task", [4]uint64{7, 7, protected | stored, section | write}, [4]string{}},
		{"user_writes", "user_main", [4]uint64{7, 7, protected | stored, page | write}, [4]string{}}, // its own text
		{"user_jumps", "bench_target", [4]uint64{0x15, 5, protected, section}, [4]string{}},
		{"user_jumps", "sim_panic", [4]uint64{0x15, 5, protected, section}, [4]string{}}, // a native slot
		{"user_jumps", "user_over", [4]uint64{0: 0x15, 3: page}, [4]string{}},            // data, which i386 executes, and ppc64 takes for a descriptor
		{"user_reads", "", [4]uint64{4, 4, missing, nothing}, [4]string{}},
		{"user_disables", "", [4]uint64{}, [4]string{"0xd", "0xd", "0x700"}}, // ARM lets it change nothing
	} {
		for i, name := range []string{plain, "i386-2020", "ppc64-2017", "arm-2014"} {
			if x.code[i] == 0 && x.vector[i] == "" {
				continue
			}
			var at uint64
			b, err := tryRun(t, name, Options{CPUs: 2, Tick: true}, nil, func(b *board) {
				if x.arg != "" {
					at = address(b.m.Image(), x.arg)
				}
				b.exit(b.user(onCPU(1, x.fn, at)))
			})
			want := []string{
				"guest panic on cpu 1: ", x.fn[:min(len(x.fn), 13)], " in user mode: ip 0x",
				"a user task raised an exception: vector " + x.vector[i],
			}
			if code := x.code[i]; code != 0 {
				want[3] = fmt.Sprintf("a user task touched what it may not: address %#x", at)
				want = append(want, fmt.Sprintf("error code %#x", code))
			}
			for _, text := range want {
				if err == nil || !strings.Contains(err.Error(), text) {
					t.Errorf("%s, %s(%s): error %v, want one with %q\n%s", name, x.fn, x.arg, err, text, b.m.Console())
				}
			}
		}
	}
	run(t, plain, Options{CPUs: 2}, func(b *board) { // what it may read it can
		b.exit(b.user(onCPU(1, "user_reads", address(b.m.Image(), "user_main"))))
	})
}

func TestUserTaskErrors(t *testing.T) {
	run(t, plain, Options{CPUs: 2}, func(b *board) {
		for _, x := range []struct {
			s    Thread
			want string
		}{
			{Thread{Name: "x", CPU: 1, Fn: "no_such"}, "user task x: the image has no function no_such"},
			{Thread{Name: "x", CPU: 7, Fn: "user_busy"}, "CPU 7 is not online"},
		} {
			_, err := b.k.SpawnUser(b, x.s)
			require.That(t, err != nil && strings.Contains(err.Error(), x.want), "error %v, want one with %q", err, x.want)
		}
		var tasks []uint64
		for range 256 {
			tasks = append(tasks, b.user(onCPU(1, "user_calls", 1)))
		}
		require.Error(t, require.Err(b.k.SpawnUser(b, onCPU(1, "user_calls", 1))), "no user stack is left", "")
		b.join(tasks)
		b.k.cpus[1].online = false
		require.Error(t, require.Err(b.k.SpawnUser(b, onCPU(0, "user_calls", 1))), "1 of 2 CPUs are online", "")
		b.k.cpus[1].online = true
	})
}

// TestUserTasksAreTheSameEveryTime has user tasks on three CPUs do what they did before.
func TestUserTasksAreTheSameEveryTime(t *testing.T) {
	sumEvents(t, "user", []*board{run(t, plain, Options{CPUs: 3, Tick: true}, func(b *board) {
		busy := b.user(onCPU(1, "user_busy", 0))
		sleeps := b.user(Thread{Name: "sleeps", CPU: -1, Fn: "user_sleeps", Arg: 20})
		b.exit(b.user(Thread{Name: "calls", CPU: -1, Fn: "user_calls", Arg: 500}))
		b.exit(sleeps)
		b.over(busy)
	})})
}
