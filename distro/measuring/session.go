package measuring

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"kprobesim/cpus"
	"kprobesim/distro"
	"kprobesim/distro/attaching"
	"kprobesim/image/linux"
	"kprobesim/internal/clock"
	"kprobesim/internal/host"
	"kprobesim/sim"
)

// session is a machine whose program carries orders out.
type session struct {
	m       *sim.Machine
	kernel  *linux.Kernel
	program *program
	root    []byte        // an archive of the files around the program; nil for none
	reached string        // the marker at which the machine stands
	cpu     int           // and the CPU that has come to it
	watcher cpus.Observer // of the region; nil for none
	all     bool          // it is told of every CPU, and not of the first alone
	tasks   *tasks        // whose switches are followed; nil where they are not
	fields  taskFields    // of the kernel
	ram     host.Pages    // that of the machine, until free
}

// start makes a machine that boots, or that goes on from what Boot kept, without the cost model.
func (l *Lab) start() (*session, error) {
	s := &session{kernel: l.config.Kernel, program: l.program, root: l.root, fields: l.fields}
	c := l.config
	c.Zeroed = s.ram.Zeroed
	m, err := distro.Start(c, distro.Stop{})
	if err != nil {
		s.free()
		return nil, err
	}
	m.LookFrom(l.cpu)
	s.m = m
	s.observe(nil)
	return s, nil
}

// free gives the RAM back: nothing may look at the machine any more.
func (s *session) free() { _ = s.ram.Free() } // the host takes it back at the end anyway

// observe has the program's markers looked for, and tells o of every instruction of the first CPU, or of all of them, if it is
// not nil.
func (s *session) observe(o cpus.Observer) {
	s.watcher = o
	for i := range s.m.CPUs() {
		s.m.CPU(i).ObserveCode(s, append(s.program.spans(), s.tasks.spans()...), o != nil && (s.all || i == 0))
	}
}

// Block implements cpus.BlockObserver, for a watcher that does.
func (s *session) Block(pc uint64, code []byte) bool {
	w, ok := s.watcher.(cpus.BlockObserver)
	return ok && w.Block(pc, code)
}

// Step implements cpus.Observer.
func (s *session) Step(st *cpus.Step) {
	if s.watcher != nil && (s.all || st.CPU == 0) {
		s.watcher.Step(st)
	}
	s.tasks.step(s.m, st)
	if name := s.program.marker(st.PC); name != "" && st.User {
		s.reached, s.cpu = name, st.CPU
		s.m.LookFrom(st.CPU)
		s.m.CPU(st.CPU).Break()
		s.m.End(name)
	}
}

// until runs to a marker.
func (s *session) until(marker string) error {
	s.m.Resume()
	err := s.m.Run()
	switch end := s.m.Ended(); {
	case err != nil:
	case end == marker:
		return nil
	case slices.Contains(markers[:], end):
		err = fmt.Errorf("the program came to %s before %s: an order failed", end, marker)
	case end == distro.Panicked:
		err = errors.New("the kernel panicked")
	default:
		err = fmt.Errorf("the machine ended (%s) before the program came to %s", end, marker)
	}
	return fmt.Errorf("%w; the end of the console:\n%s", err, s.tail())
}

// tail is the end of what the kernel has printed.
func (s *session) tail() string {
	const keep = 800
	text := s.m.Console()
	return text[max(0, len(text)-keep):]
}

// give writes orders into the memory of the program, which stands at mark_orders.
func (s *session) give(commands []command) error {
	at, b := s.program.symbols["orders"], encode(commands)
	if uint64(len(b)) > at.Size {
		return fmt.Errorf("the orders have %d bytes, and the program takes %d: strip modules of debugging information", len(b), at.Size)
	}
	return s.m.WriteBytes(at.Value, b)
}

// answers reads what the program said to orders.
func (s *session) answers(commands []command) ([][]byte, error) {
	at := s.program.symbols["answers"]
	b, err := s.m.ReadBytes(at.Value, int(at.Size))
	if err != nil {
		return nil, err
	}
	out, err := decode(b, commands)
	if err != nil {
		return nil, fmt.Errorf("%w; the end of the console:\n%s", err, s.tail())
	}
	return out, nil
}

// do has the program carry orders out, none of which is a loop.
func (s *session) do(commands ...command) ([][]byte, error) {
	if len(commands) == 0 {
		return nil, nil
	}
	if err := s.give(commands); err != nil {
		return nil, err
	}
	if err := s.until(markers[0]); err != nil {
		return nil, err
	}
	return s.answers(commands)
}

// timed has the CPUs execute with or without the cost model.
func (s *session) timed(on bool) {
	until := clock.Ticks(math.MaxInt64)
	if on {
		until = 0
	}
	for i := range s.m.CPUs() {
		s.m.CPU(i).Untimed(clock.PerCycle, until)
	}
}

// loop runs a loop with the cost model and returns what the region of interest took.
func (s *session) loop(number, warm, calls int, w Watch, attached *attaching.Attached) (*Region, error) {
	order := numbers(run, "run the loop", number, warm, calls)
	if err := s.give([]command{order}); err != nil {
		return nil, err
	}
	if err := s.until("mark_warm"); err != nil {
		return nil, err
	}
	s.timed(true)
	if err := s.until("mark_begin"); err != nil {
		return nil, err
	}
	before, _, err := s.counted(attached)
	if err != nil {
		return nil, err
	}
	if w != nil {
		s.observe(w(s.m))
	}
	start := *s.m.CPU(0).Counters()
	if err := s.until("mark_end"); err != nil {
		return nil, err
	}
	r := &Region{Counters: s.m.CPU(0).Counters().Sub(&start)}
	s.observe(nil)
	s.timed(false)
	if r.Counted, r.Counts, err = s.counted(attached); err != nil {
		return nil, err
	}
	r.Counted -= before
	r.Ticks, r.Instructions = r.Counters.Total(), r.Counters.Instructions
	for _, t := range r.Counters.Time[cpus.Interrupted] {
		r.Interrupted += t
	}
	r.Breakpoints, r.Debug = r.Counters.Exceptions[s.arch().breakpoint], r.Counters.Exceptions[s.arch().debug]
	if err := s.until(markers[0]); err != nil {
		return nil, err
	}
	_, err = s.answers([]command{order})
	return r, err
}
