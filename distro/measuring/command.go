package measuring

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"kprobesim/cpus"
	"kprobesim/distro"
	"kprobesim/distro/attaching"
	"kprobesim/internal/clock"
	"kprobesim/sim"
)

// Command says what to run of the root file system, and what to attach before.
type Command struct {
	Args, Env []string // the first argument is the path of the program
	Folder    string   // where it starts; "" for the root
	// Warm is how often the command runs before the region of interest, with the cost model.
	Warm int
	// Marks has the region begin and end at marks that the command sets (distro/init/mark.h): at the first mark 1, and the
	// first mark 2 behind it. Without them the region is the whole command, from before it is executed until it has ended.
	Marks bool
	// Random is mixed into the kernel's random numbers before the first run, and so moves the program's memory; nil for none.
	Random []byte
	// Attach is attached before the first run; nil for nothing. Attached, if it is not nil, is told what came of it.
	Attach   *attaching.Attachment
	Attached func(*attaching.Attached)
	// Tool is a command that attaches programs itself, in place of Attach, and goes on during the region; nil for none. It has
	// Settle milliseconds before the first run.
	Tool   []string
	Settle int
}

// Outcome holds what a command did in its region of interest, and what it said.
type Outcome struct {
	Ticks clock.Ticks // from the beginning to the end
	CPUs  []Share     // what each CPU did meanwhile
	// Processes are the same work by process; nil for a kernel without types.
	Processes []Process
	// Counted is how often a program of BPF counted itself in the region; Counts reports whether it does.
	Counted uint64
	Counts  bool
	Status  Status
	Refused []cpus.Refusal // what programs executed that is not modelled
	Output  []byte         // what the last run has written to its standard output and errors
	Cut     bool           // that is not all
	Console string
}

// Share is the part of one CPU.
type Share struct {
	Counters cpus.Counters // differences over the region
	Slept    clock.Ticks   // the part of its time in which it waited for interrupts
}

// Interrupted is the time that went to interrupts, without what the CPU slept in it.
func (s *Share) Interrupted() (sum clock.Ticks) {
	for _, t := range s.Counters.Time[cpus.Interrupted] {
		sum += t
	}
	return sum
}

// Work returns the time of the CPU without sleep and interrupts.
func (s *Share) Work() clock.Ticks { return s.Counters.Total() - s.Slept - s.Interrupted() }

// Status is how a command ended, as wait4(2) tells it.
type Status uint32

// Err is nil for a command that ended with 0.
func (s Status) Err() error {
	switch signal := s & 0x7f; {
	case signal != 0:
		return fmt.Errorf("the command was killed by signal %d", signal)
	case s != 0:
		return fmt.Errorf("the command ended with exit status %d", s>>8&0xff)
	}
	return nil
}

// BootWorking boots a kernel for commands. The root file system is a cpio archive, packed or not; d is mounted in it before each
// command, as it is here, if it is not nil.
func BootWorking(c distro.Config, root []byte, d *Disk) (*Lab, error) {
	f, err := distro.Work(c.Kernel)
	if err != nil {
		return nil, err
	}
	c.Initrd = root
	if d == nil {
		return boot(c, f)
	}
	c.Persistent = len(d.Image)
	l, err := boot(c, f)
	if err == nil {
		l.disk = d
	}
	return l, err
}

// Within is the lab with a bound of simulated time for each of its runs.
func (l *Lab) Within(t clock.Ticks) *Lab {
	other := *l
	other.config.Budget = l.booted + t
	return &other
}

// maxOutput bounds what is kept of a command's output, in bytes.
const maxOutput = 4 << 20

// Command runs a command from the state that BootWorking kept. It may be called any number of times; the same order gives the
// same outcome. A command that fails is no error here: its Status tells. w is told of every instruction of all CPUs in the
// region; a nil w of none.
func (l *Lab) Command(o Command, w Watch) (*Outcome, error) {
	s, err := l.start()
	if err != nil {
		return nil, err
	}
	defer s.free()
	if err := l.disk.mount(s, l.config.PersistentAt()); err != nil {
		return nil, fmt.Errorf("disk: %w", err)
	}
	if err := s.tool(&o); err != nil {
		return nil, err
	}
	count, err := l.attachCounted(s, &o)
	if err != nil {
		return nil, err
	}
	if err := s.mix(o.Random); err != nil {
		return nil, err
	}
	if _, err := s.do(numbers(sleep, "sleep", 10)); err != nil { // ends behind a tick of the kernel's clock
		return nil, err
	}
	order := o.encode()
	if err := s.give([]command{order}); err != nil {
		return nil, err
	}
	out, err := s.region(&o, count, w)
	if errors.Is(err, errNoMark) {
		return nil, s.unmarked(order, err)
	}
	if err != nil {
		return nil, err
	}
	err = s.ended(order, out)
	out.Processes = s.tasks.processes()
	return out, err
}

// ended notes how the command has ended.
func (s *session) ended(order command, out *Outcome) error {
	if err := s.until(markers[0]); err != nil {
		return err
	}
	said, err := s.answers([]command{order})
	if err != nil {
		return err
	}
	out.Status, out.Console, out.Refused = Status(binary.LittleEndian.Uint32(said[0])), s.m.Console(), refusals(s.m)
	out.Output, out.Cut, err = s.read("/.output")
	return err
}

// unmarked says of a command that lacks a mark how it has ended instead.
func (s *session) unmarked(order command, lacking error) error {
	out := &Outcome{}
	if err := s.ended(order, out); err != nil {
		return err
	}
	if err := out.Err(); err != nil {
		return fmt.Errorf("%w: %w", lacking, err)
	}
	return fmt.Errorf("%w; it has printed:\n%s", lacking, out.said())
}

// Err is nil for a command that ended with 0, and else says how it ended, which of its instructions are not modelled, and what it
// has printed at last.
func (o *Outcome) Err() error {
	err := o.Status.Err()
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w%s; it has printed:\n%s", err, o.unmodelled(), o.said())
}

// unmodelled names instructions that programs have executed and that are not modelled.
func (o *Outcome) unmodelled() (text string) {
	for _, r := range o.Refused {
		text += fmt.Sprintf(", which has executed %s at %#x, an instruction that is not modelled", r.Name, r.PC)
	}
	return text
}

// said is the end of what the command has printed.
func (o *Outcome) said() []byte {
	const keep = 2000
	return o.Output[max(0, len(o.Output)-keep):]
}

// refusals lists the instructions of user mode that are not modelled.
func refusals(m *sim.Machine) (out []cpus.Refusal) {
	for i := range m.CPUs() {
		if c, ok := m.CPU(i).(cpus.Refuser); ok {
			out = append(out, ofPrograms(c.Refusals(), m.Image().Bits)...)
		}
	}
	return out
}

// ofPrograms keeps what programs asked for. Addresses of kernels are above theirs.
func ofPrograms(all []cpus.Refusal, bits int) []cpus.Refusal {
	kernel := uint64(1) << 47
	if bits == 32 {
		kernel = 3 << 30
	}
	return slices.DeleteFunc(slices.Clone(all), func(r cpus.Refusal) bool { return r.PC >= kernel || strings.Contains(r.Name, "msr") })
}

// encode is the order for the program.
func (o *Command) encode() command {
	c := numbers(runCommand, "run "+o.Args[0], o.Warm, len(o.Args), len(o.Env))
	for _, text := range append(slices.Concat(o.Args, o.Env), "/"+o.Folder) {
		c.data = append(append(c.data, text...), 0)
	}
	return c
}

// attachCounted attaches what an order says. The function that it returns reads how often a program has counted itself, in
// whatever address space the machine stands.
func (l *Lab) attachCounted(s *session, o *Command) (count func() (uint64, bool, error), err error) {
	none := func() (uint64, bool, error) { return 0, false, nil }
	if o.Attach == nil {
		return none, nil
	}
	if _, err := s.do(write(optimization, "1")); err != nil {
		return nil, err
	}
	p, err := l.attachTo(guest{session: s}, *o.Attach, o.Attached)
	if err != nil {
		return nil, err
	}
	if err := s.optimized(); err != nil {
		return nil, err
	}
	var full []func() error
	for _, r := range p.Rings {
		position, err := s.word(r.Addr, r.Word)
		if err != nil {
			return nil, err
		}
		full = append(full, func() error { return filled(r, position) })
	}
	at, width, unit := p.Counter()
	if unit == 0 {
		return func() (n uint64, ok bool, err error) {
			for _, f := range full {
				err = errors.Join(err, f())
			}
			return 0, false, err
		}, nil
	}
	counter, err := s.word(at, width)
	if err != nil {
		return nil, err
	}
	return func() (uint64, bool, error) {
		n, err := counter()
		return n / unit, true, err
	}, nil
}

// word finds a word of the program in memory, of so many bytes, and returns what reads it.
func (s *session) word(at uint64, width int) (func() (uint64, error), error) {
	pa, ok := s.m.CPU(s.cpu).Translate(at)
	if !ok {
		return nil, fmt.Errorf("the map of the program is not in memory at %#x", at)
	}
	return func() (uint64, error) {
		b, err := s.m.ReadPhysical(pa, width)
		if err != nil {
			return 0, err
		}
		return wide(b), nil
	}, nil
}

// filled refuses a ring buffer in which less than a page is left. Records may be lost then, and programs take less time.
func filled(r attaching.Ring, position func() (uint64, error)) error {
	const page = 4096
	n, err := position()
	if err == nil && n+page > r.Size {
		err = fmt.Errorf("the ring buffer %s has %d bytes, and %d of them are full: nobody reads it here, so have it declare more", r.Name, r.Size, n)
	}
	return err
}

// region runs the command up to the end of its region of interest, and the rest of it without the cost model.
func (s *session) region(o *Command, count func() (uint64, bool, error), w Watch) (*Outcome, error) {
	if err := s.until("mark_warm"); err != nil {
		return nil, err
	}
	s.timed(true)
	if err := s.until("mark_begin"); err != nil {
		return nil, err
	}
	if o.Marks {
		if err := s.mark(1); err != nil {
			return nil, err
		}
	}
	s.all, s.tasks = true, newTasks(s.m, s.fields)
	if w != nil {
		s.observe(w(s.m))
	} else {
		s.observe(nil)
	}
	before, out := s.shares(), &Outcome{}
	begin := s.m.CPU(s.cpu).Now()
	counted, _, err := count()
	if err != nil {
		return nil, err
	}
	if o.Marks {
		err = s.mark(2)
	} else {
		err = s.until("mark_end")
	}
	if err != nil {
		return nil, err
	}
	out.Ticks, out.CPUs = s.m.CPU(s.cpu).Now()-begin, s.shares()
	for i := range out.CPUs {
		out.CPUs[i].Counters = out.CPUs[i].Counters.Sub(&before[i].Counters)
		out.CPUs[i].Slept -= before[i].Slept
	}
	if out.Counted, out.Counts, err = count(); err != nil {
		return nil, err
	}
	out.Counted -= counted
	s.tasks.end(s.m)
	s.observe(nil)
	s.timed(false)
	if o.Marks {
		return out, s.until("mark_end")
	}
	return out, nil
}

// shares are the counters of all CPUs so far.
func (s *session) shares() []Share {
	all := make([]Share, s.m.CPUs())
	for i := range all {
		all[i] = Share{*s.m.CPU(i).Counters(), s.m.Slept(i)}
	}
	return all
}

// errNoMark is a command that ends without a mark.
var errNoMark = errors.New("the command ended")

// mark runs to a mark of the command.
func (s *session) mark(n uint64) error {
	name := fmt.Sprintf("mark %d", n)
	s.m.OnMark(func(cpu int, got uint64) {
		if got == n {
			s.cpu = cpu
			s.m.End(name)
		}
	})
	defer s.m.OnMark(nil)
	err := s.until(name)
	if err != nil && s.m.Ended() == "mark_end" {
		return fmt.Errorf("%w before it set %s (distro/init/mark.h)", errNoMark, name)
	}
	return err
}

// mix writes bytes to the kernel's random numbers, and has it draw from them at once (random(4)).
func (s *session) mix(random []byte) error {
	if random == nil {
		return nil
	}
	const reseed = 0x5207
	g, calls := guest{session: s}, s.arch().calls
	fd, err := g.open("/dev/urandom", true)
	if err != nil {
		return err
	}
	m := g.Memory()
	m.Data = random
	if n, err := g.Call(calls.write, [6]uint64{fd, m.Base, uint64(len(random))}, m); err != nil || n != int64(len(random)) {
		return fmt.Errorf("/dev/urandom takes %d of %d bytes: %w", n, len(random), err)
	}
	if n, err := g.Call(calls.ioctl, [6]uint64{fd, reseed}, g.Memory()); err != nil || n != 0 {
		return fmt.Errorf("the kernel draws no new random numbers: %s: %w", attaching.Errno(int(-n)), err)
	}
	return nil
}

// open opens a file of the guest.
func (g guest) open(path string, write bool) (fd uint64, err error) {
	m := g.Memory()
	m.Data = append([]byte(path), 0)
	mode := uint64(0)
	if write {
		mode = 1
	}
	n, err := g.Call(g.arch().calls.open, [6]uint64{m.Base, mode}, m)
	if err == nil && n < 0 {
		err = fmt.Errorf("%s: %s", path, attaching.Errno(int(-n)))
	}
	return uint64(n), err
}

// read reads a file of the guest, as much of it as is kept; cut reports that there is more.
func (s *session) read(path string) (b []byte, cut bool, err error) {
	const piece = 1 << 20
	g := guest{session: s}
	fd, err := g.open(path, false)
	if err != nil {
		return nil, false, fmt.Errorf("the command's output cannot be read: %w", err)
	}
	for len(b) < maxOutput {
		m := g.Memory()
		m.Data = make([]byte, piece)
		n, err := g.Call(s.arch().calls.read, [6]uint64{fd, m.Base, piece}, m)
		switch {
		case err != nil:
			return nil, false, err
		case n <= 0:
			return b, false, nil
		}
		b = append(b, m.Data[:n]...)
	}
	return b, true, nil
}
