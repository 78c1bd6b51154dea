package kinds

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/google/pprof/profile"

	"kprobesim/cpus"
	"kprobesim/distro/attaching"
	"kprobesim/distro/measuring"
	"kprobesim/distro/phases"
	"kprobesim/experiments/schema"
	"kprobesim/image"
	"kprobesim/internal/clock"
	"kprobesim/kprobes"
	"kprobesim/results"
	"kprobesim/sim"
)

// Metrics of a program under a packaged kernel. Cycles count the work of CPUs, without sleep and interrupts.
const (
	MetricRegion     = "region_cycles" // of all CPUs
	metricRegionTime = "region_us"     // from the beginning to the end, with everything
	metricTicks      = "region_interrupt_cycles"
	MetricOverhead   = "overhead_percent"      // of cycles
	metricLonger     = "overhead_time_percent" // of time
	metricEvents     = "events"
	metricLost       = "events_lost" // for which a ring buffer had no room
	metricEventRate  = "events_a_second"
)

// eventCounts are counters of which an event's share is told.
func eventCounts() []eventCount {
	return []eventCount{
		{"l1i_misses_per_hit", func(c *cpus.Counters) uint64 { return c.L1IMisses }},
		{"l1d_misses_per_hit", func(c *cpus.Counters) uint64 { return c.L1DMisses }},
		{"l2_misses_per_hit", func(c *cpus.Counters) uint64 { return c.L2Misses }},
		{"itlb_misses_per_hit", func(c *cpus.Counters) uint64 { return c.ITLBMisses }},
		{"dtlb_misses_per_hit", func(c *cpus.Counters) uint64 { return c.DTLBMisses }},
		{"mispredicts_per_hit", func(c *cpus.Counters) uint64 { return c.Mispredicts }},
	}
}

type eventCount struct {
	metric string
	of     func(*cpus.Counters) uint64
}

// working is a run of a program.
type working struct {
	*measuring.Outcome
	work    clock.Ticks // of all CPUs, without sleep and interrupts
	ticks   clock.Ticks // of interrupts
	phases  map[image.Phase]clock.Ticks
	hits    int64 // entries of the attached programs
	sampled bool  // some of them run in interrupts, which count for them then
	entered *entries
	profile []byte
}

// sum adds a counter of all CPUs up.
func (r *working) sum(of func(*cpus.Counters) uint64) (n int64) {
	for i := range r.CPUs {
		n += int64(of(&r.CPUs[i].Counters))
	}
	return n
}

// instructions counts what a CPU has executed without what it executed in interrupts.
func instructions(c *cpus.Counters) uint64 {
	n := c.Instructions
	for _, i := range c.Count[cpus.Interrupted] {
		n -= i
	}
	return n
}

// measureWorkload runs the program of a point with what is attached, and once for all points without.
func measureWorkload(p *schema.Point, watch func(*sim.Machine) cpus.Observer) (*Measurement, error) {
	b, err := benchOf(p)
	if err != nil {
		return nil, err
	}
	lab := b.lab.Within(budget(p))
	w := p.Linux.Working
	made, err := b.work.Do(fmt.Sprintf("%q %q %t %d %d %q", w.Command, w.Env, w.Marks, w.Warm, p.Budget, randomOf(p)), func() (any, error) { return runWorkload(p, lab, nil, nil) })
	if err != nil {
		return nil, fmt.Errorf("without a probe: %w", err)
	}
	plain := made.(*working)
	if p.Probe.Linux.What == schema.LinuxNone {
		return plain.measurement(p, plain), nil
	}
	with, err := runWorkload(p, lab, p.Probe.Linux, watch)
	if err != nil {
		return nil, err
	}
	if err := with.verify(p, plain); err != nil {
		return nil, err
	}
	return with.measurement(p, plain), nil
}

// attach completes an order by what a point attaches; nil for nothing.
func attach(l *schema.LinuxProbe, o *measuring.Command) error {
	switch {
	case l == nil:
	case l.Tool != nil:
		o.Tool, o.Settle = l.Tool.Command, int(l.Tool.Settle)
	case l.Object != nil:
		object, err := attaching.ReadObject(l.Object.File, l.Object.Choice)
		o.Attach = &attaching.Attachment{Object: object}
		return err
	default:
		o.Attach = &attaching.Attachment{Way: l.What, Program: l.Program, Target: l.Target, Offset: uint64(l.Offset), Hits: uint64(l.Room)}
	}
	return nil
}

// entries counts how often programs were entered.
type entries struct {
	tell func(sim.Event) // of each
	of   []attaching.Program
	n    []int64
}

// Step implements cpus.Observer.
func (e *entries) Step(s *cpus.Step) {
	for i := range e.of {
		if s.PC == e.of[i].Entry() {
			e.n[i]++
			e.tell(sim.Event{CPU: s.CPU, Kind: kprobes.EventProbe, Name: "program " + e.of[i].Name, Arg: s.PC})
		}
	}
}

// note notes the entries of each of several programs; equal names count together.
func (e *entries) note(m *Measurement) {
	if len(e.of) < 2 {
		return
	}
	sums := map[string]int64{}
	for i, p := range e.of {
		sums[p.Name] += e.n[i]
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		m.note(metricEvents+"_"+name, "events", sums[name], 1)
	}
}

// awake tells an observer of the instructions of a CPU without the time in which the CPU has waited for an interrupt before. Where the
// interrupt is masked meanwhile, that time is not its delivery's, but the next instruction's.
type awake struct {
	m     *sim.Machine
	slept clock.Ticks
	to    cpus.Observer
}

// Step implements cpus.Observer.
func (a *awake) Step(s *cpus.Step) {
	slept := a.m.Slept(s.CPU)
	if slept == a.slept {
		a.to.Step(s)
		return
	}
	own := *s
	own.Start += min(slept-a.slept, s.End-s.Start)
	a.slept = slept
	a.to.Step(&own)
}

// ofCPUs tells one observer of each CPU.
type ofCPUs []cpus.Observer

// Step implements cpus.Observer.
func (o ofCPUs) Step(s *cpus.Step) { o[s.CPU].Step(s) }

// together are observers of all CPUs. One step may tell them of a run of instructions that has one phase and enters no program.
type together struct {
	ofCPUs
	phases   *phases.Sorter
	programs []attaching.Program
}

// Block implements cpus.BlockObserver.
func (o *together) Block(pc uint64, code []byte) bool {
	return o.phases.Together(pc, code) && !slices.ContainsFunc(o.programs, func(p attaching.Program) bool {
		return pc < p.Entry() && p.Entry()-pc < uint64(len(code))
	})
}

// runWorkload runs the program of a point once. A command that fails is an error with what it has said.
func runWorkload(p *schema.Point, lab *measuring.Lab, l *schema.LinuxProbe, watch func(*sim.Machine) cpus.Observer) (*working, error) {
	w := p.Linux.Working
	tally, hit := sim.NewTally(sim.OfSteps{}), &entries{}
	var attached *attaching.Attached
	var profiles []*sim.Profile
	order := measuring.Command{
		Args: w.Command, Env: w.Env, Folder: w.Folder, Warm: int(w.Warm), Marks: w.Marks, Random: randomOf(p),
		Attached: func(a *attaching.Attached) { attached = a },
	}
	if err := attach(l, &order); err != nil {
		return nil, err
	}
	out, err := lab.Command(order, func(m *sim.Machine) cpus.Observer {
		if attached != nil {
			hit.tell, hit.of, hit.n = m.Note, attached.Programs, make([]int64, len(attached.Programs))
		}
		var each together
		var beside cpus.Observer
		if watch != nil {
			beside = watch(m)
		}
		for i := range m.CPUs() {
			sorter := phases.New(m.Image())
			sorter.Anywhere()
			profile := sim.NewPhasedProfile(m.Image())
			profile.Program("user mode")
			profiles = append(profiles, profile)
			to := []cpus.Observer{&awake{m: m, slept: m.Slept(i), to: tally}, profile, hit}
			if attached != nil {
				sorter.Programs(attached.Code())
			}
			if beside != nil {
				to = append(to, beside)
			}
			each.ofCPUs = append(each.ofCPUs, sim.Phased(sorter, to...))
			each.phases = sorter
		}
		if each.programs = hit.of; watch != nil {
			return each.ofCPUs // which is told of every instruction
		}
		return &each
	})
	if err != nil {
		return nil, err
	}
	r, err := workingOf(out, hit, attached)
	if err != nil {
		return nil, err
	}
	r.phases = tally.Time()
	r.profile, err = merged(profiles)
	return r, err
}

// workingOf sums up what a run did. A command that has failed, or of which something is not known, is an error.
func workingOf(out *measuring.Outcome, hit *entries, attached *attaching.Attached) (*working, error) {
	r := &working{Outcome: out, entered: hit, sampled: attached != nil && attached.Sampled}
	for _, n := range hit.n {
		r.hits += n
	}
	for i := range out.CPUs {
		c := &out.CPUs[i]
		r.ticks += c.Interrupted()
		r.work += c.Work()
	}
	if err := out.Err(); err != nil {
		return nil, err
	}
	if out.Cut {
		return nil, fmt.Errorf("the command has printed more than the %d bytes that are compared: have it write to a file of the root", len(out.Output))
	}
	for i := range out.CPUs {
		if c := &out.CPUs[i].Counters; c.Unmodelled > 0 {
			return nil, fmt.Errorf("%d instructions were not modelled, the last %s", c.Unmodelled, c.LastUnknown)
		}
	}
	return r, nil
}

// randomOf returns what moves the program's memory to where the layout of a replicate has it: the kernel draws places by its random
// numbers. The first one without a seed has the places that the boot leaves.
func randomOf(p *schema.Point) []byte {
	if p.Layout() == (sim.Layout{}) {
		return nil
	}
	return fmt.Appendf(nil, "kprobesim: seed %d, replicate %d", p.Seed, p.Replicate)
}

// merged is one profile of all CPUs.
func merged(all []*sim.Profile) ([]byte, error) {
	var parts []*profile.Profile
	var b bytes.Buffer
	for _, p := range all {
		b.Reset()
		if err := p.Write(&b); err != nil {
			return nil, err
		}
		if len(all) == 1 {
			return b.Bytes(), nil
		}
		part, err := profile.ParseData(b.Bytes())
		if err != nil {
			return nil, err
		}
		if len(part.Sample) > 0 {
			parts = append(parts, part)
		}
	}
	whole, err := profile.Merge(parts)
	if err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	whole.TimeNanos, whole.DurationNanos = 0, 0
	b.Reset()
	err = whole.Write(&b)
	return b.Bytes(), err
}

// byProcess says how much more the processes worked than without what is attached, the one with the most of it first.
func (r *working) byProcess(plain *working) []string {
	more := map[string]clock.Ticks{}
	for _, one := range r.Processes {
		more[one.Name] += one.Work
	}
	for _, one := range plain.Processes {
		more[one.Name] -= one.Work
	}
	if len(more) < 2 {
		return nil // there is nothing to tell apart
	}
	var parts []string
	for _, name := range slices.SortedFunc(maps.Keys(more), func(a, b string) int {
		return cmp.Or(cmp.Compare(more[b], more[a]), cmp.Compare(a, b))
	}) {
		parts = append(parts, fmt.Sprintf("%s %+d", name, more[name].Cycles()))
	}
	return []string{"cycles more, by process: " + strings.Join(parts, ", ")}
}

// metricName is the name of a process in that of a metric.
func metricName(process string) string {
	return strings.Map(func(c rune) rune {
		if c < 0x7f && (unicode.IsLetter(c) || unicode.IsDigit(c)) || strings.ContainsRune("_-.", c) {
			return c
		}
		return '_'
	}, process)
}

// verify holds what a program of BPF has counted against its entries as they were seen from outside. Where several CPUs run,
// one may be in the middle of it at either end. The output must be that of the run without it.
func (r *working) verify(p *schema.Point, plain *working) error {
	l := p.Probe.Linux
	slack := int64(2 * (len(r.CPUs) - 1))
	counted := int64(r.Counted)
	switch off := r.hits - counted; {
	case r.hits == 0 && l.Object != nil:
		return fmt.Errorf("no program of %s was hit in the region of interest", l.Object.Path)
	case r.hits == 0 && l.Tool != nil:
		return fmt.Errorf("no program that %s has loaded was hit in the region of interest", l.Tool.Command[0])
	case r.hits == 0:
		return fmt.Errorf("%s at %s was not hit in the region of interest", l.What, l.Target)
	case l.Program == attaching.Count && (off < -slack || off > slack), r.Counts && off < -slack:
		return fmt.Errorf("the program was entered %d times, and has counted %d: what it counts is not there", r.hits, counted)
	case !bytes.Equal(r.Output, plain.Output):
		return fmt.Errorf("the program has printed something else than without the probe:\n%s", r.Output)
	}
	return nil
}

// measurement notes what the region took, and what it took more than without what is attached.
func (r *working) measurement(p *schema.Point, plain *working) *Measurement {
	m := &Measurement{Profile: r.profile, Console: string(r.Output)}
	m.cyclesOver(MetricRegion, r.work, 1)
	m.note(metricRegionTime, unitMicro, r.Ticks.Cycles()*perSecond, p.Machine.CPU.Hz)
	m.cyclesOver(metricTicks, r.ticks, 1)
	for _, one := range r.Processes {
		m.cyclesOver(MetricRegion+"_of_"+metricName(one.Name), one.Work, 1)
	}
	if r == plain {
		return m
	}
	events := r.hits
	if p.Probe.Linux.Program == attaching.Count {
		events = int64(r.Counted)
	}
	over, instrs, parts := r.work-plain.work, instructions, LinuxPhases()
	if r.sampled {
		over += r.ticks - plain.ticks
		instrs = func(c *cpus.Counters) uint64 { return c.Instructions }
		parts = append(parts, image.PhaseIRQ)
	}
	m.Notes = append(m.Notes, r.byProcess(plain)...)
	m.note(MetricOverhead, "%", 100*int64(over), int64(plain.work))
	m.note(metricLonger, "%", 100*int64(r.Ticks-plain.Ticks), int64(plain.Ticks))
	m.note(metricEvents, "events", events, 1)
	if r.Counts {
		m.note(metricLost, "events", r.hits-int64(r.Counted), 1)
	}
	r.entered.note(m)
	m.note(metricEventRate, "events/s", events*p.Machine.CPU.Hz, r.Ticks.Cycles())
	m.cyclesOver(results.MetricCycles, over, events)
	m.microsOver(results.MetricMicros, over, events, p.Machine.CPU.Hz)
	m.note(results.MetricInstructions, "instructions", r.sum(instrs)-plain.sum(instrs), events)
	for _, c := range eventCounts() {
		m.note(c.metric, "events", r.sum(c.of)-plain.sum(c.of), events)
	}
	for _, phase := range parts {
		m.cyclesOver(results.PhaseMetric(phase.String()), r.phases[phase]-plain.phases[phase], events)
	}
	return m
}
