package main

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"kprobesim/experiments/keeping"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/reports"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/internal/host"
)

// forecast estimates how long a run will go on, by what points of the same sort took: in this run, in earlier ones, or where
// the program's own costs were measured.
type forecast struct {
	costs    *keeping.Costs
	ahead    map[string]float64 // work of the points that were not begun, by sort
	measured int
	took     time.Duration // by all that were measured
	plans    int           // experiments whose points are known
}

// forecastOf knows the points of all experiments of a command, which are measured one after the other.
func forecastOf(costs *keeping.Costs, plans ...*schema.Plan) *forecast {
	f := &forecast{costs: keeping.NewCosts(costs), ahead: map[string]float64{}, plans: len(plans)}
	for _, p := range plans {
		for i := range p.Points {
			f.ahead[p.Points[i].Sort()] += p.Points[i].Work()
		}
	}
	return f
}

// begin tells that a point is being measured.
func (f *forecast) begin(p *schema.Point) {
	if sort := p.Sort(); f.ahead[sort] > 0 {
		f.ahead[sort] -= p.Work()
	}
}

// end tells what a point took.
func (f *forecast) end(p *schema.Point, took time.Duration) {
	f.costs.Add(p, took)
	f.measured, f.took = f.measured+1, f.took+took
}

// still estimates the time left of a point that has run for a while. One that takes longer than was expected may take as long again.
func (f *forecast) still(p *schema.Point, since time.Duration) time.Duration {
	if left := f.costs.Expect(p) - since; left > 0 {
		return left
	}
	return since
}

// left is how long a run goes on with points that run since some time, those that were planned, and so many of which
// nothing is known; 0 is not known.
func (f *forecast) left(running map[*schema.Point]time.Duration, unknown, workers int) time.Duration {
	if f.measured == 0 && (unknown > 0 || !f.costs.Known()) {
		return 0
	}
	var longest time.Duration
	sum := f.took / time.Duration(max(1, f.measured)) * time.Duration(max(0, unknown))
	for p, since := range running {
		still := f.still(p, since)
		longest, sum = max(longest, still), sum+still
	}
	for sort, work := range f.ahead {
		sum += f.costs.Time(sort, work)
	}
	return max(longest, sum/time.Duration(max(1, workers)), time.Second)
}

// meter notes what points take of the host's processors.
type meter struct {
	mu    sync.Mutex
	walls map[*schema.Point]time.Duration
	total time.Duration
	began time.Duration // on processors
}

func newMeter() *meter { return &meter{walls: map[*schema.Point]time.Duration{}, began: host.CPU()} }

// measure is a measure that is metered.
func (m *meter) measure(inner running.Measure) running.Measure {
	return func(p *schema.Point) (*kinds.Measurement, error) {
		start := time.Now()
		got, err := inner(p)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.walls[p] = time.Since(start)
		m.total += m.walls[p]
		return got, err
	}
}

// save adds what was metered to the costs below a directory of results. The time of the process counts, as that of the clock
// has in it what other processes do.
func (m *meter) save(out, dir string, workers int) error {
	if len(m.walls) == 0 {
		return nil
	}
	costs, err := keeping.LoadCosts(out)
	if err != nil {
		return err
	}
	share := 1.0
	if cpu := host.CPU() - m.began; cpu > 0 && m.total > 0 {
		share = min(1, float64(cpu)/float64(m.total))
	}
	for p, wall := range m.walls {
		costs.Add(p, time.Duration(share*float64(wall)))
	}
	grows, same, err := sizeOf(dir)
	if rest := host.CPU() - m.began - time.Duration(share*float64(m.total)); rest > 0 {
		costs.Results(rest, same)
	}
	memory := max(0, float64(host.Peak())-keeping.ProgramMemory) / float64(min(workers, len(m.walls)))
	costs.Measured(slices.Collect(maps.Keys(m.walls)), memory, grows)
	return errors.Join(err, costs.Save(out))
}

// sizeOf sums up the files of a directory, which need not be there: of those that grow with its points, and of the others.
func sizeOf(dir string) (grows, same float64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch d.Name() {
		case reports.ResultsName, reports.JSONName, "results.parquet", "bench.txt":
			grows += float64(info.Size())
		default:
			same += float64(info.Size())
		}
		return nil
	})
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return grows, same, err
}
