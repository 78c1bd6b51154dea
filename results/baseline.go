package results

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// Change is a record that is in both sets and differs in value, unit, role or printed decimals.
// Delta is New minus Old; Percent is Delta in percent of Old when HasPercent, which an old value of
// zero has not.
type Change struct {
	Old, New   Record
	Delta      Value
	Percent    Value
	HasPercent bool
}

// Diff is the outcome of comparing a set with its baseline.
type Diff struct {
	Moved   []Change // in the order of the baseline
	Missing []Record // in the baseline only
	Added   []Record // in the current set only
}

// Empty says that nothing differs.
func (d Diff) Empty() bool { return len(d.Moved)+len(d.Missing)+len(d.Added) == 0 }

// Compare compares exactly: there is no tolerance, because a deterministic simulation needs none.
// Sources and the order of records do not count.
func Compare(baseline, current *Set) Diff {
	var d Diff
	for _, old := range baseline.records {
		now, ok := current.Get(old.Point, old.Metric)
		if !ok {
			d.Missing = append(d.Missing, old)
			continue
		}
		if old.Source = now.Source; old != now {
			d.Moved = append(d.Moved, change(old, now))
		}
	}
	for _, r := range current.records {
		if _, ok := baseline.Get(r.Point, r.Metric); !ok {
			d.Added = append(d.Added, r)
		}
	}
	return d
}

func change(old, now Record) Change {
	c := Change{Old: old, New: now, Delta: now.Value.Sub(old.Value)}
	if percent, err := ErrorPercent(now.Value, old.Value); err == nil {
		c.Percent, c.HasPercent = percent, true
	}
	return c
}

// Text says what a change is: both values, the difference, and its share of the old value.
func (c Change) Text() string {
	text := fmt.Sprintf("%s -> %s %s", c.Old.Value, c.New.Value, c.New.Unit)
	if !c.Delta.IsZero() {
		text += " (" + signed(c.Delta) + c.percentText() + ")"
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
	return ", " + signed(percent) + " %"
}

func signed(v Value) string {
	if v.micros > 0 {
		return "+" + v.String()
	}
	return v.String()
}

// LoadBaseline reads a committed baseline, a CSV in long form.
func LoadBaseline(path string) (*Set, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("baseline: %w", err)
	}
	return ReadCSV(path, bytes.NewReader(data))
}

// SaveBaseline replaces a baseline, or makes it: the only way in which one changes. The file is
// written aside and renamed.
func SaveBaseline(path string, s *Set) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("baseline: %w", err)
	}
	if err := WriteFile(path, s.CSV()); err != nil {
		return fmt.Errorf("baseline: %w", err)
	}
	return nil
}
