package planning

import (
	"fmt"
	"slices"
	"strconv"

	"kprobesim/experiments/schema"
	"kprobesim/internal/doc"
	"kprobesim/kprobes"
	"kprobesim/workloads"
)

// kind is how experiments of a kind are read and checked.
type kind struct {
	name     string
	workload func(r *doc.Reader) schema.Workload  // reads the table [workload]
	figures  []string                             // that an experiment may ask for
	check    func(e *schema.Experiment) []mistake // finds what the kind cannot measure; nil for nothing
	once     string                               // why its replicates would all be the same, "" where they differ
}

// kindList has every kind, the default first.
func kindList() []kind {
	return []kind{
		{name: schema.KindOverhead, workload: readOverhead, figures: []string{figureOverhead, figurePhases, "calls"}},
		{name: schema.KindLatency, workload: readLatency, figures: []string{"latency", "latency-parts"}, check: optimizedOnly},
		{name: schema.KindBystander, workload: readBystander, figures: []string{"bystander"}, check: checkBystander},
		{name: schema.KindScaling, workload: schema.ReadWorkload, figures: []string{"scaling"}, check: warmOnly},
		{name: schema.KindIRQOff, workload: readIRQOff, figures: []string{"irq-off"}, check: warmOnly},
		{name: schema.KindUnregister, workload: readBatch(workloads.SiteCount), figures: []string{"unregister"}, check: noCrowd},
		{
			name: schema.KindMissed, workload: readMissed, figures: []string{"missed", "missed-default", "missed-least"},
			check: returnsOnly,
			once:  "which calls are missed follows from tasks and instances, and not from where things lie",
		},
		{
			name: schema.KindCrowding, workload: schema.ReadWorkload,
			figures: []string{"crowding", "crowding-first", "crowding-arming", "crowding-memory"},
		},
		{name: schema.KindUserProbes, workload: readUserProbes, figures: []string{"user-probes"}, check: plainOrReturn},
		{
			name: schema.KindWatchpoints, workload: schema.ReadWorkload, figures: []string{"watchpoints", "watchpoints-registering"},
			check: watchpointsOnly,
		},
		{name: schema.KindAttach, workload: readBatch(schema.MaxCrowd), figures: []string{"attach"}, check: noCrowd},
		{name: schema.KindEventRate, workload: readEventRate, figures: []string{"event-rate"}, check: checkEventRate},
		{
			name: schema.KindLinux, workload: schema.ReadLinuxWorkload, figures: []string{"linux-phases", "linux-attach"},
			once: "a boot is the same each time",
		},
		{name: schema.KindLinuxWorkload, figures: []string{"linux-workload"}},
	}
}

// Figures that a collection of several experiments of their kind may ask for.
const (
	figureOverhead = "overhead" // predicted beside published, microseconds
	figurePhases   = "phases"   // cycles by phase
)

// Kinds lists the names of all kinds, the default first.
func Kinds() (names []string) {
	for _, k := range kindList() {
		names = append(names, k.name)
	}
	return names
}

// kindNamed returns the kind of a name, and the default for an unknown one, which its reader has refused.
func kindNamed(name string) kind {
	all := kindList()
	return all[max(0, slices.IndexFunc(all, func(k kind) bool { return k.name == name }))]
}

// mistake says what is wrong with the value at a path of an experiment. The planner
// adds file and line, so that all mistakes of a file are reported at once.
type mistake struct {
	Path []string // of keys, for instance points, 0, mode
	Text string
}

// probesWith holds every probe to a condition on one of its keys. The path lets the reader of the file point at the line of
// that key. The text has %s for what the probe is instead, if that says anything.
func probesWith(e *schema.Experiment, key string, ok func(*schema.Probe) bool, text string, is func(*schema.Probe) fmt.Stringer) (all []mistake) {
	for i := range e.Probes {
		p := &e.Probes[i]
		if ok(p) {
			continue
		}
		said := text
		if is != nil {
			said = fmt.Sprintf(text, is(p))
		}
		all = append(all, mistake{[]string{"points", strconv.Itoa(i), key}, said})
	}
	return all
}

func probeMode(p *schema.Probe) fmt.Stringer { return p.Mode }
func probeKind(p *schema.Probe) fmt.Stringer { return p.Kind }

// optimizedOnly wants probes that can be optimized. A probe of another mode would never become optimized, which a run would
// show only at its end.
func optimizedOnly(e *schema.Experiment) []mistake {
	return probesWith(e, "mode", func(p *schema.Probe) bool { return p.Mode == kprobes.Optimized },
		fmt.Sprintf("kind %s measures probes of mode %s, not %%s", e.Kind, kprobes.Optimized), probeMode)
}

// returnsOnly wants return probes.
func returnsOnly(e *schema.Experiment) []mistake {
	return probesWith(e, "kind", func(p *schema.Probe) bool { return p.Kind == kprobes.Kretprobe },
		fmt.Sprintf("kind %s measures a %s, not a %%s", e.Kind, kprobes.Kretprobe), probeKind)
}

// plainOrReturn wants what the interface of 2004 has.
func plainOrReturn(e *schema.Experiment) []mistake {
	return probesWith(e, "kind", func(p *schema.Probe) bool { return p.Kind == kprobes.Kprobe || p.Kind == kprobes.Kretprobe },
		fmt.Sprintf("kind %s measures a %s or a %s, not a %%s", e.Kind, kprobes.Kprobe, kprobes.Kretprobe), probeKind)
}

// watchpointsOnly wants warm watchpoints and no probes, and probesOnly the reverse.
func watchpointsOnly(e *schema.Experiment) []mistake {
	return append(warmOnly(e), probesWith(e, "name", func(p *schema.Probe) bool { return p.Watch != nil },
		"kind watchpoints measures watchpoints alone: write what to watch", nil)...)
}

func probesOnly(e *schema.Experiment) []mistake {
	return probesWith(e, "watch", func(p *schema.Probe) bool { return p.Watch == nil },
		"a watchpoint is measured by kind "+schema.KindWatchpoints, nil)
}

// warmOnly refuses to go without a warm-up where calls are measured that cannot be the first ones.
func warmOnly(e *schema.Experiment) []mistake {
	if e.Workload.Warmup > 0 {
		return nil
	}
	return []mistake{{
		[]string{"workload", "warmup"},
		fmt.Sprintf("kind %s measures warm hits: 1 or more; a cold hit is measured by kind %s", e.Kind, schema.KindOverhead),
	}}
}

// mistakes finds what the kind of an experiment cannot measure.
func mistakes(e *schema.Experiment) (all []mistake) {
	if e.Kind != schema.KindWatchpoints {
		all = probesOnly(e)
	}
	if e.Workload.Target == "" {
		all = append(all, probesWith(e, "offset", func(p *schema.Probe) bool { return p.At == nil },
			fmt.Sprintf("kind %s chooses the places of its probes itself: leave it out", e.Kind), nil)...)
	}
	if check := kindNamed(e.Kind).check; check != nil {
		all = append(all, check(e)...)
	}
	return all
}

// checkBystander wants a CPU that has nothing to do with it, and probes that can be optimized. It is
// asked when the experiment is read, before any point runs.
func checkBystander(e *schema.Experiment) []mistake {
	all := append(optimizedOnly(e), noCrowd(e)...)
	if e.Kernel.CPUs < 2 {
		all = append(all, mistake{
			[]string{"kernel", "cpus"}, fmt.Sprintf("kind %s needs a bystander: 2 CPUs or more", e.Kind),
		})
	}
	return all
}

// Bystanders are always busy in the kernel: an idle CPU has nothing that could be taken from it.
func readBystander(r *doc.Reader) schema.Workload {
	defer r.Done()
	return schema.Workload{Batch: doc.Need(r, "batch", doc.Int(1, workloads.SiteCount)), Load: schema.LoadBusy}
}

// mostTimed bounds the calls that are timed one by one. Their times are kept until the percentiles are taken.
const mostTimed = 1_000_000

// readOverhead reads [workload], which for this kind may ask that every call be timed, and that whole calls count.
func readOverhead(r *doc.Reader) schema.Workload {
	timed, whole := doc.Opt(r, "latencies", false, doc.Flag), doc.Opt(r, "loop_included", false, doc.Flag)
	w := schema.ReadWorkload(r)
	if timed && w.Hits > mostTimed {
		r.Errorf("hits", "%d calls: at most %d are timed one by one (latencies)", w.Hits, mostTimed)
	}
	w.Latencies, w.Whole = timed, whole
	return w
}

// noCrowd is for kinds whose probes are a crowd of their own.
func noCrowd(e *schema.Experiment) []mistake {
	if e.Crowd.Size() == 0 {
		return nil
	}
	return []mistake{{[]string{"crowd"}, fmt.Sprintf("kind %s registers many probes by itself: leave the table out", e.Kind)}}
}

// The period is in microseconds. At least ten interrupts are needed for a percentile to mean
// anything.
func readIRQOff(r *doc.Reader) schema.Workload {
	period := doc.Need(r, "period", doc.Time().Whole(false, 1, 1e6))
	interrupts := doc.Need(r, "interrupts", doc.Int(10, 1_000_000))
	w := schema.ReadWorkload(r)
	w.Period, w.Interrupts = period, interrupts
	return w
}

// readEventRate reads [workload]. Hits bounds the events that are measured.
func readEventRate(r *doc.Reader) schema.Workload {
	rate := doc.Need(r, "rate", doc.Int(1, 100_000_000))
	footprint := doc.Need(r, "footprint", doc.Size().Whole(false, 1<<12, 1<<28))
	w := schema.ReadWorkload(r)
	w.Rate, w.Footprint = rate, footprint
	return w
}

// checkEventRate wants warm hits, and no crowd: the work between events takes the place of its text.
func checkEventRate(e *schema.Experiment) []mistake { return append(warmOnly(e), noCrowd(e)...) }

// readLatency reads [workload]: where the probe sits and what the CPUs do. The offset is in bytes
// from the target's entry.
func readLatency(r *doc.Reader) schema.Workload {
	defer r.Done()
	return schema.Workload{
		Target: doc.Need(r, "target", doc.Text),
		Offset: uint64(doc.Opt(r, "offset", 0, doc.Int(0, 1<<20))),
		Load:   doc.Need(r, "load", doc.OneOf(schema.Loads()...)),
	}
}

// Tasks beyond the instances of the probe make it miss.
func readMissed(r *doc.Reader) schema.Workload {
	defer r.Done()
	w := schema.Workload{
		Target: doc.Need(r, "target", doc.Text),
		Args:   schema.ReadArgs(r),
		Tasks:  doc.Need(r, "tasks", doc.Int(1, 1000)),
		Hits:   doc.Need(r, "hits", doc.Int(1, 1_000_000)),
	}
	return w
}

// readBatch reads a batch of at most so many probes. It wants the load said: busy CPUs make grace periods long, idle ones end
// them at once.
func readBatch(most int64) func(r *doc.Reader) schema.Workload {
	return func(r *doc.Reader) schema.Workload {
		defer r.Done()
		return schema.Workload{
			Batch:  doc.Need(r, "batch", doc.Int(1, most)),
			Singly: doc.Need(r, "singly", doc.Int(1, most)),
			Load:   doc.Need(r, "load", doc.OneOf(schema.Loads()...)),
		}
	}
}

func readUserProbes(r *doc.Reader) schema.Workload {
	defer r.Done()
	return schema.Workload{Hits: doc.Need(r, "hits", doc.Int(1, 1_000_000))}
}

// allFigures lists the figures of all kinds.
func allFigures() (names []string) {
	for _, k := range kindList() {
		names = append(names, k.figures...)
	}
	return names
}

// kindOfFigure is the kind whose experiments may ask for a figure.
func kindOfFigure(name string) string {
	for _, k := range kindList() {
		if slices.Contains(k.figures, name) {
			return k.name
		}
	}
	return ""
}
