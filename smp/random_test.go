package smp

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/sim"
)

const seeds = 8

var update = flag.Bool("update", false, "rewrite testdata/storms")

// chance is a policy that lets any CPU run for some instructions.
type chance struct {
	rng   *rand.Rand
	steps int
}

func (p *chance) Next(_ *sim.Machine, runnable []int) (cpu, steps int) {
	return runnable[p.rng.IntN(len(runnable))], 1 + p.rng.IntN(p.steps)
}

// TestRandomOperations has many tasks do random work, under time and under random interleavings: nobody is lost, nobody runs
// twice, counters are right, and the machine stops and goes on.
func TestRandomOperations(t *testing.T) {
	for _, name := range images {
		t.Run(name, func(t *testing.T) {
			var all []*board
			for seed := range uint64(seeds) {
				all = append(all, holdRandomOperations(t, name, seed))
			}
			sumEvents(t, name, all)
		})
	}
}

// sumEvents compares the events of runs with those that there were, which each have a line in a file. Other tests say what is right.
// This one says that something happens at another moment or in another order than before.
func sumEvents(t *testing.T, name string, runs []*board) {
	t.Helper()
	var sums strings.Builder
	for i, b := range runs {
		sum := sha256.New()
		for _, e := range b.events {
			fmt.Fprintln(sum, e)
		}
		for _, said := range b.waits {
			fmt.Fprint(sum, said)
		}
		fmt.Fprintf(&sums, "%d: %d events, %.6x\n", i, len(b.events), sum.Sum(nil))
	}
	require.Lines(t, "testdata/storms/"+name+".txt", sums.String(), *update)
}

func holdRandomOperations(t *testing.T, name string, seed uint64) *board {
	rng := rand.New(rand.NewPCG(seed, 1))
	opt := Options{
		CPUs: 1 + rng.IntN(6), Tick: rng.IntN(2) == 0, Slice: int64(rng.IntN(3)), HZ: 10_000,
		ForceQuiescent: int64(rng.IntN(4)) - 1, Spread: seed%3 == 0, Layout: sim.DrawLayout(seed, 0),
	}
	var policy sim.Policy
	if seed%2 == 1 {
		policy = &chance{rng, []int{5, 60, 800, 5000}[rng.IntN(4)]}
	}
	s := &storm{rng: rng}
	b := runPolicy(t, name, opt, policy, func(b *board) {
		s.b = b
		if seed >= seeds/2 {
			b.k.Show(func() {})
		}
		s.run(40)
	})
	require.That(t, s.done == s.begun, "%d of %d operations done", s.done, s.begun)
	b.holdPeriods("sched")
	late := b.of(EventLate)
	require.That(t, len(late) == 0, "the kernel forgets what it was asked for: %q", late)
	return b
}

// storm is random operations of random tasks.
type storm struct {
	b           *board
	rng         *rand.Rand
	mutex       Mutex
	work        *Work
	inside      int
	begun, done int
	stopped     bool
	shared      uint64
}

func (s *storm) run(n int) {
	b := s.b
	b.m.Watch(s.holdTask)
	s.work = b.k.NewWork("worker", func(c Caller) error { s.b.call(c, "loop_busy", 100); return nil })
	var tasks []uint64
	for range n {
		if len(tasks) > 8 || len(tasks) > 0 && s.rng.IntN(3) == 0 {
			i := s.rng.IntN(len(tasks))
			b.do(b.k.Join(b, tasks[i]))
			tasks = slices.Delete(tasks, i, i+1)
			continue
		}
		tasks = append(tasks, s.thread())
	}
	b.join(tasks)
	shared, _ := b.m.Image().Symbol("many_shared")
	require.Got(b.m.Load(shared.Addr, b.word()))(b.t, s.shared, "shared counter")
}

// holdTask checks that a task that is switched to runs nowhere else.
func (s *storm) holdTask(e sim.Event) {
	if e.Kind != sim.EventTask {
		return
	}
	k := s.b.k
	require.That(s.b.t, k.mem.Load(e.ID, k.l.onCPU) == 0, "cpu %d takes task %s, which is still in the registers of another one", e.CPU, e.Name)
	for i := range k.cpus {
		require.That(s.b.t, i == e.CPU || k.cpus[i].curr == nil || k.cpus[i].curr.addr != e.ID, "cpu %d takes task %s, which runs on cpu %d", e.CPU, e.Name, i)
	}
}

// thread starts a task of a random kind that does a few random operations.
func (s *storm) thread() uint64 {
	b, ops := s.b, s.rng.Perm(len(operations))[:3]
	s.begun += len(ops)
	th := Thread{Name: fmt.Sprint("t", s.begun), CPU: anyCPU, Priority: s.rng.IntN(3) - 1}
	if s.rng.IntN(3) == 0 {
		th.CPU, th.Bound = s.rng.IntN(len(b.k.cpus)), true
	}
	task, err := b.k.native(b, th, func(c Caller) error {
		for _, op := range ops {
			operations[op](s, c)
			s.done++
			require.That(b.t, !s.stopped, "a task runs while the machine is stopped")
		}
		return nil
	})
	b.do(err)
	return task
}

// operations lists what tasks do.
var operations = []func(s *storm, c Caller){
	func(s *storm, c Caller) { s.b.do(s.b.k.Sleep(c, int64(s.rng.IntN(4)))) },
	func(s *storm, c Caller) { s.shared += s.b.call(c, "loop_shared", uint64(s.rng.IntN(100))) },
	func(s *storm, c Caller) { s.b.call(c, "loop_busy", uint64(s.rng.IntN(5000))) },
	func(s *storm, c Caller) { s.b.call(c, "loop_sleeping", 3, uint64(s.rng.IntN(3)), 100) },
	func(s *storm, c Caller) { s.b.do(s.b.k.SynchronizeSched(c)) },
	func(s *storm, c Caller) { s.b.do(s.b.k.SynchronizeTasks(c)) },
	func(s *storm, c Caller) { s.b.do(s.b.k.OnEachCPU(c, "tick_work", 1)) },
	func(s *storm, c Caller) { s.b.do(s.b.k.FreezeTasks(c, false)) },
	func(s *storm, c Caller) { s.b.do(s.work.Schedule(c, int64(s.rng.IntN(4)))) },
	func(s *storm, c Caller) { s.b.do(s.work.Flush(c)) },
	func(s *storm, c Caller) {
		s.begun++
		_, err := s.b.k.Go(c, "waiter", func(c Caller) error {
			s.done++
			return s.b.k.SynchronizeSched(c)
		})
		s.b.do(err)
		s.b.do(s.b.k.Sleep(c, 20)) // longer than a grace period that nobody holds up
	},
	func(s *storm, c Caller) {
		s.b.do(s.b.k.StopMachine(c, func(c Caller) error {
			s.stopped = true
			s.b.call(c, "loop_busy", 50)
			s.stopped = false
			return nil
		}))
	},
	func(s *storm, c Caller) {
		s.b.do(s.b.k.Lock(c, &s.mutex))
		s.inside++
		s.b.do(s.b.k.Sleep(c, 1))
		s.b.call(c, "loop_counted", 20)
		require.That(s.b.t, s.inside == 1, "%d tasks hold the mutex", s.inside)
		s.inside--
		s.b.k.Unlock(c, &s.mutex)
	},
}
