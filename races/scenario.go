package races

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

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
// It is what differs between kernels: the same script has to hold under all of them.
type Variant struct {
	Name     string
	ISA, Era string // of the kernel
	Preempt  bool
	Patching string
	Quiesce  string
	Boost    bool
	Optimize bool
	User     bool     // all callers are user tasks
	Coherent bool     // stores reach instruction caches, also where software does not count on it
	Catches  []string // mistakes that this variant must notice
}

// Verb is what an action does.
// Most are calls of the API. The others wait, hold a probe against what is expected, or move the
// text of the module.
type Verb string

// The verbs of the script.
const (
	Register     Verb = "register"   // PROBE...
	Unregister   Verb = "unregister" // PROBE...
	Enable       Verb = "enable"     // PROBE
	Disable      Verb = "disable"    // PROBE
	Expect       Verb = "expect"     // PROBE MODE, or PROBE queued
	Settle       Verb = "settle"     // waits for the optimizer
	Sleep        Verb = "sleep"      // JIFFIES
	LoadModule   Verb = "load"       // puts the module's text there and lets callers in
	UnloadModule Verb = "unload"     // takes the module's text away
	SetWatch     Verb = "watch"      // WATCHPOINT...
	ClearWatch   Verb = "unwatch"    // WATCHPOINT...
	DropPage     Verb = "drop"       // takes the page of the program that processes share from memory
	DiscardPages Verb = "discard"    // gives up the processes' own copies of it
	SpawnTask    Verb = "spawn"      // CALLS: a process that makes so many calls and ends
	InsertModule Verb = "insmod"     // PROBE...: loads the module of handlers, whose init function registers the probes
	RemoveModule Verb = "rmmod"      // unloads it: its exit function unregisters what is left of them
)

// Action is one line of the script.
type Action struct {
	Verb   Verb
	Probes []int // indices of Scenario.Probes, or of Scenario.Watches behind them
	N      int64
	Mode   kprobes.Mode
	Queued bool // the mode does not matter, but the optimizer is going to change the probe
	Pos    doc.Pos
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
	s.File = file
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
		Jiffy:  doc.Opt(r, "jiffy", 2000, doc.Int(500, 1_000_000)),
		Delay:  doc.Opt(r, "delay", 5, doc.Int(0, 100)),
		Limit:  uint64(doc.Opt(r, "limit", 2_000_000, doc.Int(1000, 1_000_000_000))),
	}
	if r.Has("processes") {
		for _, p := range list(r, "processes", maxCallers) {
			s.Processes = append(s.Processes, readProcess(p, s.CPUs))
		}
	}
	if r.Has("callers") || len(s.Processes) == 0 {
		for _, c := range list(r, "callers", maxCallers) {
			s.Callers = append(s.Callers, readCaller(c, s.CPUs))
		}
	}
	if r.Has("watchpoints") {
		for _, w := range list(r, "watchpoints", maxWatches) {
			s.Watches = append(s.Watches, readWatch(w))
		}
	}
	if r.Has("probes") || len(s.Watches) == 0 {
		for _, p := range list(r, "probes", maxProbes) {
			s.Probes = append(s.Probes, readProbe(p))
		}
	}
	for _, v := range list(r, "variants", maxVariants) {
		s.Variants = append(s.Variants, readVariant(v))
	}
	for _, key := range []string{"replicates", "replicate", "seed"} {
		if r.Has(key) {
			r.Errorf(key, "a search tries many schedules under one layout: leave this key out; --seed chooses the schedules")
		}
	}
	s.Script = doc.Need(r, "script", s.readScript)
	s.twice(r)
	s.alone(r)
	r.Done()
	return s
}

// list reads a list of tables that must have an element.
// At most so many are read on, so that a hostile file cannot make the list of messages endless.
func list(r *doc.Reader, key string, most int) []*doc.Reader {
	rs := r.List(key)
	switch {
	case len(rs) == 0:
		r.Errorf(key, "write at least one [[%s]]", key)
	case len(rs) > most:
		r.Errorf(key, "%d are more than %d", len(rs), most)
		rs = rs[:most]
	}
	return rs
}

// twice reports names that are used more than once.
// Empty names were reported already.
func (s *Scenario) twice(r *doc.Reader) {
	seen := map[string]bool{}
	for _, p := range s.Probes {
		if seen[p.Name] && p.Name != "" {
			r.Errorf("probes", "probe %q is there twice", p.Name)
		}
		seen[p.Name] = true
	}
	for _, w := range s.Watches {
		if seen[w.Name] && w.Name != "" {
			r.Errorf("watchpoints", "the name %q is there twice", w.Name)
		}
		seen[w.Name] = true
	}
	seen = map[string]bool{}
	for _, v := range s.Variants {
		if seen[v.Name] && v.Name != "" {
			r.Errorf("variants", "variant %q is there twice", v.Name)
		}
		seen[v.Name] = true
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
func readCaller(r *doc.Reader, cpus int) Caller {
	defer r.Done()
	c := Caller{
		CPU:    int(doc.Need(r, "cpu", doc.Int(0, maxCPUs-1))),
		Target: doc.Need(r, "target", doc.Text),
		Count:  int(doc.Opt(r, "count", 1, doc.Int(1, 8))),
		User:   doc.Opt(r, "user", false, doc.Flag),
	}
	args := doc.Opt(r, "args", nil, doc.ListOf(doc.Int(math.MinInt64, math.MaxInt64)))
	if len(args) > len(c.Args) {
		r.Errorf("args", "%d arguments: a caller passes at most %d", len(args), len(c.Args))
	}
	for i := range min(len(args), len(c.Args)) {
		c.Args[i] = uint64(args[i])
	}
	if c.CPU >= cpus && cpus > 0 {
		r.Errorf("cpu", "the machine has %d CPUs, numbered from 0", cpus)
	}
	return c
}

func readProcess(r *doc.Reader, cpus int) Process {
	defer r.Done()
	p := Process{
		CPU:    int(doc.Need(r, "cpu", doc.Int(0, maxCPUs-1))),
		Count:  int(doc.Opt(r, "count", 1, doc.Int(1, 8))),
		Writes: doc.Opt(r, "writes", false, doc.Flag),
	}
	if p.CPU >= cpus && cpus > 0 {
		r.Errorf("cpu", "the machine has %d CPUs, numbered from 0", cpus)
	}
	return p
}

// readProbe leaves handlers out: the scenario could only choose among the guest's, one for each
// probe.
func readProbe(r *doc.Reader) Probe {
	defer r.Done()
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
	defer r.Done()
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
		"2005", "2005-userprobes", "2006", era2010, "2010-userprobes", "2011", "2014", "2017", "2020", "2020-untraced",
	}
}

// readVariant has the words of an era and of a grace period. The mutants of "catches" are run by
// tests, which want the search to notice each of them.
func readVariant(r *doc.Reader) Variant {
	defer r.Done()
	return Variant{
		Name:     doc.Need(r, "name", doc.Name),
		ISA:      doc.Opt(r, "isa", usual, doc.OneOf(targets.Names(targets.List())...)),
		Era:      doc.Opt(r, "era", era2010, doc.OneOf(eras()...)),
		Preempt:  doc.Opt(r, "preempt", none, doc.OneOf(none, full)) == full,
		Patching: doc.Opt(r, "patching", "", doc.OneOf(kprobes.Patchings()...)),
		Quiesce:  doc.Opt(r, "quiesce", kprobes.QuiesceSched, doc.OneOf(kprobes.Quiesces()...)),
		Boost:    doc.Opt(r, "boost", true, doc.Flag),
		Optimize: doc.Opt(r, "optimize", true, doc.Flag),
		User:     doc.Opt(r, "user", false, doc.Flag),
		Coherent: doc.Opt(r, "coherent", false, doc.Flag),
		Catches:  doc.Opt(r, "catches", nil, doc.ListOf(doc.OneOf(Mutants()...))),
	}
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
		if s.Script[i].Verb == SpawnTask {
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

// verbs says how many words follow each verb, at least and at most.
func verbs() map[Verb][2]int {
	return map[Verb][2]int{
		Register: {1, maxProbes}, Unregister: {1, maxProbes}, Enable: {1, 1}, Disable: {1, 1},
		Expect: {2, 2}, Settle: {0, 0}, Sleep: {1, 1}, LoadModule: {0, 0}, UnloadModule: {0, 0},
		SetWatch: {1, maxWatches}, ClearWatch: {1, maxWatches}, DropPage: {0, 0}, DiscardPages: {0, 0}, SpawnTask: {1, 1},
		InsertModule: {0, maxProbes}, RemoveModule: {0, 0},
	}
}

// queued is what a script calls a probe that waits for the optimizer.
const queued = "queued"

// readAction never gets an empty line: doc.Text refuses one.
func (s *Scenario) readAction(line string) (a Action, err error) {
	words := strings.Fields(line)
	a.Verb, words = Verb(words[0]), words[1:]
	want, known := verbs()[a.Verb]
	switch {
	case !known:
		return a, fmt.Errorf("unknown verb: known are register, unregister, enable, disable, expect, "+
			"settle, sleep, load, unload, watch, unwatch, drop, discard, spawn, insmod, rmmod%s", doc.Suggest(string(a.Verb), verbNames()))
	case len(words) < want[0] || len(words) > want[1]:
		return a, fmt.Errorf("%d words behind the verb, want %d to %d", len(words), want[0], want[1])
	}
	if err := s.allows(a.Verb); err != nil {
		return a, err
	}
	if a.Verb == Sleep || a.Verb == SpawnTask {
		a.N, err = strconv.ParseInt(words[0], 10, 64)
		what := map[Verb]string{Sleep: "sleep 1 to 1000 jiffies", SpawnTask: "a task makes 1 to 1000 calls"}[a.Verb]
		if err != nil || a.N < 1 || a.N > 1000 {
			return a, fmt.Errorf("%s, not %s", what, words[0])
		}
		return a, nil
	}
	if a.Verb == Expect {
		if a.Queued = words[1] == queued; !a.Queued {
			if a.Mode, err = readMode(words[1]); err != nil {
				return a, err
			}
		}
		words = words[:1]
	}
	if a.Verb == SetWatch || a.Verb == ClearWatch {
		a.Probes, err = s.watches(words)
		return a, err
	}
	if a.Probes, err = s.named(words); err != nil {
		return a, err
	}
	for _, i := range a.Probes {
		if a.Verb == InsertModule && !s.Probes[i].Module {
			return a, fmt.Errorf("probe %q is not the module's: it does not say module = true", s.Probes[i].Name)
		}
		if s.Probes[i].User && a.Verb != Register && a.Verb != Unregister {
			return a, fmt.Errorf("probe %q is of user space, which can only be registered and unregistered", s.Probes[i].Name)
		}
	}
	return a, nil
}

// allows refuses what needs processes, or a module of handlers, where there are none. A task is spawned on another CPU
// than that of the script.
func (s *Scenario) allows(v Verb) error {
	handlers := slices.ContainsFunc(s.Probes, func(p Probe) bool { return p.Module })
	switch {
	case (v == InsertModule || v == RemoveModule) && !handlers:
		return fmt.Errorf("%s is for scenarios with a probe that says module = true", v)
	case v != DropPage && v != DiscardPages && v != SpawnTask:
		return nil
	case len(s.Processes) == 0:
		return fmt.Errorf("%s is for scenarios with [[processes]]", v)
	case v == SpawnTask && s.CPUs == 1:
		return fmt.Errorf("spawn needs cpus of at least 2, as CPU 0 has the script")
	}
	return nil
}

// readMode reads a mode that a script can expect, by the word for it in scripts.
func readMode(word string) (kprobes.Mode, error) {
	if word == "breakpoint" { // stepped, emulated or boosted
		return kprobes.Stepped, nil
	}
	mode, err := kprobes.ParseMode(word)
	switch mode {
	case kprobes.Gone, kprobes.Disabled, kprobes.Boosted, kprobes.Optimized, kprobes.Ftrace:
		return mode, err
	}
	return mode, fmt.Errorf("unknown mode %q: known are gone, disabled, breakpoint, boosted, optimized, ftrace, queued", word)
}

// verbNames is in the order of the message, as a map has none.
func verbNames() []string {
	return []string{
		string(Register), string(Unregister), string(Enable), string(Disable), string(Expect),
		string(Settle), string(Sleep), string(LoadModule), string(UnloadModule),
		string(SetWatch), string(ClearWatch), string(DropPage), string(DiscardPages), string(SpawnTask),
		string(InsertModule), string(RemoveModule),
	}
}

// named looks probes up by their names.
func (s *Scenario) named(words []string) ([]int, error) {
	var known []string
	for _, p := range s.Probes {
		known = append(known, p.Name)
	}
	return find("probe", known, words)
}

// watches looks watchpoints up by their names. They are numbered behind the probes.
func (s *Scenario) watches(words []string) ([]int, error) {
	var known []string
	for _, w := range s.Watches {
		known = append(known, w.Name)
	}
	found, err := find("watchpoint", known, words)
	for i := range found {
		found[i] += len(s.Probes)
	}
	return found, err
}

func find(what string, known, words []string) (found []int, err error) {
	for _, w := range words {
		at := slices.Index(known, w)
		if at < 0 {
			return nil, fmt.Errorf("no %s %q: known are %s%s", what, w, strings.Join(known, ", "), doc.Suggest(w, known))
		}
		found = append(found, at)
	}
	return found, nil
}
