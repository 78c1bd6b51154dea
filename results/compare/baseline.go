package compare

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"kprobesim/results"
	"kprobesim/results/formats"
	"kprobesim/results/outdir"
)

// Change is a record that is in both sets and differs in value, unit, role or printed decimals.
// Delta is New minus Old; Percent is Delta in percent of Old when HasPercent, which an old value of
// zero has not.
type Change struct {
	Old, New   results.Record
	Delta      results.Value
	Percent    results.Value
	HasPercent bool
}

// Diff is the outcome of comparing a set with its baseline.
type Diff struct {
	Moved   []Change         // in the order of the baseline
	Missing []results.Record // in the baseline only
	Added   []results.Record // in the current set only
}

// Empty says that nothing differs.
func (d Diff) Empty() bool { return len(d.Moved)+len(d.Missing)+len(d.Added) == 0 }

// Exact compares two sets exactly: there is no tolerance, because a deterministic simulation needs none.
// Sources and the order of records do not count.
func Exact(baseline, current *results.Set) Diff {
	var d Diff
	for old := range baseline.All() {
		now, ok := current.Get(old.Point, old.Metric)
		if !ok {
			d.Missing = append(d.Missing, old)
			continue
		}
		if old.Source = now.Source; old != now {
			d.Moved = append(d.Moved, change(old, now))
		}
	}
	for r := range current.All() {
		if _, ok := baseline.Get(r.Point, r.Metric); !ok {
			d.Added = append(d.Added, r)
		}
	}
	return d
}

func change(old, now results.Record) Change {
	c := Change{Old: old, New: now, Delta: now.Value.Sub(old.Value)}
	if percent, err := results.ErrorPercent(now.Value, old.Value); err == nil {
		c.Percent, c.HasPercent = percent, true
	}
	return c
}

// Text says what a change is: both values, the difference, and its share of the old value.
func (c Change) Text() string {
	text := fmt.Sprintf("%s -> %s %s", c.Old.Value, c.New.Value, c.New.Unit)
	if !c.Delta.IsZero() {
		text += " (" + results.Signed(c.Delta) + c.percentText() + ")"
	}
	if c.Old.Unit != c.New.Unit {
		text += fmt.Sprintf(", unit was %s", c.Old.Unit)
	}
	if c.Old.Role != c.New.Role {
		text += fmt.Sprintf(", role %s -> %s", c.Old.Role, c.New.Role)
	}
	return text
}

func (c Change) percentText() string {
	percent := c.Percent.Round(3)
	switch {
	case !c.HasPercent:
		return ""
	case c.Percent.IsZero():
		return ", below 0.000001 %"
	case percent.IsZero():
		percent = c.Percent
	}
	return ", " + results.Signed(percent) + " %"
}

// LoadBaseline reads a committed baseline, a CSV in long form.
func LoadBaseline(path string) (*results.Set, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("baseline: %w", err)
	}
	return formats.ReadCSV(path, bytes.NewReader(data))
}

// SaveBaseline replaces a baseline, or makes it: the only way in which one changes. The file is
// written aside and renamed. Columns of swept keys are left out: names of points have their values.
func SaveBaseline(path string, s *results.Set) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("baseline: %w", err)
	}
	plain := *s
	plain.Axes = nil
	if err := outdir.WriteFile(path, formats.CSV(&plain)); err != nil {
		return fmt.Errorf("baseline: %w", err)
	}
	return nil
}
