package smp

import (
	"fmt"
	"iter"
	"slices"
	"testing"

	"kprobesim/image"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// world is a guest without a CPU: memory by address, and tasks as coroutines that switch in
// schedule() as the guest would.
type world struct {
	t      *testing.T
	k      *Kernel
	mem    map[uint64]uint64
	heap   uint64
	now    clock.Ticks
	run    map[uint64]func() (struct{}, bool) // resumes a task
	yield  map[uint64]func(struct{}) bool
	cur    uint64
	log    []string
	irqOff bool
	due    clock.Ticks // when the timer interrupts
}

// Addresses of the task that runs the tests, of per-CPU data and of the idle task in it.
const (
	boot   = 0x100
	percpu = 0x10000
	idle   = percpu + 0x200
)

func newWorld(t *testing.T) *world {
	w := &world{
		t: t, mem: map[uint64]uint64{}, heap: 0x100000, cur: boot,
		run: map[uint64]func() (struct{}, bool){}, yield: map[uint64]func(struct{}) bool{},
	}
	f := func(off uint64) image.Field { return image.Field{Offset: off, Size: 8} }
	w.k = &Kernel{
		g: w, mem: image.Access{Memory: w}, jiffy: clock.FromCycles(1000), tasks: map[uint64]*task{},
		cpus: []cpuState{{
			online: true, current: percpu, idle: idle, inIdle: percpu + 0x100, wanted: percpu + 0x108,
		}},
		opt: Options{CPUHz: 1_000_000, TimerHz: 100_000, Slice: 1, CPUs: 1},
		l: taskLayout{
			constants: constants{
				uninterruptible: 2, dead: 64, threadSize: 8192, needResched: 1 << 3, hardirqMask: 0x3ff0000,
				preemptActive: 0x10000000,
			},
			size: 64, state: f(0), stack: f(8), pid: f(16), mm: f(24), comm: f(32), onCPU: f(48),
			threadFlags: f(0), preemptCount: f(8),
		},
	}
	w.mem[boot+8], w.mem[idle+8] = 0x8000, 0x9000
	w.setCurrent(boot)
	return w
}

func (w *world) Load(va uint64, _ int) (uint64, error)  { return w.mem[va], nil }
func (w *world) Store(va uint64, _ int, v uint64) error { w.mem[va] = v; return nil }
func (w *world) WriteBytes(uint64, []byte) error        { return nil }
func (w *world) Now() clock.Ticks                       { return w.now }
func (w *world) PerCPU(int, string) (uint64, error)     { return 0, nil }
func (w *world) CPU() int                               { return 0 }
func (w *world) Charge(cycles int64)                    { w.now += clock.FromCycles(cycles) }
func (w *world) Alloc(size, align uint64) (uint64, error) {
	w.heap = (w.heap + align - 1) / align * align
	w.heap += size
	return w.heap - size, nil
}

func (w *world) InvokeSym(name string, args ...uint64) (uint64, error) {
	switch name {
	case "kthread_setup":
		w.spawn(args[0], args[3])
	case "schedule":
		w.schedule()
	case "timer_start":
		w.due = w.now + clock.Ticks(args[0])*clock.FromCycles(10)
	case "irq_disable_save":
		w.irqOff = true
		return 0x200, nil
	case "irq_restore":
		w.irqOff = args[0] != 0x200
	default:
		return 0, fmt.Errorf("no function %s", name)
	}
	return 0, nil
}

// spawn makes a task's coroutine; the boot task drives all others.
func (w *world) spawn(task, id uint64) {
	next, _ := iter.Pull(func(yield func(struct{}) bool) {
		w.yield[task] = yield
		w.k.Thread(w, id)
		w.mem[task] = w.k.l.dead
		w.setCurrent(w.k.Pick(w, task, false))
	})
	w.run[task] = next
}

func (w *world) setCurrent(task uint64) { w.cur, w.mem[percpu] = task, task }

func (w *world) schedule() {
	me := w.cur
	w.setCurrent(w.k.Pick(w, me, false))
	if w.cur == me {
		return
	}
	if me != boot {
		w.yield[me](struct{}{})
		return
	}
	for w.cur != boot {
		if w.cur == idle {
			w.halt()
		} else {
			w.run[w.cur]()
		}
	}
}

// halt is the idle task: it waits for the timer.
func (w *world) halt() {
	require.Need(w.t, w.due > w.now, "the idle task waits for ever")
	w.now = w.due
	w.k.Tick(w, false)
	if w.mem[0x9000] == w.k.l.needResched {
		w.mem[0x9000] = 0
		w.setCurrent(w.k.Pick(w, idle, false))
	}
}

func (w *world) say(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%d ", w.k.Jiffies())+fmt.Sprintf(format, args...))
}

func (w *world) expect(want ...string) {
	w.t.Helper()
	require.That(w.t, slices.Equal(w.log, want), "happened\n%q\nwant\n%q", w.log, want)
	if err := w.k.Err(); err != nil {
		w.t.Error(err)
	}
}

func (w *world) do(err error) {
	w.t.Helper()
	require.NoError(w.t, err)
}

func TestThreadsSleepInJiffies(t *testing.T) {
	w := newWorld(t)
	for _, s := range []struct {
		name string
		time int64
	}{{"a", 5}, {"b", 3}, {"c", 5}} {
		_, err := w.k.Go(w, s.name, func(c Caller) error {
			w.say("%s begins", s.name)
			w.do(w.k.Sleep(c, s.time))
			w.say("%s ends", s.name)
			return nil
		})
		w.do(err)
	}
	w.say("main")
	w.do(w.k.Sleep(w, 6))
	w.expect("0 main", "0 a begins", "0 b begins", "0 c begins", "3 b ends", "5 a ends", "5 c ends")
	require.That(t, w.now >= clock.FromCycles(6000) && w.now <= clock.FromCycles(6020), "woke at %d cycles, want 6000", w.now.Cycles())
}

func TestWorkRunsOnceAfterDelay(t *testing.T) {
	w := newWorld(t)
	work := w.k.NewWork("work", func(Caller) error { w.say("run"); return nil })
	w.do(work.Schedule(w, 5))
	w.do(w.k.Sleep(w, 2))
	w.do(work.Schedule(w, 5)) // stands already
	w.do(w.k.Sleep(w, 10))
	w.do(work.Schedule(w, 5))
	w.do(w.k.Sleep(w, 10))
	w.expect("5 run", "17 run")
}

func TestWorkFlush(t *testing.T) {
	w := newWorld(t)
	var work *Work
	again := true
	work = w.k.NewWork("work", func(c Caller) error {
		w.say("run")
		if again {
			again = false
			return work.Schedule(c, 5)
		}
		return nil
	})
	w.do(work.Flush(w))
	w.do(work.Schedule(w, 5))
	w.do(work.Flush(w))
	w.say("flushed, pending %v", work.pending)
	w.do(w.k.Sleep(w, 20))
	w.expect("0 run", "5 run", "5 flushed, pending false")
}

func TestMutexHasOneHolder(t *testing.T) {
	w := newWorld(t)
	var m Mutex
	for i := range 3 {
		_, err := w.k.Go(w, "t", func(c Caller) error {
			w.do(w.k.Lock(c, &m))
			w.say("%d in", i)
			w.do(w.k.Sleep(c, 1))
			w.say("%d out", i)
			w.k.Unlock(c, &m)
			return nil
		})
		w.do(err)
	}
	w.do(w.k.Sleep(w, 10))
	w.expect("0 0 in", "1 0 out", "1 1 in", "2 1 out", "2 2 in", "3 2 out")
}

func TestSynchronizeSchedLetsOthersFinish(t *testing.T) {
	w := newWorld(t)
	_, err := w.k.Go(w, "reader", func(Caller) error { w.say("reader"); return nil })
	w.do(err)
	w.do(w.k.SynchronizeSched(w))
	w.say("grace period over")
	w.expect("0 reader", "0 grace period over")
}

func TestStopMachineHasInterruptsOff(t *testing.T) {
	w := newWorld(t)
	w.do(w.k.StopMachine(w, func(Caller) error { w.say("off %v", w.irqOff); return nil }))
	w.say("off %v", w.irqOff)
	w.expect("0 off true", "0 off false")
}

func TestIdleTaskMustNotSleep(t *testing.T) {
	w := newWorld(t)
	w.setCurrent(idle)
	require.That(t, w.k.Sleep(w, 1) != nil, "the idle task has slept")
}

func TestTickAsksForReschedule(t *testing.T) {
	w := newWorld(t)
	w.k.Tick(w, false)
	require.That(t, w.mem[0x8000] == 0, "with nobody else to run, the tick asks for a reschedule")
	w.k.enqueue(w.k.lookUp(0x200), 0, false)
	w.k.Tick(w, false)
	require.That(t, w.mem[0x8000] == w.k.l.needResched, "flags %#x after a tick with a task waiting", w.mem[0x8000])
}
