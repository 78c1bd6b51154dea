package kinds

import (
	"fmt"
	"slices"

	"kprobesim/experiments/schema"
	"kprobesim/internal/clock"
	"kprobesim/results"
	"kprobesim/sim"
	"kprobesim/smp"
	"kprobesim/workloads"
)

// busyPriority is below that of others: as under a fair scheduler, who has slept goes first. Without
// it a CPU's next own task would wait for the end of a time slice, which a kernel without ticks does
// not have.
const busyPriority = -1

// busyTask keeps a CPU busy: a function of the guest, the variable that ends it, and how a task
// that runs it is started. Both are in the guest's work folder.
type busyTask struct {
	fn, over string
	spawn    func(*smp.Kernel, smp.Caller, smp.Thread) (uint64, error)
}

// busyTasks are the tasks of the loads that have any.
func busyTasks() map[string]busyTask {
	return map[string]busyTask{
		schema.LoadBusy: {"busy_thread", "busy_over", (*smp.Kernel).Spawn},
		schema.LoadUser: {"user_busy", "user_over", (*smp.Kernel).SpawnUser},
	}
}

// occupy puts a load on CPUs from number first on until the function that it returns is called.
// Stopping joins the tasks, so that none runs into the next measurement, and clears the variable for
// the next load.
func (s *session) occupy(c smp.Caller, load string, first int) (stop func() error, err error) {
	task, ok := busyTasks()[load]
	if !ok {
		return func() error { return nil }, nil
	}
	var tasks []uint64
	for i := first; i < s.m.CPUs(); i++ {
		t, err := task.spawn(s.k, c, smp.Thread{
			Name: fmt.Sprintf("%s/%d", load, i), CPU: i, Bound: true, Priority: busyPriority, Fn: task.fn,
		})
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, t)
	}
	return func() error {
		if err := s.set(task.over, 1); err != nil {
			return err
		}
		if err := s.k.Join(c, tasks...); err != nil {
			return err
		}
		return s.set(task.over, 0)
	}, nil
}

// set stores a number into a variable of the guest. Loops of the guest see it at their next look; no
// simulated time is charged.
func (s *session) set(name string, v uint64) error {
	sym, _ := s.m.Image().Symbol(name) // of workloads/required.txt
	return s.m.Store(sym.Addr, int(sym.Size), v)
}

// load has the other CPUs do what the workload says; the function that it returns ends that. The
// first CPU stays free for the boot task, which measures.
func (s *session) load() (stop func() error, err error) {
	return s.occupy(s.call, s.p.Workload.Load, 1)
}

// addSites registers probes of the point's kind at the first n sites of the image. Each holds an
// instruction that can be optimized by itself, and neighbours in the list lie in different
// functions. The planner allows no more than there are.
func (s *session) addSites(n int64) error {
	return s.add([]schema.Registration{s.p.Probe.Registration}, workloads.Sites()[:n]...)
}

// removeTogether unregisters all probes of the session with one call, and removeSingly with one call
// each.
func (s *session) removeTogether() error {
	var addrs []uint64
	for _, p := range s.active {
		addrs = append(addrs, p.Addr)
	}
	s.active = nil
	return s.probes.Unregister(s.call, s.p.Probe.Kind, addrs...)
}

func (s *session) removeSingly() error {
	for _, p := range s.active {
		if err := s.probes.Unregister(s.call, s.p.Probe.Kind, p.Addr); err != nil {
			return err
		}
	}
	s.active = nil
	return nil
}

// events keeps the events of some kinds in the order of their times. They come from the machine's
// watchers and take no simulated time.
type events struct {
	kinds []sim.EventKind
	all   []sim.Event
}

// listen begins to keep events. It is called before what it is to see: the past is not kept.
func (s *session) listen(kinds ...sim.EventKind) *events {
	e := &events{kinds: kinds}
	s.m.Watch(func(v sim.Event) {
		if slices.Contains(e.kinds, v.Kind) {
			e.all = append(e.all, v)
		}
	})
	return e
}

// forget drops the events so far. What the registration itself does is no part of a latency.
func (e *events) forget() { e.all = e.all[:0] }

// first returns the time of the first event of a kind and name, name "" standing for any. The error
// names what is missing, for a run that ended too early.
func (e *events) first(kind sim.EventKind, name string) (clock.Ticks, error) {
	for _, v := range e.all {
		if v.Kind == kind && (name == "" || v.Name == name) {
			return v.At, nil
		}
	}
	return 0, fmt.Errorf("no event %s %s came", kind, name)
}

// last returns the time of the last event of a kind, 0 where none came.
func (e *events) last(kind sim.EventKind) (at clock.Ticks) {
	for _, v := range e.all {
		if v.Kind == kind {
			at = v.At
		}
	}
	return at
}

// has reports whether an event of a kind and name came.
func (e *events) has(kind sim.EventKind, name string) bool {
	_, err := e.first(kind, name)
	return err == nil
}

// Units of time as metrics have them.
const (
	perSecond = 1_000_000
	unitMicro = "us"
)

// micros notes a time in microseconds.
func (s *session) micros(m *Measurement, metric string, t clock.Ticks) {
	s.share(m, metric, t, 1)
}

// share notes a time in microseconds over n. Division by the ticks of a cycle rounds down, by less
// than a microsecond over Hz; the rest stays a fraction until it is recorded.
func (s *session) share(m *Measurement, metric string, t clock.Ticks, n int64) {
	m.microsOver(metric, t, n, s.p.Machine.CPU.Hz)
}

// microsOver notes a time over n on a machine of so many hertz.
func (m *Measurement) microsOver(metric string, t clock.Ticks, n, hz int64) {
	m.note(metric, unitMicro, int64(t)*perSecond/int64(clock.PerCycle), hz*n)
}

// cyclesOver notes a number of cycles over n. n is the number of hits or probes that the cycles are
// divided among.
func (m *Measurement) cyclesOver(metric string, t clock.Ticks, n int64) {
	m.note(metric, "cycles", int64(t), int64(clock.PerCycle)*n)
}

// noteHit notes the cost of warm hits and of the first one, beyond the loop without a probe.
func (m *Measurement) noteHit() { m.noteOver(m.Hits, m.First.Hits) }

// noteOver divides the costs by numbers of warm hits and of first ones, or of calls.
func (m *Measurement) noteOver(n, first int64) {
	over := m.Probed.Sub(m.Base)
	m.cyclesOver(results.MetricCycles, over.Time, n)
	m.note(results.MetricInstructions, "instructions", over.Instructions, n)
	m.cyclesOver(results.MetricFirst, m.First.Sub(m.Single).Time, first)
}

// note adds an observation.
func (m *Measurement) note(metric, unit string, num, den int64) {
	m.Quantities = append(m.Quantities, Quantity{metric, unit, num, den})
}
