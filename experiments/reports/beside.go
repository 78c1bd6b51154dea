package reports

import (
	"fmt"
	"path/filepath"
	"strings"

	"kprobesim/internal/distinct"
	"kprobesim/results"
	"kprobesim/results/tables"
)

// Beside tabulates the figures of a hit of several directories side by side, by the names of points alone: their machines and
// kernels may differ, as in a measurement and a simulation. The first directory says which points there are. It
// returns nil where two have no point in common.
func Beside(all []*Kept) *tables.Table {
	first := all[0].Means
	t := tables.Tabulate(first, tables.SweepColumns(first))
	t.Title = strings.Join(names(all), " beside ")
	common := false
	for _, m := range []struct {
		metric, unit string
		decimals     int
	}{{results.MetricCycles, "cycles", 1}, {results.MetricMicros, "us", 3}} {
		for i, k := range all {
			common = addBeside(t, first, k, m.metric, m.decimals, names(all)[i]+"\n"+m.unit) && i > 0 || common
		}
	}
	for i, k := range all[1:] {
		addDifference(t, first, k, names(all)[i+1]+"\n%")
	}
	if !common {
		return nil
	}
	t.Notes = []string{fmt.Sprintf("%%: of the time of a hit, against %s", names(all)[0])}
	for i, k := range all {
		t.Notes = append(t.Notes, fmt.Sprintf("%s: %s, %s", names(all)[i], strings.Join(k.Machines(), ", "), strings.Join(k.roles(), " and ")))
	}
	return t
}

// names are the directories as columns have them.
func names(all []*Kept) (out []string) {
	for _, k := range all {
		out = append(out, filepath.Base(k.Dir))
	}
	return out
}

// roles lists where the figures of a hit come from.
func (k *Kept) roles() (out []string) {
	for r := range k.Means.All() {
		if r.Metric == results.MetricCycles || r.Metric == results.MetricMicros {
			out = distinct.Append(out, string(r.Role))
		}
	}
	return out
}

// named finds the record of a metric at the point of a name.
func named(s *results.Set, name, metric string) (results.Record, bool) {
	for _, p := range s.Points() {
		if p.Probe == name {
			return s.Get(p, metric)
		}
	}
	return results.Record{}, false
}

// addBeside adds a column with a metric of a directory, and reports whether it has any.
func addBeside(t *tables.Table, first *results.Set, k *Kept, metric string, decimals int, title string) (any bool) {
	t.Columns = append(t.Columns, tables.Column{Title: title, Align: tables.Right})
	for i, p := range first.Points() {
		cell := "-"
		if r, ok := named(k.Means, p.Probe, metric); ok {
			cell, any = r.Value.Round(decimals).String(), true
		}
		t.Rows[i] = append(t.Rows[i], cell)
	}
	return any
}

// addDifference adds a column with the time of a hit in percent of the first directory's.
func addDifference(t *tables.Table, first *results.Set, k *Kept, title string) {
	t.Columns = append(t.Columns, tables.Column{Title: title, Align: tables.Right})
	for i, p := range first.Points() {
		cell := "-"
		old, has := first.Get(p, results.MetricMicros)
		if now, ok := named(k.Means, p.Probe, results.MetricMicros); ok && has {
			if v, err := results.ErrorPercent(now.Value, old.Value); err == nil {
				cell = results.Signed(v.Round(1))
			}
		}
		t.Rows[i] = append(t.Rows[i], cell)
	}
}
