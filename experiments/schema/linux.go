package schema

import (
	"errors"
	"path/filepath"
	"slices"
	"sync"

	"kprobesim/distro/attaching"
	"kprobesim/image/linux"
	"kprobesim/internal/doc"
	"kprobesim/kprobes"
	"kprobesim/sim"
)

// Linux is the kernel of a distribution that a point boots in place of one of this program's.
type Linux struct {
	Path     string // of the kernel, as the experiment names it; "" for the newest one that is found
	TreePath string // of the board's device tree, for kernels of ARM; "" for the one beside the kernel
	Module   string // path of the module with the empty handlers; "" for the one of this program
	Command  string // parameters of the kernel
	Date     int64  // what the clock says when the machine is switched on, in seconds since 1970
	Memory   int64  // bytes
	CPUs     int64

	Kernel     *linux.Kernel // nil where none was found
	Tree       []byte        // the board's device tree; nil for kernels that need none
	TreeHash   string
	ModuleFile []byte // nil where none was named
	ModuleHash string
	Headers    string // where the module is built when there is none; "" where it cannot be
	// Attaching has the program in the machine make system calls, as points want that attach something.
	Attaching bool
	// Working has the program that the points run, of the kind linux-workload; else nil.
	Working *Working
	// Work is shared by the points of a plan, so that they boot once.
	Work *Work
	// Kept keeps boots beyond the end of the process; nil keeps none.
	Kept linux.Keeper
}

// linuxKey has the inputs of a measurement. The kernel is not among them, as it is the image of the point.
type linuxKey struct {
	Module, Command string
	Tree            string
	Date, Memory    int64
	Attaching       bool
	Working         workingKey
}

func (l *Linux) key() linuxKey {
	if l == nil {
		return linuxKey{}
	}
	return linuxKey{l.ModuleHash, l.Command, l.TreeHash, l.Date, l.Memory, l.Attaching, l.Working.key()}
}

// Kinds of points of the kind linux.
const (
	LinuxNone      = "none" // the loop alone
	LinuxKprobe    = "kprobe"
	LinuxKretprobe = "kretprobe"
	LinuxUprobe    = "uprobe"
	linuxUretprobe = "uretprobe"
	LinuxWatch     = "watchpoint"
	LinuxModule    = "module" // what a module of the user's sets up
	LinuxObject    = "object" // programs of BPF of an object file of the user's
	linuxTool      = "tool"   // a command that attaches what it likes
)

// Handlers of such points.
const (
	LinuxEmpty = "empty" // of a module, which does nothing
	LinuxEvent = "event" // of the kernel, which writes a record of a trace event
)

// LinuxProbe is the probe of a point of the kind linux.
type LinuxProbe struct {
	What    string
	Loop    string // in place of the workload's; "" for that
	Handler string
	Target  string // in place of the workload's; "" for that
	Offset  int64  // of the probe in the target; negative where the kernel's rules choose an instruction for the mode
	Module  *UserModule
	Object  *UserObject
	Tool    *UserTool
	// Program says what a program of BPF does at each hit (package attaching); "" without one.
	Program string
	// Room is for how many hits a ring buffer has room, of the kind linux-workload.
	Room int64
}

// UserModule is a kernel module of the user's, which sets up what it likes when it is inserted.
type UserModule struct {
	Path   string
	File   []byte // read by the planner
	Params string // "name=value ..."
	Hits   string // its parameter that counts hits; "" for none
}

// UserObject is an object file of the user's with programs of BPF.
type UserObject struct {
	Path string // or the name of one of this program
	File []byte // read by the planner
	attaching.Choice
}

// UserTool is a command that attaches programs of BPF itself, and goes on while the program of a point runs.
type UserTool struct {
	Command []string // path in the root, and arguments
	Settle  int64    // milliseconds that it has before
}

// readUserModule reads what a point of the kind module inserts.
func readUserModule(r *doc.Reader) *UserModule {
	for _, key := range []string{"handler", "target", "offset"} {
		if r.Has(key) {
			r.Errorf(key, "a %s chooses that itself: leave it out, or say it by params", LinuxModule)
		}
	}
	return &UserModule{
		Path:   doc.Need(r, "file", besideFile),
		Params: doc.Opt(r, "params", "", doc.Text),
		Hits:   doc.Opt(r, "hits", "", doc.Name),
	}
}

// readUserObject reads which object file a point attaches. A name without a slash is one of this program.
func readUserObject(r *doc.Reader) *UserObject {
	file := func(n *doc.Node) (string, error) {
		name, err := doc.Text(n)
		if err != nil || !doc.IsPath(name) {
			return name, err
		}
		if name, err = besideFile(n); err == nil && !doc.IsPath(name) {
			name = "./" + name // it lies where the program was started
		}
		return name, err
	}
	return &UserObject{Path: doc.Need(r, "file", file), Choice: attaching.Choice{
		Programs:  doc.Opt(r, "programs", nil, doc.ListOf(doc.Text)),
		Target:    doc.Opt(r, "target", "", doc.Text),
		Variables: doc.Opt(r, "variables", nil, doc.ListOf(doc.Text)),
		Maps:      doc.Opt(r, "maps", nil, doc.ListOf(doc.Text)),
		Samples:   readSamples(r),
	}}
}

// readSamples reads at which events programs of the section perf_event run.
func readSamples(r *doc.Reader) (s attaching.Samples) {
	const (
		second = 1_000_000_000 // nanoseconds
		tick   = 250           // times a second: soon behind a boot kernels have no finer clock (CONFIG_HZ)
	)
	if !r.Has("event") && !r.Has("frequency") && !r.Has("period") {
		return s
	}
	s.Event = doc.Opt(r, "event", attaching.Clock, doc.OneOf(attaching.Events()...))
	if s.Event == attaching.Clock {
		if r.Has("period") {
			r.Errorf("period", "a clock has a frequency")
		}
		s.Period = uint64(second / doc.Opt(r, "frequency", attaching.Frequency, doc.Int(1, tick)))
		return s
	}
	if r.Has("frequency") {
		r.Errorf("frequency", "a clock has one, and %s a period", s.Event)
	}
	s.Period = uint64(doc.Opt(r, "period", 1, doc.Int(1, 1<<40)))
	return s
}

// besideFile parses a path: it starts beside the file that has it, or here when an option set it.
func besideFile(n *doc.Node) (string, error) {
	path, err := doc.Text(n)
	if err != nil || filepath.IsAbs(path) || n.Pos.Line == 0 {
		return path, err
	}
	return filepath.Join(filepath.Dir(n.Pos.File), path), nil
}

// chosen is the offset of a point that names none.
const chosen = -1

// ReadLinux reads the table [linux].
func ReadLinux(r *doc.Reader) *Linux {
	defer r.Done()
	return &Linux{
		CPUs:     doc.Opt(r, "cpus", 1, doc.Int(1, maxLinuxCPUs)),
		Path:     doc.Opt(r, "kernel", "", doc.Text),
		TreePath: doc.Opt(r, "dtb", "", doc.Text),
		Module:   doc.Opt(r, "module", "", doc.Text),
		Command:  doc.Opt(r, "append", "", doc.Text), // else the planner fills it in, which knows the machine
		Date:     doc.Opt(r, "date", defaultDate, doc.Int(0, 1<<32)),
		Memory:   doc.Opt(r, "memory", 192<<20, doc.Size().Whole(false, 64<<20, 3<<30)),
	}
}

// defaultDate is in November 2023: any day on which the kernels were in use will do.
const defaultDate = 1_700_000_000

// maxLinuxCPUs is how many CPUs a packaged kernel is told of at most.
const maxLinuxCPUs = 32

// What the CPUs beside the one of the loop do.
const (
	linuxIdle = "idle" // what the kernel has for them
	LinuxBusy = "busy" // they run the loop too
)

// ReadLinuxWorkload reads the table [workload] of the kind linux.
func ReadLinuxWorkload(r *doc.Reader) Workload {
	defer r.Done()
	return Workload{
		Loop:   doc.Need(r, "loop", doc.Text),
		Target: doc.Need(r, "target", doc.Text),
		Hits:   doc.Need(r, "hits", doc.Int(1, 1_000_000)),
		Warmup: doc.Need(r, "warmup", doc.Int(1, 1_000_000)),
		Load:   doc.Opt(r, "load", linuxIdle, doc.OneOf(linuxIdle, LinuxBusy)),
		Arming: doc.Opt(r, "arming", false, doc.Flag),
	}
}

// readLinuxPoint reads a point of the kind linux.
func readLinuxPoint(r *doc.Reader) Probe {
	defer r.Done()
	what := doc.Need(r, "kind", doc.OneOf(linuxKinds()...))
	l := &LinuxProbe{
		What:    what,
		Loop:    doc.Opt(r, "loop", "", doc.Text),
		Handler: doc.Opt(r, "handler", LinuxEvent, doc.OneOf(LinuxEmpty, LinuxEvent)),
		Target:  doc.Opt(r, "target", "", doc.Text),
		Offset:  doc.Opt(r, "offset", chosen, doc.Int(0, 1<<20)),
	}
	p := Probe{Name: doc.Need(r, "name", doc.Name), Mode: kprobes.Stepped, Linux: l}
	switch what {
	case LinuxModule:
		l.Module = readUserModule(r)
	case LinuxObject:
		l.Object = readUserObject(r)
	}
	readLinuxMode(r, &p)
	readLinuxProgram(r, l)
	if l.Returns() && l.Offset > 0 {
		r.Errorf("offset", "a %s stands at the start of its function", what)
	}
	p.Title = doc.Opt(r, "title", p.Name, doc.Text)
	return p
}

// User reports whether the probe stands in a program.
func (l *LinuxProbe) User() bool { return l.What == LinuxUprobe || l.What == linuxUretprobe }

// Returns reports whether it is a return probe.
func (l *LinuxProbe) Returns() bool { return l.What == LinuxKretprobe || l.What == linuxUretprobe }

// Called reports whether it is a probe of a program whose nop the kernel is to replace by a call.
func (p *Probe) Called() bool {
	return p.Mode == kprobes.Optimized && (p.Linux.User() || p.Linux.What == attaching.USDT)
}

// readLinuxMode reads how the hits of a probe run, which a watchpoint has not.
func readLinuxMode(r *doc.Reader, p *Probe) {
	what := p.Linux.What
	if what == attaching.USDT && r.Has("mode") {
		if p.Mode = doc.Need(r, "mode", readMode); p.Mode != kprobes.Optimized {
			r.Errorf("mode", "a %s is %q, or leave it out", what, kprobes.Optimized)
		}
		return
	}
	if what == LinuxNone || what == LinuxWatch || !p.Linux.named() {
		if r.Has("mode") {
			r.Errorf("mode", "a probe of an instruction has one, not a %s", what)
		}
		return
	}
	if what == LinuxModule {
		p.Mode = doc.Opt(r, "mode", kprobes.Optimized, readMode)
	} else {
		p.Mode = doc.Need(r, "mode", readMode)
	}
	switch {
	case what == LinuxModule && p.Mode != kprobes.Stepped && p.Mode != kprobes.Optimized:
		r.Errorf("mode", "a %s is %q, and its breakpoints become jumps where they can, or %q", what, kprobes.Optimized, step)
	case p.Linux.User() && p.Mode != kprobes.Stepped && p.Mode != kprobes.Emulated && p.Mode != kprobes.Optimized:
		r.Errorf("mode", "a %s is %q, %q or %q", what, step, kprobes.Emulated, kprobes.Optimized)
	}
}

var errUnfinished = errors.New("another point failed to make what both need")

// Work is work that points of a plan share and one of them does. It keeps the latest few, each of which may be hundreds
// of megabytes.
type Work struct {
	Most int // that are kept; 0 for three
	mu   sync.Mutex
	kept []*work
}

type work struct {
	key  string
	once sync.Once
	made any
	err  error
}

// maxWork is how many are kept: points that run at the same time rarely need more.
const maxWork = 3

// Do returns what make makes for a key. It is made once, and again when it was not asked for in a long time or when the
// point that made it was ended by its Halt, of which others know nothing.
func (w *Work) Do(key string, produce func() (any, error)) (any, error) {
	for {
		one, own := w.find(key), false
		one.once.Do(func() {
			own, one.err = true, errUnfinished // if it panics
			one.made, one.err = produce()
		})
		halted := (*sim.HaltedError)(nil)
		if !errors.As(one.err, &halted) {
			return one.made, one.err
		}
		if w.forget(one); own {
			return nil, one.err
		}
	}
}

// forget has a work made again.
func (w *Work) forget(one *work) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = slices.DeleteFunc(w.kept, func(k *work) bool { return k == one })
}

// find returns the work of a key, which becomes the latest.
func (w *Work) find(key string) *work {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := &work{key: key}
	for i, k := range w.kept {
		if k.key == key {
			one = k
			w.kept = append(w.kept[:i:i], w.kept[i+1:]...)
			break
		}
	}
	w.kept = append(w.kept, one)
	w.kept = w.kept[max(0, len(w.kept)-max(w.Most, maxWork)):]
	return one
}
