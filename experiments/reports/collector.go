package reports

import (
	"fmt"
	"slices"

	"kprobesim/experiments/kinds"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/results"
)

// Collector makes the records of points as they end, so that a run of many points holds little of each.
type Collector struct {
	plan   *schema.Plan
	set    *results.Set
	number map[*schema.Point]int
	next   int
	ended  map[int]*running.Outcome // of points behind next
}

// Collect returns a collector for the points of a plan.
func Collect(p *schema.Plan) *Collector {
	c := &Collector{
		plan: p, set: &results.Set{Overrides: slices.Clone(p.Overrides), Wish: p.Wish}, number: make(map[*schema.Point]int, len(p.Points)),
		ended: map[int]*running.Outcome{},
	}
	for _, a := range p.Axes {
		c.set.AddAxis(a)
	}
	for i := range p.Points {
		c.number[&p.Points[i]] = i
	}
	return c
}

// Take makes the records of a point, which stand in the order of the plan, and drops from its outcome what they were made
// of. A point whose numbers make no record counts as failed.
func (c *Collector) Take(o *running.Outcome) {
	for c.ended[c.number[o.Point]] = o; c.ended[c.next] != nil; c.next++ {
		ended := c.ended[c.next]
		delete(c.ended, c.next)
		if ended.Err != nil {
			continue
		}
		records, err := Records(ended.Point, ended.Measurement)
		if err == nil {
			err = c.set.Add(records...)
		}
		if err != nil {
			ended.Err = fmt.Errorf("numbers of the point: %w", err)
		}
		m := ended.Measurement
		ended.Measurement = &kinds.Measurement{Profile: m.Profile, Notes: m.Notes, Console: m.Console, Accounts: m.Accounts}
	}
}

// Report returns the report of a run, and takes the outcomes of points that were never begun. Records of a collection's
// differences stand behind all others.
func (c *Collector) Report(outcomes []running.Outcome) *Report {
	for c.next < len(outcomes) {
		c.Take(&outcomes[c.next])
	}
	r := &Report{Plan: c.plan, Set: c.set, Outcomes: outcomes}
	r.addDifferences()
	r.Means = results.Means(r.Set)
	return r
}
