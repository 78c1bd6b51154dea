package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"kprobesim/experiments/keeping"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/results/outdir"
)

// longestSettings bounds what settings add to the name of a directory.
const longestSettings = 80

// runDir is the directory of a run: that of the experiment, or with settings one of its own. Settings that are too
// long for a name, or have characters that are none of a file name, are shortened and told apart by their hash.
func runDir(out string, p *schema.Plan) string {
	if len(p.Overrides) == 0 {
		return filepath.Join(out, p.Name)
	}
	whole := strings.Join(p.Overrides, "+")
	name := regexp.MustCompile(`[^A-Za-z0-9._=+-]+`).ReplaceAllString(whole, "_")
	if len(name) > longestSettings {
		name = name[:longestSettings]
	}
	if name != whole {
		_, sum, _ := strings.Cut(outdir.Hash([]byte(strings.Join(p.Overrides, "\n"))), ":")
		name += "-" + sum[:8]
	}
	return filepath.Join(out, p.Name+"+"+name)
}

// store returns where measurements are kept, nil when none are.
func (a *app) store(out string, fresh bool) (*keeping.Store, error) {
	if a.program == nil {
		return nil, nil
	}
	program, err := a.program()
	if err != nil {
		return nil, fmt.Errorf("the program cannot read its own file, by which it tells what it measured: %w", err)
	}
	s := keeping.New(out, program, fresh)
	return s, s.Tidy()
}

// keep returns what has measurements kept, and what tells afterwards how many of a plan were kept before.
func (a *app) keep(s *keeping.Store) (keep func(running.Measure) running.Measure, tell func(*schema.Plan)) {
	if s == nil {
		return func(m running.Measure) running.Measure { return m }, func(*schema.Plan) {}
	}
	before, _ := s.Reused()
	return s.Measure, func(p *schema.Plan) {
		now, err := s.Reused()
		if now > before {
			fmt.Fprintf(a.err, "%s: %d of %d points were kept from an earlier run; --fresh measures them again\n", p.Name, now-before, len(p.Points))
		}
		if err != nil {
			fmt.Fprintf(a.err, "kprobesim: %v\n", err)
		}
	}
}

// estimate says what a run would take.
func (a *app) estimate(p *schema.Plan, s *keeping.Store, workers int, limit *running.Limit) error {
	if s == nil {
		s = keeping.New("", "", true)
	}
	n := hostWorkers(workers)
	progress := newProgress(a.err, p.Name+": short measurements")
	progress.start(0, 1)
	e, err := s.Estimate(p, progress.watched(limit.Measure(a.measure)), n)
	progress.finish()
	if err != nil {
		return fail(exitFailed, err)
	}
	fmt.Fprintf(a.out, "%s: %s, %d of them kept from earlier runs; about %s with %d at a time, and %d MiB of memory (from %s on this host)\n",
		p.Name, counted(e.Points, "point"), e.Kept, roundTime(e.Time), n, e.Memory>>20, origin(e))
	return nil
}

// origin says what an estimate was made from.
func origin(e keeping.Estimate) string {
	text := counted(e.Pilots, "short measurement")
	if e.Guessed > 0 {
		text += fmt.Sprintf(", and %s reckoned from those of another sort,", counted(e.Guessed, "point"))
	}
	return text
}

// roundTime leaves two digits or so of a time.
func roundTime(d time.Duration) time.Duration {
	for _, unit := range []time.Duration{time.Minute, time.Second, 100 * time.Millisecond, 10 * time.Millisecond} {
		if d >= 10*unit {
			return d.Round(unit)
		}
	}
	return d.Round(time.Millisecond)
}
