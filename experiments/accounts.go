package experiments

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/results"
)

// AccountsName is the file of a results directory that says what every CPU spent its time on.
const AccountsName = "cpus.csv"

// account is what a CPU spends time on.
type account uint8

const (
	forWorkload account = iota
	forUser
	forProbes
	forInterrupts
	forStop
	forKernel
	forIdle
	accounts
)

// accountNames are the columns of the accounts.
func accountNames() []string {
	return []string{
		forWorkload: "workload", forUser: "user", forProbes: "probes", forInterrupts: "interrupts",
		forStop: "stop_machine", forKernel: "kernel", forIdle: "idle",
	}
}

// Accounts is the time of one CPU in the measured stretch by what it was spent on.
type Accounts [accounts]clock.Ticks

// accountOf says what code of a phase in an exception context serves. The entry and the return of
// exceptions serve probes and interrupts alike: there the context decides.
func accountOf(phase string, context int) account {
	switch phase {
	case workloadPhase:
		return forWorkload
	case userPhase:
		return forUser
	case "idle":
		return forIdle
	case "stop":
		return forStop
	case "irq":
		return forInterrupts
	}
	if slices.Contains(probePhases(), phase) {
		return forProbes
	}
	switch context {
	case cpus.Breakpoint, cpus.SingleStep:
		return forProbes
	case cpus.Interrupted:
		return forInterrupts
	}
	return forKernel
}

// probePhases are the phases of code that only probes execute.
func probePhases() []string { return []string{"dispatch", "handler", "step", "kretprobe", "detour"} }

// reading is what the counters of all CPUs say at a time.
type reading struct {
	at  clock.Ticks
	all []cpus.Counters
}

// settle lets the other CPUs catch up with the caller's, which is ahead after work that is charged.
func (s *session) settle() error {
	if s.m.CPUs() == 1 {
		return nil
	}
	_, err := s.call.InvokeSym("catch_up")
	return err
}

// read takes a reading. A CPU that sleeps has counted up to when it fell asleep.
func (s *session) read() reading {
	r := reading{at: s.m.Now()}
	for i := range s.m.CPUs() {
		r.all = append(r.all, *s.m.CPU(i).Counters())
	}
	return r
}

// account adds up what every CPU spent its time on from one reading to another.
func (s *session) account(from, to reading) []Accounts {
	out := make([]Accounts, len(to.all))
	for i := range out {
		d := to.all[i].Sub(&from.all[i])
		var busy clock.Ticks
		for context := range d.Time {
			for phase, name := range s.p.ISA.Phases {
				a := accountOf(name, context)
				out[i][a] += d.Time[context][phase]
				if a != forIdle {
					busy += d.Time[context][phase]
				}
			}
		}
		out[i][forIdle] = max(out[i][forIdle], to.at-from.at-busy)
	}
	return out
}

// accountsCSV writes the accounts of every point: one line a CPU, in cycles. It returns nil when no
// point has any.
func accountsCSV(outcomes []Outcome) ([]byte, error) {
	t := accountsTable(outcomes)
	if len(t.Rows) == 0 {
		return nil, nil
	}
	var b bytes.Buffer
	for i, c := range t.Columns {
		fmt.Fprintf(&b, "%s%s", separator(i), c.Title)
	}
	for _, row := range t.Rows {
		b.WriteString("\n")
		for i, cell := range row {
			if err := results.CheckField(cell); err != nil {
				return nil, fmt.Errorf("accounts: %q %w", cell, err)
			}
			fmt.Fprintf(&b, "%s%s", separator(i), cell)
		}
	}
	b.WriteString("\n")
	return b.Bytes(), nil
}

func separator(column int) string {
	if column == 0 {
		return ""
	}
	return ","
}

// accountsTable tabulates the accounts of every point.
func accountsTable(outcomes []Outcome) *results.Table {
	t := &results.Table{
		Columns: []results.Column{{Title: "point"}, {Title: "cpu", Align: results.Right}},
		Notes:   []string{"cycles of every CPU in the measured stretch"},
	}
	for _, name := range append(accountNames(), "total") {
		t.Columns = append(t.Columns, results.Column{Title: name, Align: results.Right})
	}
	for _, o := range outcomes {
		if o.Err != nil {
			continue
		}
		for i, a := range o.Measurement.Accounts {
			row := []string{o.Point.Name, strconv.Itoa(i)}
			var total clock.Ticks
			for _, v := range a {
				row = append(row, strconv.FormatInt(v.Cycles(), 10))
				total += v
			}
			t.Rows = append(t.Rows, append(row, strconv.FormatInt(total.Cycles(), 10)))
		}
	}
	return t
}

// Accounts tabulates what every CPU spent its time on, point by point.
func (r *Report) Accounts() *results.Table {
	t := accountsTable(r.Outcomes)
	t.Title = "What every CPU did: " + r.Plan.Title
	t.BlankRepeats(1)
	return t
}
