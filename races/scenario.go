package races

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"kprobesim/internal/doc"
	"kprobesim/kprobes"
	"kprobesim/smp"
	"kprobesim/targets"
)

// Scenario is a scenario file: a script that changes probes while callers execute what is probed,
// under one or several protocols.
// It does not change once it has been read: all machines of a search share it.
type Scenario struct {
	Name, Title string
	File        string // where it stands
	Given       string // how it was asked for
	Text        string // of the file
	CPUs        int
	Memory      int64  // bytes
	Jiffy       int64  // cycles
	Delay       int64  // jiffies from the wish to optimize to the work on it
	Limit       uint64 // instructions of all CPUs after which a schedule counts as hung
	Callers     []Caller
	Processes   []Process
	Probes      []Probe
	Watches     []Watch
	Script      []Action
	Beside      []Action // what a task on the last CPU does meanwhile
	Variants    []Variant
}

// Caller is a task, or several, that calls a function again and again.
// The guest's task is bound to its CPU and gives way between calls, so that grace periods come to
// their end.
type Caller struct {
	CPU    int
	Target string
	Args   [2]uint64
	Count  int
	User   bool // a user task, that calls by the kernel
	Moves  bool // it may run on any CPU, and begins on CPU
}

// Process is a task with an address space of its own, or several, that calls a function of user mode again and again.
type Process struct {
	CPU, Count int
	Writes     bool // it also writes a word of its text now and then, and so has a copy of the page
}

// Probe is a probe that the script registers and unregisters.
// Its handler is one of the guest's, chosen by its index, so that each call tells which probe it
// was.
type Probe struct {
	Name        string
	Kind        kprobes.Kind
	Target      string
	Offset      uint64
	Instruction int // of the target where the probe stands, 0 for the first; or Offset says where
	MaxActive   int32
	User        bool // a probe of user space, of the function that processes call
	Module      bool // its handler is a function of a module, which the script loads and unloads
}

// Watch is a watchpoint that the script sets and takes away. It watches one word of a variable, or an instruction of a
// function. As for a probe, its handler is one of the guest's.
type Watch struct {
	Name   string
	Target string // function whose calls touch what is watched, each of them once
	Symbol string // variable or function
	Word   uint64 // number of the variable's word that is watched, 0 for the first
	// Instruction is the number of the function's instruction that is watched, 0 for the first.
	Instruction int
	Type        kprobes.WatchType
}

// Variant is a kernel that the scenario runs under.
// It differs between kernels: the same script has to hold under all of them.
type Variant struct {
	Name     string
	ISA, Era string // of the kernel
	Jiffy    int64  // cycles; the scenario's where it says none
	Preempt  bool
	Patching string
	Quiesce  string
	Boost    bool
	Optimize bool
	User     bool     // all callers are user tasks
	Batch    int      // most jumps that one pass of the optimizer undoes, or writes
	Hasten   int64    // jiffies after which a grace period asks the CPUs that hold it up to reschedule, 0 for at once
	Strikes  []strike // interrupts that come behind instructions of hot code by the schedule's choice
	Coherent bool     // stores reach instruction caches, also where software does not count on it
	Catches  []string // mistakes that this variant must notice
}

// Action is one line of the script.
type Action struct {
	Verb   string
	Probes []int // indices of Scenario.Probes, or of Scenario.Watches behind them
	N      int64
	Mode   kprobes.Mode
	Queued bool // the mode does not matter, but the optimizer is going to change the probe
	Pos    doc.Pos

	line string // as the script has it
	do   func(t *trial, a *Action) error
}

// Limits of a scenario.
const (
	maxCPUs     = 16
	maxCallers  = 32
	maxProbes   = 4 // as many handlers as the guest has for them
	maxWatches  = 2 // the same
	maxActions  = 256
	maxVariants = 64
)

// Parse reads a scenario; the error lists every mistake with its place.
// What only an image can tell, such as the names of functions, is left to the start of a search.
func Parse(file string, b []byte) (*Scenario, error) {
	root, err := doc.Parse(file, b)
	if err != nil {
		return nil, err
	}
	var errs doc.Errors
	s := read(doc.NewReader(root, &errs))
	s.File, s.Text = file, string(b)
	return s, errs.Err()
}

// The defaults make short schedules: 16 MiB of RAM, a jiffy of 2000 cycles, five jiffies until the
// optimizer works as in the kernel, and two million instructions, which no schedule that makes
// progress needs.
func read(r *doc.Reader) *Scenario {
	s := &Scenario{
		Name:   doc.Need(r, "name", doc.Name),
		Title:  doc.Need(r, "title", doc.Text),
		CPUs:   int(doc.Need(r, "cpus", doc.Int(1, maxCPUs))),
		Memory: doc.Opt(r, "memory", 16<<20, doc.Size().Whole(false, 16<<20, 1<<30)),
		Jiffy:  doc.Opt(r, "jiffy", 2000, jiffies),
		Delay:  doc.Opt(r, "delay", 5, doc.Int(0, 100)),
		Limit:  uint64(doc.Opt(r, "limit", 2_000_000, doc.Int(1000, 1_000_000_000))),
	}
	s.Processes = tables(r, "processes", maxCallers, false, s.readProcess)
	s.Callers = tables(r, "callers", maxCallers, len(s.Processes) == 0, s.readCaller)
	s.Watches = tables(r, "watchpoints", maxWatches, false, readWatch)
	s.Probes = tables(r, "probes", maxProbes, len(s.Watches) == 0, readProbe)
	isas, mutants := targets.Names(known()), Mutants()
	s.Variants = tables(r, "variants", maxVariants, true, func(r *doc.Reader) Variant { return s.readVariant(r, isas, mutants) })
	for _, key := range []string{"replicates", "replicate", "seed"} {
		if r.Has(key) {
			r.Errorf(key, "a search tries many schedules under one layout: leave this key out; --seed chooses the schedules")
		}
	}
	s.Script = doc.Need(r, "script", s.readScript)
	s.Beside = doc.Opt(r, "beside", nil, s.readScript)
	s.apart(r)
	s.twice(r)
	s.alone(r)
	r.Done()
	return s
}

// jiffies are the cycles that a jiffy may have.
var jiffies = doc.Int(500, 1_000_000)

// tables reads a list of tables. One that is needed, or that is there, must have an element.
// At most so many are read on, so that a hostile file cannot make the list of messages endless.
func tables[T any](r *doc.Reader, key string, most int, needed bool, parse func(*doc.Reader) T) (all []T) {
	if !needed && !r.Has(key) {
		return nil
	}
	rs := r.List(key)
	switch {
	case len(rs) == 0:
		r.Errorf(key, "write at least one [[%s]]", key)
	case len(rs) > most:
		r.Errorf(key, "%d are more than %d", len(rs), most)
		rs = rs[:most]
	}
	for _, r := range rs {
		all = append(all, parse(r))
		r.Done()
	}
	return all
}

// twice reports names that are used more than once. Probes and watchpoints share their names.
// Empty names were reported already.
func (s *Scenario) twice(r *doc.Reader) {
	seen := map[string]bool{}
	check := func(key, name, format string) {
		if seen[name] && name != "" {
			r.Errorf(key, format, name)
		}
		seen[name] = true
	}
	for _, p := range s.Probes {
		check("probes", p.Name, "probe %q is there twice")
	}
	for _, w := range s.Watches {
		check("watchpoints", w.Name, "the name %q is there twice")
	}
	clear(seen)
	for _, v := range s.Variants {
		check("variants", v.Name, "variant %q is there twice")
	}
}

// apart reports what two tasks of a scenario cannot both do: each has probes and watchpoints of its own, in the kernel, and nothing else.
func (s *Scenario) apart(r *doc.Reader) {
	used := map[int]bool{}
	for _, a := range s.Script {
		for _, i := range a.Probes {
			used[i] = true
		}
	}
	allowed := []string{"register", "unregister", "enable", "disable", expectMode, sleepJiffies, "settle", stopMachine, setWatch, clearWatch}
	for _, a := range s.Beside {
		if !slices.Contains(allowed, a.Verb) {
			r.Errorf("beside", "%s is for the script: a task beside it can %s", a.Verb, strings.Join(allowed, ", "))
		}
		for _, i := range a.Probes {
			if used[i] || i < len(s.Probes) && s.Probes[i].User {
				r.Errorf("beside", "the task beside the script has kernel probes that the script does not name")
			}
		}
	}
}

// alone reports probes of user space that no process can hit.
func (s *Scenario) alone(r *doc.Reader) {
	for _, p := range s.Probes {
		switch {
		case p.User && len(s.Processes) == 0:
			r.Errorf("probes", "probe %q is of user space: write [[processes]] that hit it", p.Name)
		case p.User && p.Target != userTarget:
			r.Errorf("probes", "probe %q is of user space: its target must be %s, which processes call", p.Name, userTarget)
		}
	}
}

// readCaller takes signed arguments, which the guest gets as two's complement.
func (s *Scenario) readCaller(r *doc.Reader) Caller {
	c := Caller{
		CPU:    s.readCPU(r),
		Target: doc.Need(r, "target", doc.Text),
		Count:  int(doc.Opt(r, "count", 1, doc.Int(1, 8))),
		User:   doc.Opt(r, "user", false, doc.Flag),
		Moves:  doc.Opt(r, "moves", false, doc.Flag),
	}
	args := doc.Opt(r, "args", nil, doc.ListOf(doc.Int(math.MinInt64, math.MaxInt64)))
	if len(args) > len(c.Args) {
		r.Errorf("args", "%d arguments: a caller passes at most %d", len(args), len(c.Args))
	}
	for i := range min(len(args), len(c.Args)) {
		c.Args[i] = uint64(args[i])
	}
	return c
}

func (s *Scenario) readProcess(r *doc.Reader) Process {
	return Process{
		CPU:    s.readCPU(r),
		Count:  int(doc.Opt(r, "count", 1, doc.Int(1, 8))),
		Writes: doc.Opt(r, "writes", false, doc.Flag),
	}
}

// readCPU reads the number of one of the machine's CPUs.
func (s *Scenario) readCPU(r *doc.Reader) int {
	cpu := int(doc.Need(r, "cpu", doc.Int(0, maxCPUs-1)))
	if cpu >= s.CPUs && s.CPUs > 0 {
		r.Errorf("cpu", "the machine has %d CPUs, numbered from 0", s.CPUs)
	}
	return cpu
}

// readProbe leaves handlers out: the scenario could only choose among the guest's, one for each
// probe.
func readProbe(r *doc.Reader) Probe {
	p := Probe{
		Name:        doc.Need(r, "name", doc.Name),
		Target:      doc.Need(r, "target", doc.Text),
		Offset:      uint64(doc.Opt(r, "offset", 0, doc.Int(0, 1<<20))),
		Instruction: int(doc.Opt(r, "instruction", 0, doc.Int(0, 1<<20))),
		MaxActive:   int32(doc.Opt(r, "maxactive", 0, doc.Int(0, 4096))),
		User:        doc.Opt(r, "user", false, doc.Flag),
		Module:      doc.Opt(r, "module", false, doc.Flag),
	}
	if p.User && p.Module {
		r.Errorf("module", "a probe of user space has its handler in the kernel")
	}
	if p.Offset != 0 && p.Instruction != 0 {
		r.Errorf("instruction", "offset says where the probe stands: leave one of the two out")
	}
	if p.Kind = doc.Opt(r, "kind", kprobes.Kprobe, readKind); p.Kind != kprobes.Kretprobe && p.MaxActive != 0 {
		r.Errorf("maxactive", "only a kretprobe has instances")
	}
	return p
}

// readWatch reads a watchpoint of one word, or of an instruction.
func readWatch(r *doc.Reader) Watch {
	w := Watch{
		Name:        doc.Need(r, "name", doc.Name),
		Target:      doc.Need(r, "target", doc.Text),
		Symbol:      doc.Need(r, "symbol", doc.Text),
		Word:        uint64(doc.Opt(r, "word", 0, doc.Int(0, 1<<20))),
		Instruction: int(doc.Opt(r, "instruction", 0, doc.Int(0, 1<<20))),
		Type: doc.Need(r, "type", func(n *doc.Node) (kprobes.WatchType, error) {
			word, err := doc.Text(n)
			if err != nil {
				return 0, err
			}
			return kprobes.ParseWatchType(word)
		}),
	}
	switch {
	case w.Word != 0 && w.Instruction != 0:
		r.Errorf("instruction", "word says what is watched: leave one of the two out")
	case w.Word != 0 && w.Type == kprobes.WatchExecute:
		r.Errorf("word", "an execute watchpoint stands on an instruction: say which")
	case w.Instruction != 0 && w.Type != kprobes.WatchExecute:
		r.Errorf("instruction", "only an execute watchpoint stands on an instruction: say which word is watched")
	}
	return w
}

// readKind parses a kind of probe that a scenario can register.
// Jprobes are left out, as the guest has no handlers of their form that only one probe calls.
func readKind(n *doc.Node) (kprobes.Kind, error) {
	word, err := doc.OneOf(kprobes.Kprobe.String(), kprobes.Kretprobe.String())(n)
	if err != nil {
		return 0, err
	}
	return kprobes.ParseKind(word)
}

// Values of the keys of a variant.
const (
	none    = "none"
	full    = "full"
	usual   = "x86_64" // what a variant means that names no instruction set
	era2010 = "2010"   // what it means that names no era
)

// eras are the kernels of the images, by year and options; preempt is a key of its own.
func eras() []string {
	return []string{
		"2005", "2005-userprobes", "2006", era2010, "2010-nmi", "2010-userprobes", "2011", "2014", "2017", "2020", "2020-nmi", "2020-untraced",
	}
}

// readVariant has the words of an era and of a grace period. The mutants of "catches" are run by
// tests, which want the search to notice each of them.
func (s *Scenario) readVariant(r *doc.Reader, isas, mutants []string) Variant {
	v := Variant{
		Name:     doc.Need(r, "name", doc.Name),
		ISA:      doc.Opt(r, "isa", usual, doc.OneOf(isas...)),
		Era:      doc.Opt(r, "era", era2010, doc.OneOf(eras()...)),
		Preempt:  doc.Opt(r, "preempt", none, doc.OneOf(none, full)) == full,
		Patching: doc.Opt(r, "patching", "", doc.OneOf(kprobes.Patchings()...)),
		Quiesce:  doc.Opt(r, "quiesce", kprobes.QuiesceSched, doc.OneOf(kprobes.Quiesces()...)),
		Boost:    doc.Opt(r, "boost", true, doc.Flag),
		Optimize: doc.Opt(r, "optimize", true, doc.Flag),
		User:     doc.Opt(r, "user", false, doc.Flag),
		Jiffy:    doc.Opt(r, "jiffy", s.Jiffy, jiffies),
		Coherent: doc.Opt(r, "coherent", false, doc.Flag),
		Batch:    int(doc.Opt(r, "batch", int64(kprobes.Default().Batch), doc.Int(1, 1000))),
		Hasten:   doc.Opt(r, "hasten", 0, doc.Int(0, 1000)),
		Catches:  doc.Opt(r, "catches", nil, doc.ListOf(doc.OneOf(mutants...))),
	}
	v.Strikes = s.readStrikes(r, &v)
	return v
}

// known has the targets, for what reads scenarios. Nobody changes them: a lab has targets of its own.
var known = sync.OnceValue(targets.List)

// readStrikes wants a board that knows of them, and for NMIs a kernel that serves them.
func (s *Scenario) readStrikes(r *doc.Reader, v *Variant) (all []strike) {
	for _, word := range doc.Opt(r, "strikes", nil, doc.ListOf(doc.OneOf(strikeWords()[1:]...))) {
		all = append(all, strikeOf(word))
	}
	nmis := slices.Contains(all, nmiStrike)
	switch target := targets.Find(known(), v.ISA); {
	case nmis && (target == nil || !slices.Contains(target.ISA.Lines, nmiLine) || !strings.HasSuffix(v.Era, "-nmi")):
		r.Errorf("strikes", "only kernels of eras that end in -nmi serve NMIs")
	case nmis && (v.User || len(s.Processes) > 0 || slices.ContainsFunc(s.Callers, func(c Caller) bool { return c.User })):
		r.Errorf("strikes", "no NMI may strike user mode: leave user tasks out")
	}
	return all
}

// readScript reads the list of actions.
// It comes after the probes have been read, whose names its lines have.
func (s *Scenario) readScript(n *doc.Node) ([]Action, error) {
	lines, err := doc.ListOf(doc.Text)(n)
	if err != nil {
		return nil, err
	}
	if len(lines) == 0 || len(lines) > maxActions {
		return nil, fmt.Errorf("%d actions: write 1 to %d", len(lines), maxActions)
	}
	var out []Action
	for i, line := range lines {
		a, err := s.readAction(line)
		if err != nil {
			return nil, fmt.Errorf("action %d, %q: %w", i+1, line, err)
		}
		a.Pos = n.Items[i].Pos
		out = append(out, a)
	}
	return out, nil
}

// batch is how many schedules a machine runs. Processes that end use up address spaces, of which a machine has so many
// in its life.
func (s *Scenario) batch() uint64 {
	spawned, standing := 0, 0
	for i := range s.Script {
		if s.Script[i].Verb == spawnTask {
			spawned++
		}
	}
	for _, p := range s.Processes {
		standing += p.Count
	}
	if spawned == 0 {
		return batchSize
	}
	return uint64(max(1, (smp.MaxSpaces-standing)/spawned))
}
