package judging

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/host"
	"kprobesim/internal/native"
)

// settling bounds how often a case is executed until it takes as long as the time before. Drawn places are not all touched by one run.
const settling = 20

// Price executes a case in the simulator, at least three times, until a run is less than a hundredth shorter than the one before.
func (p *Pricer) Price(c *Case) (_ float64, err error) {
	var of host.Pages
	defer func() { err = errors.Join(err, of.Free()) }()
	w, err := p.load(&of, c.loop.Simulated(), c.pages, c.chains...)
	if err != nil {
		return 0, err
	}
	var took clock.Ticks
	for i := range settling {
		before := took
		var x cpus.Exit
		if took, x = w.once(); x.Reason != cpus.Halted {
			return 0, fmt.Errorf("%s, %s: %w", c.Kind, c.Text, errFaults)
		}
		if i >= warm && took > before-before/100 {
			break
		}
	}
	return float64(took) / float64(clock.PerCycle) / float64(c.rounds*c.loop.Copies*c.loop.Times), nil
}

// Times of far memory agree less well than the core's do. A job that lays it out is long, and so has more passes.
const (
	farPasses = 40
	far       = 1.1
	nearer    = 1.02
)

// Time times a round of a case: by how much the loop takes longer than an eighth of it.
func (h *Host) Time(c *Case) (float64, error) {
	few := c.loop
	few.Times /= 8
	job, near := native.Job{Pages: c.pages, Fill: fillWord, Chains: c.chains, Passes: 2 * passes, Repeats: 1}, nearer
	if slices.ContainsFunc(c.chains, func(c native.Chain) bool { return c.Size > mib }) {
		job.Passes, near = farPasses, far
	}
	t, err := h.took(c.loop.Native(), few.Native(), &job, near)
	return (t.more - t.less) / float64(c.rounds*c.loop.Copies*(c.loop.Times-few.Times)), err
}

// caseMoments is how often all cases are timed at most, one behind the other, and attempts how often one is while the host is busy.
const caseMoments, attempts = 8, 5

// RunCases prices and times cases, and returns those that are done, also where it is ended. The shortest time of all moments counts.
func (j *Judging) RunCases(ctx context.Context, cases []*Case) (_ []*Case, err error) {
	for _, c := range cases {
		if c.Priced, err = j.Pricer.Price(c); err != nil || ctx.Err() != nil {
			return nil, errors.Join(err, ctx.Err())
		}
	}
	err = Moments(ctx, len(cases), caseMoments, func(i int) (bool, error) { return j.time(cases[i]) })
	if err != nil || ctx.Err() != nil {
		untimed := func(c *Case) bool { return c.Native == 0 && c.Left == nil }
		return slices.DeleteFunc(slices.Clone(cases), untimed), errors.Join(err, ctx.Err())
	}
	return cases, nil
}

// time times a case at a moment, and says whether that made it shorter.
func (j *Judging) time(c *Case) (shorter bool, err error) {
	v := 0.0
	for range attempts {
		if v, err = j.Host.Time(c); !errors.Is(err, ErrBusy) {
			break
		}
	}
	switch {
	case err == nil && (c.Native == 0 || v < c.Native):
		shorter = v < c.Native/nearer || c.Native == 0
		c.Native, c.Left = v, nil
	case err != nil && !excused(err):
		return false, err
	case err != nil && c.Native == 0:
		c.Left = err
	}
	return shorter, nil
}

// Off is how far the price is from the time, as a share of the time.
func (c *Case) Off() float64 { return c.Priced/c.Native - 1 }

// Kind summarizes cases that have times, of a kind or all for "".
type Kind struct {
	Name        string
	Cases, Near int // all, and those within Goal
	Mean, Most  float64
}

// KindsOf summarizes cases by kind, and all of them.
func KindsOf(cases []*Case) (all []Kind) {
	sum := Kind{Name: "all"}
	for _, c := range cases {
		if c.Left != nil {
			continue
		}
		if len(all) == 0 || all[len(all)-1].Name != c.Kind {
			all = append(all, Kind{Name: c.Kind})
		}
		for _, k := range []*Kind{&all[len(all)-1], &sum} {
			e := math.Abs(c.Off())
			k.Mean = (k.Mean*float64(k.Cases) + e) / float64(k.Cases+1)
			k.Cases++
			if e <= Goal {
				k.Near++
			}
		}
	}
	return append(all, sum)
}
