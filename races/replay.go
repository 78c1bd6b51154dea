package races

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"kprobesim/cpus"
	"kprobesim/sim"
)

// Replay runs schedule n again and writes what every CPU executed, instruction by instruction. The machine runs the schedules before it in its
// batch first, as they decide in which state it begins.
func Replay(s *Scenario, v *Variant, opt Options, n uint64, show Shown, w io.Writer) (*Outcome, error) {
	if err := opt.Check(); err != nil {
		return nil, err
	}
	l, err := newLab(s, v, opt.Mutant)
	if err != nil {
		return nil, err
	}
	opt = opt.of(s, v)
	r := &recorder{l: l, n: n, lines: show.Lines}
	l.watch = r.attach
	o, err := r.run(&opt)
	if err != nil {
		return nil, err
	}
	return o, r.show(w, show, o)
}

// Debug runs schedule n again, and the schedules before it in its batch, as Replay does. Attach is told of the machine before its first
// instruction. What it returns is called where a violation is found, and at the end.
func Debug(s *Scenario, v *Variant, opt Options, n uint64, attach func(*sim.Machine, func() (string, error)) func(error)) error {
	if err := opt.Check(); err != nil {
		return err
	}
	l, err := newLab(s, v, opt.Mutant)
	if err != nil {
		return err
	}
	opt = opt.of(s, v)
	l.watch, l.attach = func(*trial) {}, attach
	_, err = (&recorder{l: l, n: n}).run(&opt)
	return err
}

// attach connects a debugger with the machine of a trial, before its first instruction; nil without one.
func (t *trial) attach() func(*sim.Machine) func(error) {
	if t.l.attach == nil || t.l.watch == nil {
		return nil
	}
	return func(m *sim.Machine) func(error) {
		t.e.stand = t.l.attach(m, t.k.List)
		return t.e.stand
	}
}

// recorder keeps the last lines of one schedule.
// A schedule can have millions of steps and the last ones matter, so older lines make
// room.
type recorder struct {
	l     *lab
	n     uint64
	lines int
	t     *trial
	kept  []string
	at    int // of the oldest one, when kept is full
	total int
	tell  teller
}

// run runs the batch, or the plan, up to schedule n.
// It boots where the batch began: what earlier schedules left behind decides in which state this
// one begins.
func (r *recorder) run(opt *Options) (*Outcome, error) {
	if opt.Policy == Exhaustive {
		return r.runPlan(opt)
	}
	res := runBatch(opt, r.l.run, r.n/opt.perMachine()*opt.perMachine(), r.n%opt.perMachine()+1)
	if res.err != nil {
		return nil, res.err
	}
	return &res.outcomes[len(res.outcomes)-1], nil
}

// runPlan finds out which plan has number n by running all before it, and runs it.
// Numbers of plans follow from what shorter plans found on their way, so there is no shorter way
// to it.
func (r *recorder) runPlan(opt *Options) (*Outcome, error) {
	watch := r.l.watch
	r.l.watch = nil
	to := *opt
	to.Schedules, to.Enough = r.n+1, 0
	t, err := search(&to, r.l.run)
	if err != nil {
		return nil, err
	}
	if t.Schedules <= r.n {
		return nil, fmt.Errorf("schedule %d: there are only %d plans of at most %d preemptions", r.n, t.Schedules, opt.Preemptions)
	}
	r.l.watch = watch
	out, err := r.l.run(&bounded{plan: t.last}, r.n, 1)
	if err != nil || len(out) == 0 {
		return nil, errors.Join(err, fmt.Errorf("schedule %d ended without an outcome", r.n))
	}
	return &out[0], nil
}

// attach listens to a machine. It looks at every instruction from the first schedule on, so that what
// stands before schedule n need not be told apart.
func (r *recorder) attach(t *trial) {
	r.t, t.acting = t, r.tell.acts
	t.e.started = func(n uint64) {
		r.tell.attach(t)
		r.kept, r.at, r.total = nil, 0, 0
		if n != r.n {
			return
		}
		t.watch(&both{r, t.checker}, true)
	}
	t.m.Watch(func(e sim.Event) {
		if t.e.active && t.e.n == r.n {
			r.line(fmt.Sprintf("%8s  cpu %d  ---- %s", "", e.CPU, eventText(e)))
			r.tell.event(e)
		}
	})
}

// both passes steps to the recorder first, so that the last line is the instruction that was wrong.
type both struct {
	r *recorder
	c *checker
}

// Step implements cpus.Observer.
func (b *both) Step(s *cpus.Step) {
	b.r.step(s)
	b.c.Step(s)
	if b.r.t.e.active {
		b.r.tell.stepped(s)
	}
}

// step writes one instruction.
// Its number counts the instructions of all CPUs since the schedule began, as that of a violation
// does.
func (r *recorder) step(s *cpus.Step) {
	if !r.t.e.active || r.t.e.n != r.n {
		return
	}
	r.tell.step(s)
	text, _ := r.l.isa.Disasm(s.Code, s.PC, r.l.im.SymbolOff)
	mark := " "
	if r.t.checker.code.hot(s.PC) {
		mark = "*"
	}
	line := fmt.Sprintf("%8d%s cpu %d  %016x  %-32s %-24s %s", r.t.e.steps(), mark, s.CPU, s.PC, r.l.im.SymbolText(s.PC),
		fmt.Sprintf("% x", s.Code), text)
	if s.Exception != "" {
		line += "  -> " + s.Exception
	}
	r.line(line)
}

// line keeps one line, and forgets the oldest one when there are too many.
func (r *recorder) line(s string) {
	r.total++
	if r.lines == 0 || len(r.kept) < r.lines {
		r.kept = append(r.kept, s)
		return
	}
	r.kept[r.at] = s
	r.at = (r.at + 1) % len(r.kept)
}

// eventText says what a part of the kernel has told.
// Addresses stay numbers here, because the ID of an event may be something else.
func eventText(e sim.Event) string {
	return strings.TrimSpace(fmt.Sprintf("%s %s id %#x arg %#x", e.Kind, e.Name, e.ID, e.Arg))
}

// write writes the lines that were kept and what came out.
// Errors of the single lines stick in the buffered writer and come out of its Flush.
func (r *recorder) write(to io.Writer, o *Outcome) error {
	w := bufio.NewWriter(to)
	fmt.Fprintf(w, "# schedule %d of %s/%s: step, * for code that a patch could concern, cpu, address, place, bytes, instruction\n",
		o.N, r.l.s.Name, r.l.v.Name)
	if r.total > len(r.kept) {
		fmt.Fprintf(w, "# the last %d of %d lines\n", len(r.kept), r.total)
	}
	for i := range r.kept {
		fmt.Fprintln(w, r.kept[(r.at+i)%len(r.kept)])
	}
	if o.Violation == nil {
		fmt.Fprintf(w, "# %d steps, no violation\n", o.Steps)
	} else {
		fmt.Fprintf(w, "# %s\n", o.Violation)
	}
	return errors.Join(w.Flush(), r.writeTable(to, o))
}

// show writes what is asked for.
func (r *recorder) show(w io.Writer, show Shown, o *Outcome) error {
	if err := r.write(w, o); err != nil || show.Timeline == nil || r.tell.t == nil {
		return err
	}
	return r.tell.draw(show.Timeline, fmt.Sprintf("schedule %d of %s/%s", o.N, r.l.s.Name, r.l.v.Name))
}

// writeTable writes what led to a violation.
func (r *recorder) writeTable(w io.Writer, o *Outcome) error {
	if r.tell.t == nil || o.Violation == nil {
		return nil
	}
	_, err := fmt.Fprintf(w, "\n%s\n", strings.Join(r.tell.lines(), "\n"))
	return err
}
