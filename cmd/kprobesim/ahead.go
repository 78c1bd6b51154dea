package main

import (
	"time"

	"kprobesim/experiments/schema"
)

// forecast reckons how long a run will go on, from the points that it has measured. What a point takes is reckoned from
// the points of its sort, by its calls and CPUs, and where none was measured from all.
type forecast struct {
	sorts    map[string]*sortOfPoints
	all      sortOfPoints
	measured int
	plans    int // experiments whose points are known
}

// forecastOf knows the points of all experiments of a command, which are measured one after the other.
func forecastOf(plans ...*schema.Plan) *forecast {
	f := &forecast{plans: len(plans)}
	for _, p := range plans {
		for i := range p.Points {
			f.plan(&p.Points[i])
		}
	}
	return f
}

// sortOfPoints has what is known of points that take about as long as each other per unit of work.
type sortOfPoints struct {
	ahead  float64 // work of those that were not begun
	points int     // and their number
	done   float64 // work of those that were measured
	took   time.Duration
}

// bootCalls prices the boot and the end of a machine in calls of a target: about a hundredth of a second.
const bootCalls = 2000

// work measures the size of a point: its time grows with it.
func work(p *schema.Point) float64 {
	return float64(p.Calls()+bootCalls) * float64(max(1, p.Kernel.CPUs))
}

// of returns what is known of the sort of a point.
func (f *forecast) of(p *schema.Point) *sortOfPoints {
	if f.sorts == nil {
		f.sorts = map[string]*sortOfPoints{}
	}
	name := p.Sort()
	if f.sorts[name] == nil {
		f.sorts[name] = &sortOfPoints{}
	}
	return f.sorts[name]
}

// plan tells of a point that is to come.
func (f *forecast) plan(p *schema.Point) {
	s := f.of(p)
	s.ahead, s.points = s.ahead+work(p), s.points+1
	f.all.points++
}

// begin tells that a point is being measured.
func (f *forecast) begin(p *schema.Point) {
	if s := f.of(p); s.points > 0 {
		s.ahead, s.points = s.ahead-work(p), s.points-1
		f.all.points--
	}
}

// end tells what a point took.
func (f *forecast) end(p *schema.Point, took time.Duration) {
	for _, s := range []*sortOfPoints{f.of(p), &f.all} {
		s.done, s.took = s.done+work(p), s.took+took
	}
	f.measured++
}

// expect estimates the time of so much work of a sort.
func (f *forecast) expect(s *sortOfPoints, work float64) time.Duration {
	if s.done == 0 {
		s = &f.all
	}
	return time.Duration(work * float64(s.took) / max(1, s.done))
}

// still estimates the time left of a point that has run for a while. One that takes longer than was expected may take as long again.
func (f *forecast) still(p *schema.Point, since time.Duration) time.Duration {
	if left := f.expect(f.of(p), work(p)) - since; left > 0 {
		return left
	}
	return since
}

// left is how long a run goes on with points that run since some time, those that were planned, and so many of which
// nothing is known; 0 is not known.
func (f *forecast) left(running map[*schema.Point]time.Duration, unknown, workers int) time.Duration {
	if f.measured == 0 {
		return 0
	}
	var longest time.Duration
	sum := f.all.took / time.Duration(f.measured) * time.Duration(max(0, unknown))
	for p, since := range running {
		still := f.still(p, since)
		longest, sum = max(longest, still), sum+still
	}
	for _, s := range f.sorts {
		sum += f.expect(s, s.ahead)
	}
	return max(longest, sum/time.Duration(max(1, workers)), time.Second)
}
