package sim

import (
	"fmt"
	"strings"
)

// overBudget reports a machine that runs longer than it should.
func (m *Machine) overBudget() error {
	return fmt.Errorf("the budget of %d cycles is used up, the guest may loop for ever (raise budget if it needs more): %s",
		m.cfg.Budget.Cycles(), m.survey())
}

// HaltedError is the end of a run that was not to go on, for a reason that the guest does not know.
type HaltedError struct {
	Reason error
	Where  string // what every CPU did
}

// Error implements error.
func (h *HaltedError) Error() string { return h.Reason.Error() + ": " + h.Where }

// Unwrap returns the reason.
func (h *HaltedError) Unwrap() error { return h.Reason }

// halted ends a run that is not to go on.
func (m *Machine) halted() bool {
	if m.cfg.Halt == nil {
		return false
	}
	err := m.cfg.Halt()
	if err != nil {
		m.Stop(&HaltedError{err, m.survey()})
	}
	return err != nil
}

// stuck reports a machine in which no CPU runs and no event is to come.
func (m *Machine) stuck() error {
	if len(m.cpus) == 1 && m.state[0] == asleep {
		return fmt.Errorf("cpu 0 sleeps and nothing will ever wake it; %s%s", m.where(0), m.explain())
	}
	return fmt.Errorf("all CPUs sleep and nothing will ever wake one: %s", m.survey())
}

// survey says of every CPU what it does, neighbours that do the same together. A machine of 256 CPUs
// would fill screens otherwise.
func (m *Machine) survey() string {
	var out []string
	for i := 0; i < len(m.cpus); {
		what, j := m.doing(i), i+1
		for j < len(m.cpus) && m.doing(j) == what {
			j++
		}
		if j == i+1 {
			out = append(out, fmt.Sprintf("cpu %d: %s", i, what))
		} else {
			out = append(out, fmt.Sprintf("cpus %d-%d: %s", i, j-1, what))
		}
		i = j
	}
	if len(out) == 1 {
		return out[0] + m.explain()
	}
	return "\n  " + strings.Join(out, "\n  ") + m.explain()
}

// explain asks the kernel services, which know why tasks sleep; the machine knows only that CPUs do.
func (m *Machine) explain() string {
	if m.Explain == nil {
		return ""
	}
	if s := strings.TrimSpace(m.Explain()); s != "" {
		return "\n" + s
	}
	return ""
}

// doing says what a CPU does and where.
func (m *Machine) doing(i int) string {
	switch m.state[i] {
	case parked:
		return "not started"
	case asleep:
		if m.hardware.Interrupts(i).Pending() {
			return fmt.Sprintf("halted with interrupts disabled and %s pending, %s", m.hardware.Waiting(i), m.where(i))
		}
		return "halted, " + m.where(i)
	}
	return "runs, " + m.where(i)
}

// where says what a CPU was executing, for error messages. Interrupts that nothing handled and
// instructions that are not modelled are named with it, since they often are the cause.
func (m *Machine) where(i int) string {
	c := m.cpus[i]
	n := c.Counters()
	s := fmt.Sprintf("pc %s", m.describe(c.PC()))
	if n.Unhandled > 0 {
		s += fmt.Sprintf("; %d interrupts were handled by nothing, the last was %s", n.Unhandled, m.cfg.ISA.Exceptions[n.LastUnhandled])
	}
	if n.Unmodelled > 0 {
		s += fmt.Sprintf("; %d instructions were not modelled, the last %s", n.Unmodelled, n.LastUnknown)
	}
	return s
}

// describe names a guest address by symbol, offset and source line.
func (m *Machine) describe(pc uint64) string {
	s := fmt.Sprintf("%#x", pc)
	if name, off, ok := m.image.In(pc); ok {
		s += fmt.Sprintf(" <%s+%#x>", name, off)
	}
	if file, line, ok := m.image.Line(pc); ok {
		s += fmt.Sprintf(" %s:%d", file, line)
	}
	return s
}
