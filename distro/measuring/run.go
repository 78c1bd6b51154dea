package measuring

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Files of the kernel, where the program has mounted their file systems.
const (
	kprobeEvents  = "/trace/kprobe_events"
	kprobeProfile = "/trace/kprobe_profile"
	uprobeEvents  = "/trace/uprobe_events"
	uprobeProfile = "/trace/uprobe_profile"
	kprobeList    = "/debug/kprobes/list"
	optimization  = "/proc/sys/debug/kprobes-optimization"
	modulesFile   = "/proc/modules"
)

// Run measures an order from the state that Boot kept. It may be called any number of times; the same order gives the
// same region. It fails for an order that names what does not exist, for what the kernel refuses, with its error number,
// and for a probe that is not hit in every iteration.
func (l *Lab) Run(o Order, w Watch) (*Region, error) {
	number, err := l.program.numberOf(o.Workload)
	switch {
	case err != nil:
		return nil, err
	case o.Warm < 0 || o.Calls < 1 || o.Warm > maxCalls || o.Calls > maxCalls:
		return nil, fmt.Errorf("%d iterations behind %d warm ones: at least 1 behind 0, and at most %d of each", o.Calls, o.Warm, maxCalls)
	}
	setup, probes, s, err := l.begin(&o)
	if err != nil {
		return nil, err
	}
	defer s.free()
	if _, err := s.do(setup...); err != nil {
		return nil, err
	}
	if wait := s.arch().unmaps; wait > 0 && len(o.Modules) > 0 {
		if _, err := s.do(numbers(sleep, "sleep", wait)); err != nil {
			return nil, err
		}
	}
	attached, err := l.attach(s, &o)
	if err != nil {
		return nil, err
	}
	if o.Optimize {
		if err := s.optimized(); err != nil {
			return nil, err
		}
	}
	before, err := s.idle(probes)
	if err != nil {
		return nil, err
	}
	r, err := s.loop(number, o.Warm, o.Calls, w, attached)
	if err != nil {
		return nil, err
	}
	return r, s.finish(r, &o, probes, before)
}

// occupy has the program stay on the first CPU, and the others run a loop: each by a process of its own, which must run
// once on the first CPU to go to its own.
func (s *session) occupy(busy string) error {
	if s.m.CPUs() < 2 {
		return nil
	}
	orders := []command{numbers(pin, "stay on a CPU", 0)}
	if busy != "" {
		number, err := s.program.numberOf(busy)
		if err != nil {
			return err
		}
		for cpu := 1; cpu < s.m.CPUs(); cpu++ {
			orders = append(orders, numbers(keepBusy, "keep a CPU busy", number, cpu), numbers(sleep, "sleep", 10))
		}
	}
	_, err := s.do(orders...)
	return err
}

// idle counts hits before a loop: those so far, and those that counting itself takes, because it opens files. Then it
// sleeps, which ends behind a tick of the kernel's clock: the next one is as far away as it can be.
func (s *session) idle(probes []probe) ([]Counted, error) {
	first, err := s.count(probes)
	if err != nil {
		return nil, err
	}
	before, err := s.count(probes)
	if err != nil {
		return nil, err
	}
	for i := range before {
		before[i].Hits += before[i].Hits - first[i].Hits
		before[i].Missed += before[i].Missed - first[i].Missed
	}
	_, err = s.do(numbers(sleep, "sleep", 10))
	return before, err
}

// maxCalls bounds the iterations of a loop.
const maxCalls = 100_000_000

// probe describes the probe of an order, and where its hits are told.
type probe struct {
	name string
	file string // one whose lines have name, hits and perhaps misses; or one with a number
	line bool   // it is one of lines
	perf bool   // it is the event of the debugging registers
}

// begin gives an order's commands, and a session that is ready for them.
func (l *Lab) begin(o *Order) (setup []command, probes []probe, s *session, err error) {
	if setup, probes, err = l.setup(o); err != nil {
		return nil, nil, nil, err
	}
	if s, err = l.start(); err != nil {
		return nil, nil, nil, err
	}
	if err = s.occupy(o.Busy); err != nil {
		s.free()
	}
	return setup, probes, s, err
}

// setup lists what the program is to do before the loop.
func (l *Lab) setup(o *Order) (out []command, probes []probe, err error) {
	on := "0"
	if o.Optimize {
		on = "1"
	}
	if len(o.Events)+len(o.Modules) > 0 || o.Attach != nil {
		out = append(out, write(optimization, on))
	}
	event := func(file, profile, group, line string) {
		line, group, name := namedEvent(line, group, len(probes))
		out = append(out, write(file, line+"\n"), write("/trace/events/"+group+"/"+name+"/enable", "1"))
		probes = append(probes, probe{name: name, file: profile, line: true})
	}
	for _, line := range o.Events {
		event(kprobeEvents, kprobeProfile, "kprobes", line)
	}
	for _, line := range o.UserEvents {
		if line, err = l.program.inFile(line); err != nil {
			return nil, nil, err
		}
		event(uprobeEvents, uprobeProfile, "uprobes", line)
	}
	for _, m := range o.Modules {
		out = append(out, insert(m))
		if m.Hits != "" {
			name := strings.ReplaceAll(m.Name, "-", "_")
			probes = append(probes, probe{name: m.Name, file: "/sys/module/" + name + "/parameters/" + m.Hits})
		}
	}
	if o.Watchpoint != nil {
		attributes, err := l.attributes(o.Watchpoint)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, command{openEvent, attributes, "open a watchpoint"})
		probes = append(probes, probe{name: "watchpoint", perf: true})
	}
	return out, probes, nil
}

// namedEvent completes the line of a trace event by a name, and returns its group and name, too.
func namedEvent(line, group string, number int) (text, inGroup, name string) {
	first, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	how, name, ok := strings.Cut(first, ":")
	if !ok {
		name = fmt.Sprintf("order%d", number)
	}
	if g, n, ok := strings.Cut(name, "/"); ok {
		group, name = g, n
	}
	return fmt.Sprintf("%s:%s/%s %s", how, group, name, rest), group, name
}

// attributes holds the attributes of perf_event_open(2) for a watchpoint, as far as they are not 0.
func (l *Lab) attributes(w *Watchpoint) ([]byte, error) {
	const breakpoint, size = 5, 112 // PERF_TYPE_BREAKPOINT, PERF_ATTR_SIZE_VER5
	at, err := l.address(w)
	if err != nil {
		return nil, err
	}
	n := w.Size
	if n == 0 {
		n = l.program.word
	}
	b := make([]byte, size)
	binary.LittleEndian.PutUint32(b, breakpoint)
	binary.LittleEndian.PutUint32(b[4:], size)
	binary.LittleEndian.PutUint32(b[52:], uint32(w.Access))
	binary.LittleEndian.PutUint64(b[56:], at)
	binary.LittleEndian.PutUint64(b[64:], uint64(n))
	return b, nil
}

// address is where a watchpoint is.
func (l *Lab) address(w *Watchpoint) (uint64, error) {
	if w.Symbol == "" {
		return w.Addr, nil
	}
	if name, ok := strings.CutPrefix(w.Symbol, own); ok {
		at, err := l.program.resolve(name)
		return at + w.Addr, err
	}
	s, ok := l.config.Kernel.Image.Symbol(w.Symbol)
	if !ok {
		return 0, fmt.Errorf("watchpoint: the kernel has no symbol %s", w.Symbol)
	}
	return s.Addr + w.Addr, nil
}

// count asks how often probes were hit so far.
func (s *session) count(probes []probe) ([]Counted, error) {
	var ask []command
	for _, p := range probes {
		if p.perf {
			ask = append(ask, command{readEvents, nil, "read the count of the watchpoint"})
		} else {
			ask = append(ask, show(p.file))
		}
	}
	said, err := s.do(ask...)
	if err != nil {
		return nil, err
	}
	out := make([]Counted, len(probes))
	for i, p := range probes {
		if out[i], err = p.read(said[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// read reads the answer to count.
func (p *probe) read(b []byte) (Counted, error) {
	c := Counted{Name: p.name}
	if p.perf && len(b) >= 8 {
		c.Hits = binary.LittleEndian.Uint64(b)
		return c, nil
	}
	for _, f := range lines(b) {
		if p.line {
			i := slices.Index(f, p.name)
			if i < 0 || i+1 >= len(f) {
				continue
			}
			f = f[i+1:]
		}
		n, err := strconv.ParseUint(f[0], 10, 64)
		if err != nil {
			return c, fmt.Errorf("%s: %q is no count of hits", p.file, f[0])
		}
		c.Hits = n
		if len(f) > 1 {
			c.Missed, _ = strconv.ParseUint(f[1], 10, 64) // not every file has it
		}
		return c, nil
	}
	return c, fmt.Errorf("%s does not tell how often %s was hit", p.file, p.name)
}

// finish asks what the kernel has, and holds the hits against the iterations.
func (s *session) finish(r *Region, o *Order, probes []probe, before []Counted) error {
	after, err := s.count(probes)
	if err != nil {
		return err
	}
	said, err := s.do(show(kprobeList), show(modulesFile))
	if err != nil {
		return err
	}
	r.List, r.Loaded, r.Console = listed(said[0]), loaded(said[1]), s.m.Console()
	if r.Planted, r.Called, err = s.planted(); err != nil {
		return err
	}
	for i, c := range after {
		c.Hits -= before[i].Hits
		c.Missed -= before[i].Missed
		if r.Probes = append(r.Probes, c); i == 0 || c.Hits < r.Hits {
			r.Hits = c.Hits
		}
		if n := uint64(o.Warm + o.Calls); c.Hits < n {
			return fmt.Errorf("the probe %s was hit %d times in %d iterations of %q (%d hits were missed): put it on the path of the loop",
				c.Name, c.Hits, n, o.Workload, c.Missed)
		}
	}
	return nil
}

// planted lists where the program's text in memory has a breakpoint that its file has not, and where a call in place of a nop. The
// kernel has no list of such probes.
func (s *session) planted() (breakpoints, calls []uint64, err error) {
	text, file := s.program.code, s.program.file.Data
	b, err := s.m.ReadBytes(text.Vaddr, int(text.Filesz))
	if err != nil {
		return nil, nil, fmt.Errorf("the text of the program: %w", err)
	}
	file = file[text.Off:]
	for i, n := uint64(0), s.arch().align; i+n <= uint64(len(b)); i += n {
		if c := b[i : i+n]; s.arch().planted(c) && !bytes.Equal(c, file[i:i+n]) {
			breakpoints = append(breakpoints, text.Vaddr+i)
		}
		for _, r := range s.arch().replaced {
			if bytes.HasPrefix(file[i:], r.nop) && bytes.HasPrefix(b[i:], r.call) {
				calls = append(calls, text.Vaddr+i)
			}
		}
	}
	return breakpoints, calls, nil
}

// listed reads the kernel's list of probes: address, kind, place, and marks.
func listed(b []byte) (out []Listed) {
	for _, f := range lines(b) {
		at, err := strconv.ParseUint(f[0], 16, 64)
		if err != nil || len(f) < 3 {
			continue
		}
		marks := strings.Join(f[3:], " ")
		out = append(out, Listed{
			Addr: at, Kind: f[1], Place: f[2], Ftrace: strings.Contains(marks, "[FTRACE]"),
			Optimized: strings.Contains(marks, "[OPTIMIZED]"), Disabled: strings.Contains(marks, "[DISABLED]"),
		})
	}
	return out
}

// loaded reads the kernel's list of modules: name, size, users, by whom, state, address.
func loaded(b []byte) (out []Loaded) {
	for _, f := range lines(b) {
		if len(f) < 6 {
			continue
		}
		size, err := strconv.ParseUint(f[1], 10, 64)
		at, err2 := strconv.ParseUint(f[5], 0, 64)
		if err == nil && err2 == nil {
			out = append(out, Loaded{f[0], at, size})
		}
	}
	return out
}

// optimized waits until the jumps are there of all probes that the kernel marks as optimized: it marks them when they
// are queued. The optimizer waits for five ticks of its clock, and then for tasks to leave the code.
func (s *session) optimized() error {
	const rounds, wait = 100, 100 // of so many milliseconds
	for range rounds {
		said, err := s.do(show(kprobeList))
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(listed(said[0]), func(l Listed) bool { return l.Optimized && !s.jumps(l.Addr) }) {
			return nil
		}
		if _, err := s.do(numbers(sleep, "sleep", wait)); err != nil {
			return err
		}
	}
	return fmt.Errorf("the kernel marks a probe as optimized and has put no jump there in %d ms; the end of the console:\n%s",
		rounds*wait, s.tail())
}

// jumps reports whether a jump stands at an address of the kernel's text. The program's page tables need not have the
// kernel's text, so that it is looked at in memory. Text that is not of the kernel's file cannot be told.
func (s *session) jumps(addr uint64) bool {
	for _, g := range s.m.Image().Segments {
		if addr-g.VA < g.MemSize {
			b, err := s.m.ReadPhysical(g.PA+addr-g.VA, int(s.arch().align))
			return err != nil || s.arch().jump(b)
		}
	}
	return true
}
