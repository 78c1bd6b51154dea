package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"kprobesim/distro/attaching"
	"kprobesim/distro/probing"
	"kprobesim/experiments"
	"kprobesim/experiments/keeping"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/experiments/whatif"
	"kprobesim/results"
)

// attachExperiment has the measurements. That of another instruction set has its name behind it.
const attachExperiment = "linux-attach"

// whatIfOptions holds the options of `what-if`.
type whatIfOptions struct {
	explain explainOptions
	probe   whatif.Probe
	program string
	rate    float64
	limit   float64
	cpus    int
	format  string
	limits  *running.Limit
}

func (a *app) whatIfCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "what-if --kernel FILE --probe KIND:TARGET",
		Short: "Say what a probe of a program of BPF would cost at a rate of events",
		Long: `Say what a probe would cost on a packaged kernel at the rate of events that is expected: which way the kernel takes at
that place and why, cycles and nanoseconds a hit, per cent of a CPU, and what would be cheaper at the same place.

The experiment linux-attach measures each way. Its points are measured when they are asked for the first time for a kernel and
a machine, and kept (--keep). Later answers take seconds. The answer says what was measured and what follows from it.

Exit code 3 says that the probe takes more of each CPU than --limit allows.

	kprobesim what-if --kernel vmlinuz --probe kprobe:tcp_sendmsg --rate 200k --cpus 8 --limit 1`,
		Args: cobra.NoArgs,
	}
	o := whatIfOptions{limits: limitFlag(c, pointLimit)}
	o.explain.boot.limit = o.limits
	f := c.Flags()
	f.StringVar(&o.explain.boot.kernel, "kernel", "", "the kernel: a vmlinuz, or a vmlinux (ELF)")
	f.StringVar(&o.explain.boot.machine, "machine", "xeon-e5410", "machine description")
	probes := f.StringArray("probe", nil, "what is attached, as `KIND:TARGET`: "+strings.Join(whatif.Kinds(), ", "))
	f.StringVar(&o.program, "program", attaching.Count, "what the program does: "+strings.Join([]string{attaching.Empty, attaching.Count, attaching.Ringbuf}, ", "))
	rate := f.String("rate", "", "events a second on all CPUs together, such as 200k or 1.5M")
	f.IntVar(&o.cpus, "cpus", 1, "CPUs that the events are spread over")
	f.Float64Var(&o.limit, "limit", 0, "per cent of each CPU that the probe may take, for the exit code")
	f.StringVar(&o.format, "format", "text", "text or json")
	keep := f.String("keep", "", "directory that keeps measurements (default: kprobesim/what-if in the user's folder for caches)")
	workers := workersFlag(c)
	c.RunE = func(*cobra.Command, []string) error {
		if len(*probes) > 1 {
			return fail(exitUsage, fmt.Errorf("what-if: --probe is there %d times: ask for one probe at a time", len(*probes)))
		}
		if err := o.read(strings.Join(*probes, ""), *rate); err != nil {
			return fail(exitUsage, fmt.Errorf("what-if: %w", err))
		}
		return a.whatIf(&o, *keep, *workers)
	}
	return c
}

// read reads and checks the options.
func (o *whatIfOptions) read(probe, rate string) (err error) {
	if o.probe, err = whatif.Parse(probe); err != nil {
		return err
	}
	if o.rate, err = perSecond(rate); err != nil {
		return err
	}
	switch {
	case o.format != "text" && o.format != "json":
		return fmt.Errorf("--format %q: it is text or json", o.format)
	case o.program != attaching.Empty && o.program != attaching.Count && o.program != attaching.Ringbuf:
		return fmt.Errorf("--program %q: it is %s, %s or %s", o.program, attaching.Empty, attaching.Count, attaching.Ringbuf)
	case o.cpus < 1 || o.limit < 0 || math.IsNaN(o.limit):
		return errors.New("--cpus and --limit must be positive")
	case o.limit > 0 && o.rate == 0:
		return errors.New("--limit is of a share of time, which needs a --rate")
	}
	return nil
}

// perSecond reads a rate: a number, with k for thousands or M for millions; "" is none.
func perSecond(text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	number, factor := text, 1.0
	for suffix, f := range map[string]float64{"k": 1e3, "M": 1e6} {
		if n, ok := strings.CutSuffix(text, suffix); ok {
			number, factor = n, f
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v > 0 && v*factor <= 1e12) {
		return 0, fmt.Errorf("--rate %q: write events a second, such as 50000, 200k or 1.5M", text)
	}
	return v * factor, nil
}

// whatIf answers.
func (a *app) whatIf(o *whatIfOptions, keep string, workers int) error {
	c, mach, k, err := a.booted(&o.explain)
	if err != nil {
		return err
	}
	q := &whatif.Question{
		Probe: o.probe, Program: o.program, Rate: o.rate, CPUs: o.cpus, Limit: o.limit, Kernel: c.Kernel.Version(), Machine: mach.Name, Hz: mach.CPU.Hz,
	}
	var v *probing.Verdict
	has := whatif.Kernel{}
	if o.probe.InKernel() {
		if v, err = o.verdict(k, q); err != nil {
			return fail(exitUsage, fmt.Errorf("what-if: %w", err))
		}
		function, _, _ := strings.Cut(v.Place, "+")
		has.Typed = attaching.Typed(c.Kernel.Content("BTF"), function)
	}
	kernel := attaching.Has{Types: c.Kernel.Content("BTF") != nil, Function: func(name string) bool {
		_, ok := c.Kernel.Image.Symbol(name)
		return ok
	}}
	if lacks := attaching.Lacks(o.probe.Kind, kernel); lacks != "" {
		return fail(exitUsage, fmt.Errorf("what-if: no %s: the kernel %s", o.probe.Kind, lacks))
	}
	if f := o.probe.Function(); f != "" {
		if _, ok := c.Kernel.Image.Symbol(f); !ok {
			return fail(exitUsage, fmt.Errorf("what-if: the kernel has no tracepoint %s: it has no function %s", o.probe.Target, f))
		}
	}
	p, err := a.attachPlan(o, mach.ISA, whatif.Settings(v, o.program))
	if err != nil {
		return fail(exitUsage, err)
	}
	q.Experiment = p.Name
	returns, err := p.Point(attaching.Kretprobe)
	if err != nil {
		return fail(exitUsage, err)
	}
	has.Entered = returns.Probe.Mode
	_, err = p.Point(attaching.KprobeMulti)
	has.Multi = err == nil
	_, err = p.Point(attaching.Uprobe + "-opt")
	has.Called = err == nil
	ways, err := whatif.Ways(o.probe, v, has, o.program)
	if err != nil {
		return fail(exitUsage, fmt.Errorf("what-if: %w", err))
	}
	cycles, err := a.attachCosts(p, o, whatif.Points(ways), keep, workers)
	if err != nil {
		return err
	}
	answer, err := whatif.Ask(q, ways, cycles)
	if err != nil {
		return fail(exitFailed, fmt.Errorf("what-if: %w", err))
	}
	return a.tellWhatIf(o, answer)
}

// verdict is the kernel's on the place. A return probe stands at the start of its function.
func (o *whatIfOptions) verdict(k *probing.Kernel, q *whatif.Question) (*probing.Verdict, error) {
	if o.probe.Kind != attaching.Kprobe && strings.Contains(o.probe.Target, "+") {
		return nil, fmt.Errorf("a %s stands at the start of a function: leave the offset out", o.probe.Kind)
	}
	at, err := k.Resolve(o.probe.Target)
	if err != nil {
		return nil, err
	}
	v := k.At(at)
	if !v.Probe {
		return nil, fmt.Errorf("no probe may stand at %s: %s (rule %s)", v.Place, v.Why, v.Rule)
	}
	q.Place = v.Place
	switch {
	case v.Optimized:
		q.Why = "the kernel replaces the breakpoint by a jump"
	case v.Exceptions == 0:
		q.Why = "the function begins with a call of ftrace, and the probe rests on it"
	default:
		q.Why = fmt.Sprintf("it stays a breakpoint: %s (rule %s)", v.KeptWhy, v.Kept)
	}
	return &v, nil
}

// attachPlan plans the experiment with the measurements: that of the instruction set, where there is one.
func (a *app) attachPlan(o *whatIfOptions, isa string, settings []string) (*schema.Plan, error) {
	name := attachExperiment
	if own := name + "-" + isa; slices.Contains(experiments.Names(), own) {
		name = own
	}
	p, err := a.loader.Plan(name, append([]string{"linux.kernel=" + o.explain.boot.kernel, "machine=" + o.explain.boot.machine}, settings...))
	if err == nil {
		err = lacking(p)
	}
	return p, err
}

// attachCosts measures points, or finds them measured, and returns what gives the cycles of a hit.
func (a *app) attachCosts(p *schema.Plan, o *whatIfOptions, points []string, keep string, workers int) (func(string) (float64, error), error) {
	p.Points = slices.DeleteFunc(p.Points, func(q schema.Point) bool { return !slices.Contains(points, q.Probe.Name) })
	measure := func(m running.Measure) running.Measure { return m }
	if dir := whatIfFolder(keep); dir != "" && a.program != nil {
		store, err := a.store(dir, false, keeping.Shard{I: 1, N: 1})
		if err != nil {
			return nil, fail(exitFailed, err)
		}
		defer func() { _ = store.Close() }() // what was not kept is measured again
		measure = store.Measure
	}
	r := a.measured(p, measure, workers, o.limits)
	if err := r.Err(); err != nil {
		return nil, fail(exitFailed, err)
	}
	return func(point string) (float64, error) {
		for _, q := range r.Set.Points() {
			if rec, ok := r.Set.Get(q, results.MetricCycles); ok && q.Probe == point {
				return rec.Value.Float(), nil
			}
		}
		return 0, fmt.Errorf("%s has no point %s for this kernel: it was built without what that needs", p.Name, point)
	}, nil
}

// whatIfFolder is where measurements are kept; "" for nowhere.
func whatIfFolder(keep string) string {
	if keep != "" {
		return keep
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "kprobesim", "what-if")
}

// tellWhatIf prints an answer, and fails where the limit is passed.
func (a *app) tellWhatIf(o *whatIfOptions, answer *whatif.Answer) error {
	if o.format == "json" {
		e := json.NewEncoder(a.out)
		e.SetIndent("", "  ")
		if err := e.Encode(answer); err != nil {
			return fail(exitFailed, err)
		}
	} else {
		fmt.Fprint(a.out, answer.Text())
	}
	if answer.Over {
		own := answer.Ways[0]
		return fail(exitRegression, fmt.Errorf("what-if: %s takes %.3f %% of each CPU, and the limit is %.3f %%", answer.Probe, own.Each, o.limit))
	}
	return nil
}
