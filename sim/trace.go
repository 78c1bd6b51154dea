package sim

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"kprobesim/cpus"
	"kprobesim/image"
	"kprobesim/internal/clock"
)

// Tracer is an observer that writes one line for every instruction: when it retired, what it cost
// and why, where it lies and what it does. Close writes a summary.
type Tracer struct {
	w   *bufio.Writer
	im  *image.Image
	isa *cpus.ISA
	err error // the first failed write

	started      bool
	first, last  clock.Ticks // retirement before the first instruction, and of the last one
	instructions int64
	spent        clock.Ticks // by instructions; the rest was native calls or sleep
	deliver      delivery
	phaseTime    []clock.Ticks
	phaseCount   []int64
	phases       []image.Phase // that came, in their order
	whyScratch   []string
	user         []bool // by CPU: the last instruction was executed in user mode
}

// NewTracer returns a tracer of guest code of the given image that writes to w.
func NewTracer(w io.Writer, im *image.Image, isa *cpus.ISA) *Tracer {
	return &Tracer{w: bufio.NewWriter(w), im: im, isa: isa}
}

const (
	traceHead = "%10s %9s %3s %-10s %-18s %-34s %-44s %-32s %s\n"
	traceLine = "%10s %9s %3d %-10s 0x%016x %-34s %-44s %-32s %s"
)

// Step implements cpus.Observer.
func (t *Tracer) Step(s *cpus.Step) {
	if t.err != nil {
		return
	}
	if !t.started {
		t.started, t.first = true, s.Start
		t.header()
	}
	t.level(s)
	cost := s.End - s.Start
	phase := stepPhase(s)
	t.count(phase, t.deliver.share(s))
	t.last = s.End
	text, _ := t.isa.Disasm(s.Code, s.PC, t.im.SymbolOff)
	source := ""
	if file, line, ok := t.im.Line(s.PC); ok {
		source = fmt.Sprintf("%s:%d", file, line)
	}
	line := fmt.Sprintf(traceLine, formatCycles(s.End-t.first), formatCycles(cost), s.CPU, phase, s.PC,
		t.im.SymbolText(s.PC), text, t.why(s, cost), source)
	t.printf("%s\n", strings.TrimRight(line, " "))
}

// level says when a CPU goes to user mode or comes back. Only changes are written, so traces of
// kernels without user tasks have no such line.
func (t *Tracer) level(s *cpus.Step) {
	for len(t.user) <= s.CPU {
		t.user = append(t.user, false)
	}
	if t.user[s.CPU] == s.User {
		return
	}
	t.user[s.CPU] = s.User
	mode := "kernel"
	if s.User {
		mode = "user"
	}
	t.printf("# cpu %d is in %s mode\n", s.CPU, mode)
}

// header explains the columns.
func (t *Tracer) header() {
	t.printf("# One line an instruction of %s. cycle: when it retired, in cycles from the start of "+
		"the trace;\n# cost: cycles since the instruction before it retired; why: what the cost is "+
		"made of.\n", t.im.Name)
	t.printf(traceHead, "cycle", "cost", "cpu", "phase", "address", "symbol+offset", "instruction",
		"why (cycles)", "source")
}

// count adds an instruction to the summary.
func (t *Tracer) count(phase image.Phase, cost clock.Ticks) {
	t.instructions++
	t.spent += cost
	i := slices.Index(t.phases, phase)
	if i < 0 {
		i = len(t.phases)
		t.phases = append(t.phases, phase)
		t.phaseTime = append(t.phaseTime, 0)
		t.phaseCount = append(t.phaseCount, 0)
	}
	t.phaseTime[i] += cost
	t.phaseCount[i]++
}

// why says what an instruction's cost is made of. Delays may overlap with delays of instructions
// before it, so that they can exceed the cost.
func (t *Tracer) why(s *cpus.Step, cost clock.Ticks) string {
	parts, rest := t.whyScratch[:0], cost
	st := &s.Stalls
	if s.Exception != "" && st.Exception == 0 {
		parts = append(parts, "exception "+s.Exception)
	}
	for _, p := range [...]struct {
		name  string
		delay clock.Ticks
	}{
		{"icache", st.ICache},
		{"itlb", st.ITLB},
		{"dcache", st.DCache},
		{"split", st.Split},
		{"dtlb", st.DTLB},
		{"clear", st.Clear},
		{"mispredict", st.Mispredict},
		{strings.TrimSpace("exception " + s.Exception), st.Exception},
	} {
		if p.delay != 0 {
			parts = append(parts, p.name+" "+formatCycles(p.delay))
			rest -= p.delay
		}
	}
	t.whyScratch = parts
	switch text := strings.Join(parts, " + "); {
	case text == "":
		return "base"
	case rest > 0:
		return "base " + formatCycles(rest) + " + " + text
	case rest < 0:
		return text + ", overlapped"
	default:
		return text
	}
}

// Close writes the summary and reports the first error of writing.
func (t *Tracer) Close() error {
	if t.started {
		t.summary()
	}
	if err := t.w.Flush(); t.err == nil {
		t.err = err
	}
	if t.err != nil {
		return fmt.Errorf("writing the trace: %w", t.err)
	}
	return nil
}

// summary adds up instructions and cycles by phase, in the order in which the phases came.
func (t *Tracer) summary() {
	t.printf("# %d instructions, %s cycles; delivering an exception counts for the phase that it "+
		"leads to\n", t.instructions, formatCycles(t.last-t.first))
	t.printf("# %-12s %12s %14s\n", "phase", "instructions", "cycles")
	for i, p := range t.phases {
		t.printf("# %-12s %12d %14s\n", p, t.phaseCount[i], formatCycles(t.phaseTime[i]))
	}
	if other := t.last - t.first - t.spent - t.deliver.waiting(); other != 0 {
		t.printf("# %-12s %12s %14s\n", "(native)", "", formatCycles(other))
	}
}

func (t *Tracer) printf(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format, args...)
	}
}

// stepPhase is the phase that an instruction counts for: the one of its code, but everything from the
// delivery of a single-step exception to its return is image.PhaseStep.
func stepPhase(s *cpus.Step) image.Phase {
	if s.Context == cpus.SingleStep {
		return image.PhaseStep
	}
	return image.Phase(s.Phase)
}

// delivery moves the time in which an exception is delivered from the instruction that it ends to
// the next one, the first of the handler: that is the phase which it is part of, and which the
// counters of a CPU charge. Tracer and Profile share it, so that their sums by phase agree with the
// counters.
type delivery struct {
	owed []clock.Ticks // by CPU
}

// share is the time that an instruction answers for. It is never negative: what is owed is at most
// the cost of the instruction.
func (d *delivery) share(s *cpus.Step) clock.Ticks {
	for len(d.owed) <= s.CPU {
		d.owed = append(d.owed, 0)
	}
	cost := s.End - s.Start
	t := cost + d.owed[s.CPU]
	d.owed[s.CPU] = 0
	if s.Exception != "" {
		d.owed[s.CPU] = min(cost, s.Stalls.Exception)
	}
	return t - d.owed[s.CPU]
}

// waiting is the time for which no instruction has answered yet.
func (d *delivery) waiting() clock.Ticks {
	var t clock.Ticks
	for _, o := range d.owed {
		t += o
	}
	return t
}

// formatCycles writes a time in cycles exactly: "3", "1.25", or "2+1/3" where no decimal ends. Ticks
// are sixtieths of a cycle, so decimals end only for multiples of three ticks.
func formatCycles(t clock.Ticks) string {
	if t < 0 {
		return "-" + formatCycles(-t)
	}
	whole, part := t/clock.PerCycle, t%clock.PerCycle
	if part == 0 {
		return fmt.Sprint(int64(whole))
	}
	if part%3 == 0 { // a multiple of 1/20 cycle
		hundredths := part * 100 / clock.PerCycle
		return strings.TrimSuffix(fmt.Sprintf("%d.%02d", whole, hundredths), "0")
	}
	n, d := part, clock.PerCycle
	for _, p := range [...]clock.Ticks{2, 2, 3, 5} { // the primes of 60
		if n%p == 0 && d%p == 0 {
			n, d = n/p, d/p
		}
	}
	if whole == 0 {
		return fmt.Sprintf("%d/%d", n, d)
	}
	return fmt.Sprintf("%d+%d/%d", whole, n, d)
}
