package whatif

import (
	"fmt"
	"slices"
	"strings"
)

// Question has what the user said.
type Question struct {
	Probe   Probe
	Program string
	Rate    float64 // events a second, of all CPUs together; 0 where it is not known
	CPUs    int
	Limit   float64 // per cent of each CPU that the probe may take; 0 for none
	Kernel  string
	Machine string
	Hz      int64
	Place   string // with the offset; "" for what is not in the kernel's text
	Why     string // it gets this way

	Experiment string // whose points are measured
}

// Cost tells the price of a way.
type Cost struct {
	Way         string   `json:"way"`
	Cycles      float64  `json:"cycles_per_hit"`
	Nanoseconds float64  `json:"nanoseconds_per_hit"`
	Percent     float64  `json:"percent_of_one_cpu"` // at the rate
	Each        float64  `json:"percent_of_each_cpu"`
	Saves       float64  `json:"saves_percent"` // of what the first way costs
	Points      []string `json:"points"`        // of the experiment
}

// Answer is the reply, for people and for programs. The first way is the probe's own.
type Answer struct {
	Probe        string   `json:"probe"`
	Program      string   `json:"program"`
	Place        string   `json:"place,omitempty"`
	Why          string   `json:"why,omitempty"`
	Kernel       string   `json:"kernel"`
	Machine      string   `json:"machine"`
	Hz           int64    `json:"hz"`
	Rate         float64  `json:"events_per_second"`
	CPUs         int      `json:"cpus"`
	Ways         []Cost   `json:"ways"`
	Measured     []string `json:"measured"`
	Interpolated []string `json:"interpolated"`
	Limit        float64  `json:"limit_percent,omitempty"`
	Over         bool     `json:"over_limit"`
}

// Ask answers a question by the cycles that hits of points take.
func Ask(q *Question, ways []Way, cycles func(point string) (float64, error)) (*Answer, error) {
	a := &Answer{
		Probe: q.Probe.Kind + ":" + q.Probe.Target, Program: q.Program, Place: q.Place, Why: q.Why, Kernel: q.Kernel, Machine: q.Machine,
		Hz: q.Hz, Rate: q.Rate, CPUs: q.CPUs, Limit: q.Limit,
	}
	for _, w := range ways {
		c := Cost{Way: w.Name, Points: Points([]Way{w})}
		for i, p := range slices.Concat(w.Plus, w.Less) { // in this order, so that the sum is the same bits each time
			n, err := cycles(p)
			if err != nil {
				return nil, err
			}
			if i >= len(w.Plus) {
				n = -n
			}
			c.Cycles += n
		}
		c.Nanoseconds = c.Cycles / float64(q.Hz) * 1e9
		c.Percent = 100 * q.Rate * c.Cycles / float64(q.Hz)
		c.Each = c.Percent / float64(q.CPUs)
		if len(a.Ways) > 0 {
			c.Saves = 100 * (1 - c.Cycles/a.Ways[0].Cycles)
		}
		a.Ways = append(a.Ways, c)
	}
	for _, w := range ways {
		if w.Needs != "" {
			a.Interpolated = append(a.Interpolated, w.Name+": "+w.Needs)
		}
	}
	own := a.Ways[0]
	a.Over = q.Limit > 0 && own.Each > q.Limit
	a.tell(ways[0], q.Experiment)
	if own.Each >= 100 {
		a.Interpolated = append(a.Interpolated, "so many hits are more than the CPUs can execute: the rate would fall")
	}
	return a, nil
}

// tell says what was measured, and what was concluded from it.
func (a *Answer) tell(own Way, experiment string) {
	a.Measured = []string{"points of " + experiment + ": 1,000 warm hits of a loop of system calls on one CPU, less the loop without a probe"}
	if len(own.Less) > 0 {
		a.Interpolated = append(a.Interpolated, fmt.Sprintf("the way itself: %s less %s", strings.Join(own.Plus, " and "), strings.Join(own.Less, " and ")))
	}
	a.Interpolated = append(a.Interpolated, "a hit takes here what it takes there; where it comes seldom its code is cold, and it takes more")
	if a.Rate > 0 {
		a.Interpolated = append(a.Interpolated, "per cent are rate times cycles: hits of several CPUs are taken not to wait for each other")
	}
}

// Text says it to people.
func (a *Answer) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, program %s, Linux %s on %s at %.2f GHz\n", a.Probe, a.Program, a.Kernel, a.Machine, float64(a.Hz)/1e9)
	if a.Place != "" {
		fmt.Fprintf(&b, "%s: %s\n", a.Place, a.Why)
	}
	each := fmt.Sprintf("%% of each of %d CPUs", a.CPUs)
	fmt.Fprintf(&b, "\n%-28s %12s %8s", "way", "cycles a hit", "ns a hit")
	if a.Rate > 0 {
		fmt.Fprintf(&b, " %14s %*s", "% of one CPU", len(each), each)
	}
	b.WriteByte('\n')
	for i, c := range a.Ways {
		fmt.Fprintf(&b, "%-28s %12.0f %8.1f", c.Way, c.Cycles, c.Nanoseconds)
		if a.Rate > 0 {
			fmt.Fprintf(&b, " %14.3f %*.3f", c.Percent, len(each), c.Each)
		}
		switch {
		case i > 0 && c.Saves > 0:
			fmt.Fprintf(&b, "   %.0f %% cheaper at the same place", c.Saves)
		case i > 0:
			fmt.Fprintf(&b, "   %.0f %% dearer", -c.Saves)
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	if a.Rate > 0 {
		fmt.Fprintf(&b, "rate: %.0f events a second on all CPUs together\n", a.Rate)
	}
	for _, s := range a.Measured {
		fmt.Fprintf(&b, "measured: %s\n", s)
	}
	for _, s := range a.Interpolated {
		fmt.Fprintf(&b, "interpolated: %s\n", s)
	}
	if a.Limit > 0 {
		word := "within"
		if a.Over {
			word = "above"
		}
		fmt.Fprintf(&b, "limit: %.3f %% of each CPU is %s %.3f %%\n", a.Ways[0].Each, word, a.Limit)
	}
	return b.String()
}
