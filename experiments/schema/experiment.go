package schema

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"kprobesim/image"
	"kprobesim/internal/doc"
	"kprobesim/kprobes"
	"kprobesim/results"
	"kprobesim/sim"
	"kprobesim/smp"
)

// Kernel is the guest kernel that a point boots.
type Kernel struct {
	Image    string // name of an image of this program, or the path of a file
	ISA, Era string
	Memory   int64 // bytes of RAM
	HZ       int64 // jiffies a second
	CPUs     int64
	Tick     string // TickNone, TickPeriodic or TickSpread
	Preempt  string // PreemptNone or PreemptFull
	Patching string // how text is changed, one of kprobes.Patchings, or "" for the first of the target's
	Quiesce  string // what the optimizer waits for: one of kprobes.Quiesces
}

// Ticks: whether the timer interrupts every CPU in every jiffy, from when it was started or spread over half
// a jiffy, or one CPU when somebody is due.
const (
	TickNone     = "none"
	tickPeriodic = "periodic"
	TickSpread   = "spread"
)

// Preemption of kernel code, which is decided when the kernel is built. The image with it has the name of
// the one without and "-preempt" behind it.
const (
	PreemptNone = "none"
	PreemptFull = "full"
)

// ImageName is the name of the image with the preemption that the experiment asks for.
func (k Kernel) ImageName() string {
	const suffix = "-preempt"
	if k.Preempt == PreemptFull && !strings.HasSuffix(k.Image, suffix) {
		return k.Image + suffix
	}
	return k.Image
}

// CheckPreempt holds what an experiment says of preemption against its image, or takes it from there.
func (k *Kernel) CheckPreempt(im *image.Image) error {
	has := PreemptNone
	if smp.Preemptible(im) {
		has = PreemptFull
	}
	if k.Preempt != "" && k.Preempt != has {
		return fmt.Errorf("image %s is built with preemption %s, not %s", im.Name, has, k.Preempt)
	}
	k.Preempt = has
	return nil
}

// Workload is a loop that calls a function.
type Workload struct {
	Loop   string          // guest function that calls the target again and again
	Target string          // the function that is called and probed
	Args   [MaxArgs]uint64 // its arguments
	Offset uint64          // where in the target the probe sits, in bytes
	Line   Line            // in place of Offset, if it names a file
	Hits   int64           // calls that are measured
	Warmup int64           // calls before, that are not
	// Whole has the time of whole calls count, with the loop around them, and not only what the probe adds.
	Whole bool
	// Latencies has each of the measured calls timed.
	Latencies bool

	// Of kinds other than the overhead of a hit:
	Load   string // what the CPUs do meanwhile: LoadIdle or LoadBusy
	Arming bool   // what arming a probe takes is measured, too
	Batch  int64  // probes that are changed together
	Singly int64  // the most of them that are changed one by one
	Tasks  int64  // that call the target
	Period int64  // of a timer, in microseconds
	Rate   int64  // events a second
	// Footprint is the bytes of data that the work between events goes through.
	Footprint int64
	// Interrupts is how many of the timer's interrupts are measured.
	Interrupts int64
}

// Probe is the probe that a point measures, or several that share an address.
type Probe struct {
	Name  string // short, as tables show it
	Title string
	Mode  kprobes.Mode // how hits are to be handled: Stepped, Boosted, Emulated or Optimized
	At    *uint64      // where in the target it sits, in place of the workload's Offset; nil for there
	Registration
	Watch     *Watchpoint    // of a point that is no probe but a watchpoint, or nil
	Linux     *LinuxProbe    // of the kind linux, or nil
	With      []Registration // registered after the first one, in this order
	Planted   bool           // modules register the probes, and the point none
	Published *Published
	Role      results.Role
}

// Published is a figure from the literature with the digits it was printed with.
type Published struct {
	Micros  results.Value
	Source  string
	Repeats Repeats
}

// Repeats is by how much figures of one machine differ that were measured again: a share of the figure in
// percent. The zero value knows of no second measurement.
type Repeats struct {
	Percent results.Value
	Source  string
}

// ReadRepeats reads the table [repeats] of an experiment and gives it to every published figure.
func ReadRepeats(r *doc.Reader, probes []Probe) {
	s := r.Part("repeats")
	if s == nil {
		return
	}
	defer s.Done()
	again := Repeats{doc.Need(s, "spread", percent), doc.Need(s, "source", doc.Text)}
	for i := range probes {
		if pub := probes[i].Published; pub != nil {
			pub.Repeats = again
		}
	}
}

// percent reads a share such as "22 %", from 0 to 100.
func percent(n *doc.Node) (results.Value, error) {
	q, err := doc.Share().Parse(false)(n)
	if err != nil {
		return results.Value{}, err
	}
	v, err := results.ParseValue(q.Value.FloatString(q.Decimals))
	if err != nil || v.Float() > 100 {
		return results.Value{}, fmt.Errorf("%q is no share: want for instance \"20 %%\"", n.Text)
	}
	return v, nil
}

// Experiment is an experiment file after overrides and one combination of its sweeps.
type Experiment struct {
	Name, Title string
	Kind        string // what is measured
	Machine     string
	Kernel      Kernel
	Linux       *Linux // of the kind linux, in place of Kernel; else nil
	Workload    Workload
	Crowd       Crowd
	Modules     []Module
	Writes      []Write // of the kind overhead
	Probes      []Probe
	Seed        uint64
	Replicates  int   // how often every point is measured, each time under a layout of its own
	Replicate   int   // the number of the one layout that is measured in place of them, from 0; -1 for none
	Budget      int64 // microseconds of simulated time that one point may take
	Figures     []string
	Wish        results.Wish // the table [figure]
}

// ReadWish reads the table [figure], whose axis is needed.
func ReadWish(r *doc.Reader) results.Wish {
	defer r.Done()
	return results.Wish{
		X: doc.Need(r, "x", doc.Text), Series: doc.Opt(r, "series", "", doc.Text), Panel: doc.Opt(r, "panel", "", doc.Text),
		Metric: doc.Opt(r, "metric", "", doc.Text), Title: doc.Opt(r, "title", "", doc.Text),
	}
}

// ReadKernel reads the table [kernel].
func ReadKernel(r *doc.Reader) Kernel {
	defer r.Done()
	return Kernel{
		Image:  doc.Need(r, "image", doc.Text),
		ISA:    doc.Need(r, "isa", doc.Name),
		Era:    doc.Need(r, "era", doc.Name),
		Memory: doc.Opt(r, "memory", 64<<20, doc.Size().Whole(false, 16<<20, 1<<30)),
		HZ:     doc.Opt(r, "hz", 1000, doc.Int(1, 10000)),
		CPUs:   doc.Opt(r, "cpus", 1, doc.Int(1, sim.MaxCPUs)),

		Tick:     doc.Opt(r, "tick", TickNone, doc.OneOf(TickNone, tickPeriodic, TickSpread)),
		Preempt:  doc.Opt(r, "preempt", "", doc.OneOf(PreemptNone, PreemptFull)),
		Patching: doc.Opt(r, "patching", "", doc.OneOf(kprobes.Patchings()...)),
		Quiesce:  doc.Opt(r, "quiesce", kprobes.QuiesceSched, doc.OneOf(kprobes.Quiesces()...)),
	}
}

// ReadWorkload reads the table [workload] of kinds that call a function again and again.
func ReadWorkload(r *doc.Reader) Workload {
	defer r.Done()
	w := Workload{
		Loop:   doc.Need(r, "loop", doc.Text),
		Target: doc.Need(r, "target", doc.Text),
		Args:   ReadArgs(r),
		Offset: uint64(doc.Opt(r, "offset", 0, doc.Int(0, 1<<20))),
		Line:   doc.Opt(r, "line", Line{}, readLine),
		Hits:   doc.Need(r, "hits", doc.Int(1, 10_000_000)),
		Warmup: doc.Need(r, "warmup", doc.Int(0, 10_000_000)),
	}
	if w.Line.File != "" && w.Offset != 0 {
		r.Errorf("line", "offset says where the probe stands, too: write one of them")
	}
	return w
}

// MaxArgs is the number of arguments that the benchmark loop hands on.
const MaxArgs = 2

// ReadArgs reads the arguments of the function that is called. Those that are not given are 0.
func ReadArgs(r *doc.Reader) (args [MaxArgs]uint64) {
	given := doc.Opt(r, "args", nil, doc.ListOf(Word))
	if copy(args[:], given) < len(given) {
		r.Errorf("args", "%d arguments: the function is called with at most %d", len(given), MaxArgs)
	}
	return args
}

// Line is a line of the guest's sources.
type Line struct {
	File   string // or the end of its path
	Number int
}

// String is the line as files spell it.
func (l Line) String() string { return fmt.Sprintf("%s:%d", l.File, l.Number) }

func readLine(n *doc.Node) (l Line, err error) {
	text, err := doc.Text(n)
	if err != nil {
		return l, err
	}
	i := strings.LastIndexByte(text, ':')
	if i > 0 {
		l.File = text[:i]
		l.Number, err = strconv.Atoi(text[i+1:])
	}
	if err != nil || i <= 0 || l.Number <= 0 {
		return l, fmt.Errorf("%q is no line: want for instance \"paths.c:120\"", text)
	}
	return l, nil
}

// Word parses one argument: an integer that fits 64 bits, negative ones as two's complement.
func Word(n *doc.Node) (uint64, error) {
	v, err := doc.Int(math.MinInt64, math.MaxInt64)(n)
	return uint64(v), err
}

// ReadProbes reads the tables [[points]] of an experiment.
func ReadProbes(r *doc.Reader) []Probe { return readPoints(r, readPoint) }

// ReadLinuxProbes reads the tables [[points]] of the kind linux.
func ReadLinuxProbes(r *doc.Reader) []Probe { return readPoints(r, readLinuxPoint) }

func readPoints(r *doc.Reader, one func(*doc.Reader) Probe) []Probe {
	var out []Probe
	seen, there := map[string]bool{}, r.Has("points")
	points := r.List("points")
	if !there || points != nil && len(points) == 0 {
		r.Errorf("points", "no point to measure: write at least one [[points]]")
	}
	for _, s := range points {
		p := one(s)
		if seen[p.Name] && p.Name != "" {
			s.Errorf("name", "point %q is there twice", p.Name)
		}
		seen[p.Name] = true
		out = append(out, p)
	}
	return out
}

func readProbe(r *doc.Reader) Probe {
	defer r.Done()
	p := Probe{
		Name: doc.Need(r, "name", doc.Name),
		Mode: doc.Need(r, "mode", readMode),
		Role: results.Role(doc.Opt(r, "role", "", role)),
	}
	title := "probes of the modules"
	if p.Planted = r.Is("kind", plantedKind); !p.Planted {
		p.Registration = readRegistration(r)
		title = ModeWord(p.Mode) + " " + p.Kind.String()
	}
	p.Title = doc.Opt(r, "title", title, doc.Text)
	if r.Has("offset") {
		at := uint64(doc.Need(r, "offset", doc.Int(0, 1<<20)))
		p.At = &at
	}
	for _, s := range r.List("with") {
		p.With = append(p.With, readRegistration(s))
		s.Done()
	}
	if len(p.With) > maxWith {
		r.Errorf("with", "%d further probes: at most %d", len(p.With), maxWith)
	}
	if part := r.Part("published"); part != nil {
		p.Published = readPublished(part)
	}
	return p
}

// maxWith bounds the probes that share an address with the first one.
const maxWith = 15

// readKind parses a kind of probe.
func readKind(n *doc.Node) (kprobes.Kind, error) {
	word, err := doc.OneOf(kprobes.Kprobe.String(), kprobes.Kretprobe.String(), kprobes.Jprobe.String(), plantedKind)(n)
	if err != nil {
		return 0, err
	}
	return kprobes.ParseKind(word)
}

// step is how files spell kprobes.Stepped.
const step = "step"

// readMode parses a mode that a point can ask for.
func readMode(n *doc.Node) (kprobes.Mode, error) {
	word, err := doc.OneOf(step, kprobes.Boosted.String(), kprobes.Emulated.String(), kprobes.Optimized.String(), kprobes.Ftrace.String())(n)
	switch {
	case err != nil:
		return 0, err
	case word == step:
		return kprobes.Stepped, nil
	}
	return kprobes.ParseMode(word)
}

// ModeWord is how files spell a mode.
func ModeWord(m kprobes.Mode) string {
	if m == kprobes.Stepped {
		return step
	}
	return m.String()
}

// Offset is where the probe of a point sits in the target of a workload, in bytes.
func (p *Probe) Offset(w Workload) uint64 {
	if p.At != nil {
		return *p.At
	}
	return w.Offset
}

// plantedKind is the word in place of a kind of probes for a point whose modules register its probes themselves.
const plantedKind = "module"

// Registrations returns the probes of a point in the order in which they are registered.
func (p *Probe) Registrations() []Registration {
	if p.Planted {
		return p.With
	}
	return append([]Registration{p.Registration}, p.With...)
}

// role parses what a file may say of a point: whether its figure was fitted on or is predicted.
func role(n *doc.Node) (string, error) {
	return doc.OneOf(string(results.Fitted), string(results.Predicted))(n)
}

func readPublished(r *doc.Reader) *Published {
	defer r.Done()
	return &Published{
		Micros: doc.Need(r, "time", micros),
		Source: doc.Need(r, "source", doc.Text),
	}
}

// micros reads a time in microseconds and keeps the digits it was printed with.
func micros(n *doc.Node) (results.Value, error) {
	q, err := doc.Time().Parse(false)(n)
	if err != nil {
		return results.Value{}, err
	}
	v, err := results.ParseValue(q.Value.FloatString(q.Decimals + q.Shift))
	if err != nil || v.IsZero() {
		return results.Value{}, fmt.Errorf("%q is no published time: want for instance \"0.99 us\"",
			n.Text)
	}
	return v, nil
}
