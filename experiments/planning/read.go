package planning

import (
	"math"

	"kprobesim/experiments/schema"
	"kprobesim/internal/doc"
)

// readExperiment reads the experiment in root.
func readExperiment(root *doc.Node, errs *doc.Errors) *schema.Experiment {
	r := doc.NewReader(root, errs)
	e := &schema.Experiment{
		Name:       doc.Need(r, "name", doc.Name),
		Title:      doc.Need(r, "title", doc.Text),
		Kind:       doc.Opt(r, "kind", schema.KindOverhead, doc.OneOf(Kinds()...)),
		Machine:    doc.Need(r, "machine", doc.Text),
		Seed:       uint64(doc.Opt(r, "seed", 0, doc.Int(0, math.MaxInt64))),
		Replicates: int(doc.Opt(r, "replicates", 1, doc.Int(1, mostReplicates))),
		Replicate:  int(doc.Opt(r, "replicate", -1, doc.Int(0, mostReplicates-1))),
		Budget:     doc.Opt(r, "budget", defaultBudget, doc.Time().Whole(false, 1, 3600e6)),
	}
	k := kindNamed(e.Kind)
	e.Figures = doc.Opt(r, "figures", nil, doc.ListOf(doc.OneOf(k.figures...)))
	if part := r.Part("figure"); part != nil {
		e.Wish = schema.ReadWish(part)
		e.Figures = append(e.Figures, FigureWished)
	}
	r.Has("sweep") // read by the planner
	r.Has("base")  // read by the loader
	if schema.Packaged(e.Kind) {
		e.Linux = schema.ReadLinux(r.Sub("linux", false))
		e.Kernel = schema.Kernel{CPUs: e.Linux.CPUs, Memory: e.Linux.Memory, Tick: schema.TickNone}
		if e.Kind == schema.KindLinuxWorkload {
			e.Linux.Working, e.Probes = schema.ReadWorking(r.Sub("workload", true)), schema.ReadWorkingProbes(r)
			r.Done()
			return e
		}
		e.Workload, e.Probes = k.workload(r.Sub("workload", true)), schema.ReadLinuxProbes(r)
		if e.Workload.Load == schema.LinuxBusy && e.Linux.CPUs < 2 {
			r.Errorf("workload", "load: other CPUs are to be busy, and there is one: ask for more by linux.cpus")
		}
		r.Done()
		return e
	}
	e.Kernel = schema.ReadKernel(r.Sub("kernel", true))
	e.Workload = k.workload(r.Sub("workload", true))
	e.Crowd = schema.ReadCrowd(r.Sub("crowd", false))
	e.Modules = schema.ReadModules(r)
	e.Writes = schema.ReadWrites(r, e.Workload.Hits)
	e.Probes = schema.ReadProbes(r)
	if len(e.Writes) > 0 && e.Kind != schema.KindOverhead {
		r.Errorf("writes", "kind %s has no measured calls to write between; only %s has", e.Kind, schema.KindOverhead)
	}
	schema.ReadRepeats(r, e.Probes)
	r.Done()
	return e
}

// FigureWished is the figure of the table [figure].
const FigureWished = "figure"

// defaultBudget is ten simulated seconds.
const defaultBudget = 10_000_000
