package measuring

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/sim"
)

// tasks follows which tasks a kernel switches between. A task that was preempted in an interrupt goes on in it, and one that was
// not goes on in none, so that what tasks do is not taken for the work of interrupts. A nil tasks follows nothing.
type tasks struct {
	at       uint64             // the function that switches, with the task before and the next one as arguments
	named    uint64             // the function that names a task when it executes another program; 0 for none
	contexts map[uint64][]uint8 // what tasks are in the middle of, by their addresses
	fields   taskFields
	next     int           // argument of that function: the next task
	since    []clock.Ticks // the work of each CPU when its present task came
	current  []uint64      // the present task of each CPU; 0 where it is not known yet
	over     bool          // the region has ended, and since holds what its last tasks did
	spent    map[string]clock.Ticks
}

// taskFields are where fields of a task lie in it, in bytes; both are zero where the kernel does not tell.
type taskFields struct{ name, flags uint64 }

// Names of functions of kernels. On ARM, what switchTo has as its third argument (thread_info) is at the start of the next task.
const (
	switchTo = "__switch_to"
	nameTask = "__set_task_comm"
)

// kernelThreads is the name for all tasks that are part of no process.
const kernelThreads = "kernel threads"

// newTasks follows the tasks of a machine, from one that is in the middle of nothing on every CPU.
func newTasks(m *sim.Machine, fields taskFields) *tasks {
	t := &tasks{contexts: map[uint64][]uint8{}, fields: fields, next: archOf(m.Image().Machine).next, spent: map[string]clock.Ticks{}}
	for i := range m.CPUs() {
		m.SwitchTask(i, nil)
		t.since, t.current = append(t.since, work(m, i)), append(t.current, 0)
	}
	at, ok := m.Image().Symbol(switchTo)
	if !ok {
		return nil
	}
	t.at = at.Addr
	if at, ok := m.Image().Symbol(nameTask); ok {
		t.named = at.Addr
	}
	return t
}

// work returns the time of a CPU so far, without sleep and interrupts.
func work(m *sim.Machine, cpu int) clock.Ticks {
	s := Share{*m.CPU(cpu).Counters(), m.Slept(cpu)}
	return s.Work()
}

// spans are the instructions that are to be looked for.
func (t *tasks) spans() (out [][2]uint64) {
	if t == nil {
		return nil
	}
	for _, at := range []uint64{t.at, t.named} {
		if at != 0 {
			out = append(out, [2]uint64{at, at + 1})
		}
	}
	return out
}

// step is told of instructions.
func (t *tasks) step(m *sim.Machine, st *cpus.Step) {
	if t == nil || st.User {
		return
	}
	c := m.CPU(st.CPU)
	switch st.PC {
	case t.named:
		const another = 2 // argument: the task executes another program
		if t.named != 0 && c.Arg(another)&1 != 0 {
			t.book(m, st.CPU, c.Arg(0))
		}
		if now := t.current[st.CPU]; t.named != 0 && (now == 0 || now == c.Arg(0)) { // and no other's name
			t.note(m, st.CPU, c.Arg(0), c.Arg(1))
		}
	case t.at:
		before, next := c.Arg(0), c.Arg(t.next)
		t.book(m, st.CPU, before)
		to := t.contexts[next]
		delete(t.contexts, next)
		if from := m.SwitchTask(st.CPU, to); len(from) > 0 {
			t.contexts[before] = from
		}
		t.current[st.CPU] = next
		t.note(m, st.CPU, next, next+t.fields.name)
	}
}

// note tells watchers which task a CPU goes on with, whose name lies at an address. A kernel without types does not tell of names.
func (t *tasks) note(m *sim.Machine, cpu int, task, nameAt uint64) {
	if t.fields == (taskFields{}) {
		return
	}
	name, _, _ := bytes.Cut(t.field(m, cpu, nameAt, 16), []byte{0})
	e := sim.Event{CPU: cpu, Kind: sim.EventTask, Name: string(name), ID: task}
	switch {
	case strings.HasPrefix(e.Name, "swapper/"):
		e.Name = "idle"
	case t.process(m, cpu, task) != kernelThreads:
		e.Arg = 1
	}
	m.Note(e)
}

// book adds the work of a CPU since its task came to that of the task's process.
func (t *tasks) book(m *sim.Machine, cpu int, task uint64) {
	if t.over {
		t.spent[t.process(m, cpu, task)] += t.since[cpu]
		t.since[cpu] = 0
		return
	}
	now := work(m, cpu)
	t.spent[t.process(m, cpu, task)] += now - t.since[cpu]
	t.since[cpu] = now
}

// end ends the region. What its last tasks are called shows when they go.
func (t *tasks) end(m *sim.Machine) {
	if t == nil {
		return
	}
	t.over = true
	for i := range t.since {
		t.since[i] = work(m, i) - t.since[i]
	}
}

// process names the process of a task.
func (t *tasks) process(m *sim.Machine, cpu int, task uint64) string {
	const kernelThread = 0x00200000 // PF_KTHREAD
	flags, name := t.field(m, cpu, task+t.fields.flags, 4), t.field(m, cpu, task+t.fields.name, 16)
	if flags == nil || name == nil || binary.LittleEndian.Uint32(flags)&kernelThread != 0 {
		return kernelThreads
	}
	name, _, _ = bytes.Cut(name, []byte{0})
	return string(name)
}

// field reads memory of the kernel.
func (t *tasks) field(m *sim.Machine, cpu int, at uint64, n int) []byte {
	pa, ok := m.CPU(cpu).Translate(at)
	if !ok {
		return nil
	}
	b, err := m.ReadPhysical(pa, n)
	if err != nil {
		return nil
	}
	return b
}

// Process holds the work of the tasks of one name in the region.
type Process struct {
	Name string // as the kernel has it, of at most 15 bytes; the kernel's own threads are together
	Work clock.Ticks
}

// processes lists who has worked, by name; nil where the kernel does not tell. A CPU that no task has left idles in one of the kernel.
func (t *tasks) processes() (out []Process) {
	if t == nil || t.fields == (taskFields{}) {
		return nil
	}
	for i, left := range t.since {
		t.spent[kernelThreads] += left
		t.since[i] = 0
	}
	for name, w := range t.spent {
		if w != 0 {
			out = append(out, Process{name, w})
		}
	}
	slices.SortFunc(out, func(a, b Process) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
