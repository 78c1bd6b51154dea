package kinds

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kprobesim/experiments/schema"
	"kprobesim/image"
	"kprobesim/internal/clock"
	"kprobesim/kprobes"
	"kprobesim/modules"
	"kprobesim/workloads"
)

// Trial says how a module is tried: it is loaded, the functions that it probes are called, and it is unloaded.
type Trial struct {
	File       *modules.File
	Parameters string
	Calls      []string // further functions to call; those that are not probed are called once
	Hits       int64    // calls of each probed function that are measured
}

// Tried is the outcome of a trial.
type Tried struct {
	Console string // what the guest printed
	Probes  []kprobes.State
	Rows    []TriedRow
}

// TriedRow is a function that was called, or one that is probed and was not.
type TriedRow struct {
	Function string
	Probes   []string    // "mode at offset" of the probes of the module there
	Why      string      // why it was not called; "" when it was
	Whole    bool        // the time is that of whole calls, as the function does not exist without the module
	First    clock.Ticks // what the first, cold call took
	Result   uint64      // what the first call returned
	Calls    int64       // that are measured; 1 of a function that is not probed
	Over     clock.Ticks // what all measured calls took beyond those without the module
	Counts   Counts      // what happened in them
}

// trialWarmup is how many calls come before the measured ones.
const trialWarmup = 64

// Try boots a machine for p twice: once to see what the module probes, and once to call those functions without the module
// and with it. The error says what the module's functions or the loader reported; what the guest printed is there
// nevertheless.
func Try(p *schema.Point, t Trial) (*Tried, error) {
	one := *p
	one.Modules = []schema.Module{{Path: t.File.Name, Parameters: t.Parameters, Load: schema.LoadProbes, File: t.File}}
	one.Probe, one.Crowd = schema.Probe{Mode: kprobes.Optimized, Planted: true}, schema.Crowd{}
	out := &Tried{}
	look := func(s *session) error {
		out.Probes = s.loader.Probes(s.loaded[0])
		out.Rows = s.rows(out.Probes, t)
		return nil
	}
	if err := out.run(&one, nil, look); err != nil {
		return out, err
	}
	return out, out.run(&one, func(s *session) error { return s.plain(out) }, func(s *session) error { return s.hit(out) })
}

// run boots a machine, and loads the module between two pieces of work and unloads it behind them.
func (out *Tried) run(p *schema.Point, before, with func(*session) error) error {
	return boot(p, nil, func(s *session) (err error) {
		defer func() { out.Console = s.m.Console() }()
		if before != nil {
			if err := before(s); err != nil {
				return err
			}
		}
		if err := s.registerSettled(); err != nil {
			return err
		}
		return errors.Join(with(s), s.unloadModules())
	})
}

// rows lists the functions that the module probes, and those that are to be called.
func (s *session) rows(probes []kprobes.State, t Trial) []TriedRow {
	var rows []TriedRow
	find := func(name string) *TriedRow {
		i := slices.IndexFunc(rows, func(r TriedRow) bool { return r.Function == name })
		if i < 0 {
			i = len(rows)
			rows = append(rows, TriedRow{Function: name, Calls: 1})
		}
		return &rows[i]
	}
	for _, p := range probes {
		r := find(p.Symbol)
		r.Calls = t.Hits
		r.Probes = append(r.Probes, modeOf(p))
	}
	for _, name := range t.Calls {
		find(strings.TrimSpace(name))
	}
	for i := range rows {
		r := &rows[i]
		module, _ := image.SplitName(r.Function)
		r.Whole = module != ""
		_, driven := s.m.Image().Func(workloads.Driver(r.Function))
		driven = driven && workloads.Driver(r.Function) != r.Function
		if _, ok := s.m.Image().Func(r.Function); !ok {
			r.Why = "the kernel has no function of that name"
		} else if !driven && !slices.Contains(t.Calls, r.Function) && !s.callable(r.Function) {
			r.Why = "it is called by no loop, as it may need arguments of its own: --call " + r.Function + " calls it"
		}
	}
	return rows
}

// callable tells functions of the image that take two numbers and depend on nothing else.
func (s *session) callable(name string) bool {
	return slices.ContainsFunc(s.p.Target.Images, func(im workloads.Image) bool {
		return im.Name == s.p.Kernel.ImageName() && slices.ContainsFunc(im.Functions(), func(f workloads.Function) bool { return f.Name == name })
	})
}

// plain measures the functions without the module.
func (s *session) plain(out *Tried) error {
	for i := range out.Rows {
		r := &out.Rows[i]
		if r.Why != "" || r.Whole || len(r.Probes) == 0 {
			continue
		}
		taken, err := s.stretchOf(r)
		if err != nil {
			return fmt.Errorf("%s without the module: %w", r.Function, err)
		}
		r.Over -= taken.Time
	}
	return nil
}

// hit measures them with it.
func (s *session) hit(out *Tried) error {
	for i := range out.Rows {
		r := &out.Rows[i]
		if r.Why != "" {
			continue
		}
		var err error
		var first, taken Sample
		if first, r.Result, err = s.timesOf(r, 1); err == nil && r.Calls > 1 {
			taken, err = s.stretchOf(r)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", r.Function, err)
		}
		r.First, r.Counts = first.Time, taken.Counts
		r.Over += taken.Time
		r.seen(s.loader.Probes(s.loaded[0]))
	}
	return nil
}

// seen says what has become of the probes of a function that was called. Kernels that boost or emulate find out at the
// first hits. Probes that are gone are named as they were.
func (r *TriedRow) seen(probes []kprobes.State) {
	var now []string
	for _, p := range probes {
		if p.Symbol == r.Function {
			now = append(now, modeOf(p))
		}
	}
	if len(now) == len(r.Probes) {
		r.Probes = now
	}
}

func modeOf(p kprobes.State) string {
	return fmt.Sprintf("%s at +%#x", schema.ModeWord(p.Mode), p.Offset)
}

// stretchOf calls a function warm and returns what its measured calls took.
func (s *session) stretchOf(r *TriedRow) (Sample, error) {
	if _, _, err := s.timesOf(r, trialWarmup); err != nil {
		return Sample{}, err
	}
	taken, _, err := s.timesOf(r, r.Calls)
	return taken, err
}

// timesOf has the loop call a function n times.
func (s *session) timesOf(r *TriedRow, n int64) (sample Sample, sum uint64, err error) {
	w := &s.p.Workload
	was := w.Target
	w.Target = workloads.Driver(r.Function)
	if _, ok := s.m.Image().Func(w.Target); !ok {
		w.Target = r.Function
	}
	if s.counter != nil {
		err = s.count() // calls of this function
	}
	if err == nil {
		sample, sum, err = s.loop(n)
	}
	w.Target = was
	return sample, sum, err
}

// Modes names how the probes of a row are handled.
func (r *TriedRow) Modes() string { return strings.Join(r.Probes, ", ") }
