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

// store returns where measurements are kept, nil when none are. A shard leaves to others what other builds have kept.
func (a *app) store(out string, fresh bool, shard keeping.Shard) (*keeping.Store, error) {
	if a.program == nil {
		return nil, nil
	}
	program, err := a.program()
	if err != nil {
		return nil, fmt.Errorf("the program cannot read its own file, by which it tells what it measured: %w", err)
	}
	s, err := keeping.New(out, program, fresh)
	if err != nil || !shard.Whole() {
		return s, err
	}
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
		if now > before && a.merged == nil {
			fmt.Fprintf(a.err, "%s: %d of %d points were kept from an earlier run; --fresh measures them again\n", p.Name, now-before, len(p.Points))
		}
		if err != nil {
			fmt.Fprintf(a.err, "kprobesim: %v\n", err)
		}
	}
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
