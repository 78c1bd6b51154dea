package sim

import "kprobesim/internal/clock"

// EventKind says what has happened, and so what the fields of an Event mean. Each package declares the
// kinds that it notes.
type EventKind string

// Kinds of events of the machine and of its boards, and the one that every kernel has.
const (
	EventSignal  EventKind = "signal"   // an edge came to one of the lines of CPU, named in Name
	EventIPISend EventKind = "ipi-send" // CPU sent an interprocessor interrupt: Name its mode, ID its number, Arg its destination
	EventIPI     EventKind = "ipi"      // it was accepted at CPU; Arg is the sender
	EventTask    EventKind = "task"     // CPU goes on with the task Name, ID (its task_struct); Arg is 1 for a user task
)

// Event is something worth knowing of at a point of time: an interrupt that was sent, a task that
// began to run, a step of a protocol. At is in ticks. Nothing is kept here: who wants a history
// watches.
type Event struct {
	At   clock.Ticks
	CPU  int
	Kind EventKind
	Name string
	ID   uint64
	Arg  uint64
}

// SwitchTask says that a CPU goes on with another task, which is in the middle of the exceptions of these
// contexts, and returns the contexts of the task before.
func (m *Machine) SwitchTask(cpu int, contexts []uint8) []uint8 {
	return m.cpus[cpu].SwitchExceptionStack(contexts)
}

// Locked says that Go does on a CPU what a kernel does under a lock. Where taking one ends what was fetched before,
// the CPU fetches anew; it matters where stores do not reach instruction caches.
func (m *Machine) Locked(cpu int) {
	if c, ok := m.cpus[cpu].(interface{ Synchronize() }); ok && m.cfg.ISA.LockSyncs {
		c.Synchronize()
	}
}

// OnMark calls f for every mark that code sets, with its CPU and number; nil for none. When f ends the run, the CPU goes no
// further than the mark.
func (m *Machine) OnMark(f func(cpu int, n uint64)) { m.marked = f }

func (m *Machine) mark(cpu int, n uint64) (stop bool) {
	if m.marked == nil {
		return false
	}
	m.marked(cpu, n)
	return m.done
}

// OnSleep calls f for every CPU that halts until an interrupt comes; nil for none.
func (m *Machine) OnSleep(f func(cpu int)) { m.sleeps = f }

// OnCall calls f for every call of a function in Go, with the CPU that makes it, and whenever such a function goes on; nil for none.
func (m *Machine) OnCall(f func(cpu int)) { m.called = f }

// OnInterrupt calls f when the line of an interrupt to a CPU comes up, or another of its lines; nil for none.
func (m *Machine) OnInterrupt(f func(cpu int)) { m.struck = f }

func (m *Machine) strikes(cpu int) {
	if m.struck != nil {
		m.struck(cpu)
	}
}

// Watch calls f for every event that is noted, in the order in which the machine executes, which for
// events of different CPUs may be that of time but for the machine's lookahead. f must not change the
// machine.
func (m *Machine) Watch(f func(Event)) { m.watchers = append(m.watchers, f) }

// Note tells watchers of an event. At 0 stands for the present time of the event's CPU.
func (m *Machine) Note(e Event) {
	if len(m.watchers) != 0 {
		m.note(e)
	}
}

func (m *Machine) note(e Event) {
	if e.At == 0 {
		e.At = m.Now()
		if e.CPU >= 0 && e.CPU < len(m.cpus) && m.state[e.CPU] == running {
			e.At = m.cpus[e.CPU].Now()
		}
	}
	for _, f := range m.watchers {
		f(e)
	}
}
