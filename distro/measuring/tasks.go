package measuring

import (
	"kprobesim/cpus"
	"kprobesim/sim"
)

// tasks follows which tasks a kernel switches between. A task that was preempted in an interrupt goes on in it, and one that was
// not goes on in none, so that what tasks do is not taken for the work of interrupts. A nil tasks follows nothing.
type tasks struct {
	at       uint64             // the function that switches, with the task before and the next one as arguments
	contexts map[uint64][]uint8 // what tasks are in the middle of, by their addresses
}

// switchTo is that function in kernels of x86.
const switchTo = "__switch_to"

// newTasks follows the tasks of a machine, from one that is in the middle of nothing on every CPU.
func newTasks(m *sim.Machine) *tasks {
	for i := range m.CPUs() {
		m.SwitchTask(i, nil)
	}
	at, ok := m.Image().Symbol(switchTo)
	if !ok {
		return nil
	}
	return &tasks{at: at.Addr, contexts: map[uint64][]uint8{}}
}

// spans is the instruction that is to be looked for.
func (t *tasks) spans() [][2]uint64 {
	if t == nil {
		return nil
	}
	return [][2]uint64{{t.at, t.at + 1}}
}

// step is told of instructions.
func (t *tasks) step(m *sim.Machine, st *cpus.Step) {
	if t == nil || st.PC != t.at || st.User {
		return
	}
	before, next := m.CPU(st.CPU).Arg(0), m.CPU(st.CPU).Arg(1)
	to := t.contexts[next]
	delete(t.contexts, next)
	if from := m.SwitchTask(st.CPU, to); len(from) > 0 {
		t.contexts[before] = from
	}
}
