package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kprobesim/distro"
	"kprobesim/distro/costing"
	"kprobesim/distro/probing"
	"kprobesim/machines"
	"kprobesim/sim"
)

// explainOptions holds the options of `explain`.
type explainOptions struct {
	boot         bootOptions
	image        string
	sample, seed int
	all          bool
	file, verify bool
	cost         bool
	returns      bool
	user         bool
	module       string
	format       string
	answers      string
	rounds       int
	workers      int
	sharing      *sharing
}

func (a *app) explainCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "explain (--kernel FILE | --image IMAGE) (SYMBOL[+OFFSET]... | --user)",
		Short: "Say whether a kernel takes a probe, and of which kind",
		Long: `Say of places in a kernel whether a probe may stand there, how a hit of it runs, whether it would be replaced by a
jump, and which rule says no. The kernel is that of a distribution (--kernel) or one of this program (--image). A
place is SYMBOL, SYMBOL+OFFSET or an address in hexadecimal.

A distribution's kernel changes its text while it boots, for the processor that it finds. So it is booted on the machine
first, up to rest_init; --file judges the text of the file instead. --verify also asks the kernel, by a trace event at
each place, and compares. It asks for 2,000 places in a round, and each round is a boot. A kernel of this program is asked by
registering a probe at each place. Exit code 1 says that it differs, or that it could not be asked.

--all judges every instruction. As text it counts them by kind and by the rule that says no, with an example of each. With
--sample it does the same for so many instructions at random.

--cost measures a hit of every kind that the places have on the machine, once for each kind. The handler is empty for a
kernel of this program. For that of a distribution it is a trace event's, or that of --module. With --returns it is the hit of
a return probe of each function. --user measures probes in programs, in each way that the kernel has.`,
	}
	var o explainOptions
	o.boot.limit = limitFlag(c, hostLimit)
	f := c.Flags()
	f.StringVar(&o.boot.kernel, "kernel", "", "the kernel: a vmlinuz, or a vmlinux (ELF)")
	f.StringVar(&o.image, "image", "", "a guest kernel of this program in its place")
	f.StringVar(&o.boot.machine, "machine", "", "machine description (default: xeon-e5410, tc2-cortex-a15 for a kernel of ARM, or for --image the first of its instruction set)")
	f.StringVar(&o.boot.tree, "dtb", "", "with --kernel: "+treeHelp)
	f.BoolVar(&o.all, "all", false, "every instruction of the kernel, or those of --sample: text is counted by kind and by rule, JSON has each")
	f.IntVar(&o.sample, "sample", 0, "this many instructions at random, from all functions")
	f.IntVar(&o.seed, "seed", 1, "which random instructions")
	f.BoolVar(&o.file, "file", false, "judge the text of the file, and boot nothing")
	f.BoolVar(&o.verify, "verify", false, "ask the kernel, too, and compare")
	f.BoolVar(&o.cost, "cost", false, "measure what a hit costs, once for each kind")
	f.BoolVar(&o.returns, "returns", false, "with --kernel and --cost: measure return probes of the functions that are named")
	f.BoolVar(&o.user, "user", false, "with --kernel and --cost: measure user probes and their return probes, in place of places in the kernel")
	f.StringVar(&o.module, "module", "", "with --kernel and --cost: kprobesim_empty.ko, whose empty handler is measured in place of a trace event's")
	f.StringVar(&o.format, "format", "text", "text or json")
	f.StringVar(&o.answers, "answers", "", "with --kernel and --verify: file that keeps the kernel's answers; a second run asks for the places that it has not")
	f.IntVar(&o.rounds, "rounds", 0, "with --kernel and --verify: ask in so many rounds of this run, each of which is an even sample of all places (0: until all are asked)")
	workers := workersFlag(c)
	o.sharing = a.shardFlag(c, f.StringP("out", "o", "out", "with --shard: directory that keeps the kernel's answers"))
	f.Lookup("workers").Usage = "with --kernel and --verify: machines that ask at the same time (0: one a core)"
	c.RunE = func(_ *cobra.Command, args []string) error {
		o.workers = *workers
		return a.explain(&o, args)
	}
	return c
}

// explain judges the places and prints the verdicts.
func (a *app) explain(o *explainOptions, places []string) error {
	if err := o.check(places); err != nil {
		return fail(exitUsage, fmt.Errorf("explain: %w", err))
	}
	if o.image != "" {
		return a.explainImage(o, places)
	}
	c, _, k, err := a.booted(o)
	if err != nil {
		return err
	}
	if o.user {
		return a.printUser(o, newCosts(a, o, c, k))
	}
	sites, err := o.sites(k, places)
	if err != nil {
		return fail(exitUsage, err)
	}
	var asked *inquiry
	if o.verify {
		if o.every() {
			sites = k.All()
		}
		if asked, err = a.ask(o, c, k, sites); err != nil {
			return fail(exitFailed, err)
		}
	}
	if !o.sharing.shard.Whole() {
		fmt.Fprintf(a.out, "explain, shard %s: %s asked for\n", o.sharing.shard, counted(asked.asked, "place"))
		return nil
	}
	if o.every() {
		fmt.Fprintln(a.err, "judging every instruction, which takes a minute or more")
	}
	return a.printVerdicts(o, c, k, sites, asked)
}

// booted reads a packaged kernel, boots it for its text, and gathers what its rules look at.
func (a *app) booted(o *explainOptions) (c distro.Config, mach *machines.Machine, k *probing.Kernel, err error) {
	o.boot.memory, o.boot.seconds = explainMemory, distro.DefaultBudget
	o.boot.date, o.boot.cpus = bootDate, 1
	o.boot.reads, o.boot.untimed = o.file, true // the text and the kernel's answers do not depend on what things cost
	if c, mach, err = a.bootConfig(&o.boot); err != nil {
		return c, nil, nil, fail(exitUsage, err)
	}
	if k, err = a.judge(o, c); err != nil {
		return c, nil, nil, err
	}
	if doubt := k.Doubt(); doubt != "" {
		fmt.Fprintf(a.err, "kprobesim: %s\n", doubt)
	}
	return c, mach, k, nil
}

// every reports whether each instruction of the kernel is judged.
func (o *explainOptions) every() bool { return o.all && o.sample == 0 }

// answered is a verdict with what was asked for beside it.
type answered struct {
	probing.Verdict
	Cost   *costing.Cost   `json:"cost,omitempty"`
	Kernel *probing.Answer `json:"kernel,omitempty"`
}

// costs holds the cost of each way in which hits run, measured when the first verdict asks for it.
type costs struct {
	app   *app
	o     *explainOptions
	c     distro.Config
	k     *probing.Kernel
	lab   *costing.Lab // once one was asked for
	known map[string]*costing.Cost
}

func newCosts(a *app, o *explainOptions, c distro.Config, k *probing.Kernel) *costs {
	return &costs{app: a, o: o, c: c, k: k, known: map[string]*costing.Cost{}}
}

// fill sets what a hit costs where --cost asks for it and a probe may stand.
func (s *costs) fill(v *answered) error {
	if !s.o.cost || !v.Probe {
		return nil
	}
	mode, measure := costing.Mode(&v.Verdict), (*costing.Lab).Measure
	if s.o.returns {
		if !starts(&v.Verdict) {
			return fail(exitUsage, fmt.Errorf("explain: a return probe stands at the start of a function, and %s is none: leave the offset out", v.Place))
		}
		measure = (*costing.Lab).Return
	}
	if _, ok := s.known[mode]; !ok {
		if err := s.boot(); err != nil {
			return err
		}
		var err error
		if s.known[mode], err = measure(s.lab, mode); err != nil {
			return fail(exitFailed, err)
		}
	}
	v.Cost = s.known[mode]
	return nil
}

// starts reports whether a function starts at a place. Behind the landing pad of an indirect jump that is where ftrace has its call.
func starts(v *probing.Verdict) bool {
	return !strings.Contains(v.Place, "+") || strings.HasSuffix(v.Place, "+0x0") || v.Kind == "ftrace"
}

// boot boots the kernel for measurements, unless it has.
func (s *costs) boot() error {
	if s.lab != nil {
		return nil
	}
	var module []byte
	var err error
	if s.o.module != "" {
		if module, err = os.ReadFile(s.o.module); err != nil {
			return fail(exitUsage, err)
		}
	}
	c := s.c
	c.Halt = s.app.halt(s.o.boot.limit)
	s.lab, err = costing.Boot(c, s.k, module)
	return fail(exitFailed, err)
}

// explainMemory is the memory of machines here, in MiB: two thousand probes with their events take some tens.
const explainMemory = 256

// check refuses options that do not go together.
func (o *explainOptions) check(places []string) error {
	switch {
	case o.format != "text" && o.format != "json":
		return fmt.Errorf("--format %q: it is text or json", o.format)
	case o.image != "" && (o.boot.kernel != "" || o.file):
		return errors.New("--image is a kernel of this program, and --kernel and --file are for those of distributions: use one of them")
	case o.sample < 0:
		return fmt.Errorf("--sample %d: it is a number of places", o.sample)
	case o.all && len(places) > 0:
		return fmt.Errorf("--all takes every instruction, so leave %s out, or name places without --all", places[0])
	case (o.answers != "" || o.rounds != 0) && (o.image != "" || !o.verify):
		return errors.New("--answers and --rounds go with --kernel and --verify")
	case o.sharing != nil && o.sharing.text != "" && (o.image != "" || !o.verify):
		return errors.New("--shard goes with --kernel and --verify: rounds of questions are what can be parted")
	case o.rounds < 0:
		return fmt.Errorf("--rounds %d: it is how often the kernel is booted, or 0 for as often as it takes", o.rounds)
	case o.module != "" && (o.image != "" || !o.cost):
		return errors.New("--module goes with --kernel and --cost")
	case (o.returns || o.user) && (o.image != "" || !o.cost):
		return errors.New("--returns and --user go with --kernel and --cost")
	case o.user && (len(places) > 0 || o.sample > 0 || o.all || o.returns || o.verify):
		return errors.New("--user measures probes in programs: leave out places in the kernel and what is said of them")
	case o.returns && (o.sample > 0 || o.all):
		return errors.New("--returns is of functions: name them")
	case o.file && o.cost:
		return errors.New("--cost boots the kernel, and --file boots nothing: use one of them")
	case len(places) == 0 && o.sample <= 0 && !o.all && !o.user:
		return errors.New("name places as SYMBOL+OFFSET, or how many at random by --sample")
	case o.verify && o.file:
		return errors.New("--verify boots the kernel, and --file boots nothing: use one of them")
	}
	return nil
}

// judge reads the kernel's tables, and its text from a machine that has booted it.
func (a *app) judge(o *explainOptions, c distro.Config) (*probing.Kernel, error) {
	if o.file {
		k, err := probing.Read(c.Kernel, nil)
		return k, fail(exitUsage, err)
	}
	start := time.Now()
	m, err := o.boot.run(c, distro.Stop{Symbol: "rest_init"})
	if err == nil && m.Ended() != distro.AtSymbol {
		err = fmt.Errorf("the kernel did not come to rest_init: %s; try --file", m.Ended())
	}
	if err != nil {
		return nil, fail(exitFailed, err)
	}
	fmt.Fprintf(a.err, "booted to rest_init in %.0f s\n", time.Since(start).Seconds())
	k, err := probing.Read(c.Kernel, reader(m))
	return k, fail(exitUsage, err)
}

// reader reads the text that a machine has.
func reader(m *sim.Machine) func(va uint64, n int) []byte {
	return func(va uint64, n int) []byte {
		b, err := m.ReadBytes(va, n)
		if err != nil {
			return nil
		}
		return b
	}
}

// explained is a kernel of either sort.
type explained interface {
	Resolve(place string) (uint64, error)
	Random(next func() uint64) uint64
}

// sites finds the places, and adds those at random. A place is judged once; they go by address.
func (o *explainOptions) sites(k explained, places []string) ([]uint64, error) {
	var out []uint64
	for _, p := range places {
		at, err := k.Resolve(p)
		if err != nil {
			return nil, err
		}
		out = append(out, at)
	}
	r := rand.New(rand.NewPCG(uint64(o.seed), 0))
	for range o.sample {
		out = append(out, k.Random(r.Uint64))
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// sentences say what a verdict is.
func sentences(v probing.Verdict) []string {
	if !v.Probe {
		return []string{fmt.Sprintf("no probe (%s, error %s): %s", v.Rule, strconv.Itoa(v.Errno), v.Why)}
	}
	out := []string{map[string]string{
		"ftrace":   "a probe rests on ftrace: the function calls the handlers at its start, and no exception is taken",
		"emulated": "a probe is a breakpoint: one exception, and the kernel does what the instruction would do",
		"boosted":  "a probe is a breakpoint: one exception, and a copy of the instruction with a jump back behind it",
		"stepped":  "a probe is a breakpoint: an exception, a copy of the instruction, and a second exception behind it",
	}[v.Kind]}
	switch {
	case v.Optimized:
		out = append(out, "a moment later it is a jump without an exception, unless it has a post handler")
	case v.Kind != "ftrace":
		out = append(out, fmt.Sprintf("it stays a breakpoint (%s): %s", v.Kept, v.KeptWhy))
	}
	if !v.Event {
		out = append(out, "a trace event may not stand there, because ftrace does not know the function; a module's probe may")
	}
	return out
}
