package compare

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"kprobesim/results"
)

// derived lists metrics that are computed from another one of the same point: when that moved, they must.
// The first that moved counts.
var derived = []struct{ metric, from string }{
	{results.MetricMicros, results.MetricCycles},
	{"*_more_than_*", results.MetricCycles},
	{"*_more_than_*", results.MetricMicros},
	{results.MetricError, results.MetricCycles},
	{results.MetricError, results.MetricMicros},
	{results.MetricError, results.MetricPublished},
	{results.MetricUnexplained, results.MetricCycles},
	{results.MetricUnexplained, results.MetricMicros},
	{results.MetricUnexplained, results.MetricPublished},
	{results.MetricUnexplained, results.MetricRepeats},
	{results.MetricRounding, results.MetricPublished},
	{"hits_per_second", "cycles_per_hit_and_cpu"},
	{"hits_per_second", results.MetricCycles},
	{"cycles_per_hit_and_cpu", results.MetricCycles},
	{"us_user_hit", "cycles_user_hit"},
	{"calls_missed_pct", "calls_missed"},
	{"us_per_probe_singly", "us_per_probe_together"},
}

// parts lists metrics that another one is the sum of.
var parts = []struct{ metric, whole string }{
	{results.PhaseMetric("*"), results.MetricCycles},
	{"bytes_per_probe: *", "bytes_per_probe"},
	{"cycles_stolen_arm_*", "cycles_stolen_arm"},
	{"cycles_stolen_disarm_*", "cycles_stolen_disarm"},
	{"cycles_stolen_optimize_*", "cycles_stolen_optimize"},
}

// distribution is the metrics of which a point has many, one for each percentile. They are one finding.
const distribution = "cycles_call_p*"

// fold makes findings of what moved at one point, largest first. Records that have another role and nothing else
// are one finding, the last.
func fold(moved []Change) []Finding {
	moved, roles := partRoles(moved)
	out := foldValues(moved)
	if len(roles) == 0 {
		return out
	}
	f := Finding{Change: roles[0]}
	for _, c := range roles[1:] {
		f.Follow = append(f.Follow, c.Old.Metric)
	}
	return append(out, f)
}

// partRoles takes out the changes that are of the role alone. Others at the same point need not repeat it.
func partRoles(moved []Change) (values, roles []Change) {
	for _, c := range moved {
		only := c.Old
		only.Role, only.Source, only.Spread = c.New.Role, c.New.Source, c.New.Spread
		if only == c.New && c.Old.Role != c.New.Role && (len(roles) == 0 || sameRoles(c, roles[0])) {
			roles = append(roles, c)
		} else {
			values = append(values, c)
		}
	}
	for i := range values {
		if len(roles) > 0 && sameRoles(values[i], roles[0]) {
			values[i].Old.Role = values[i].New.Role
		}
	}
	return values, roles
}

func sameRoles(a, b Change) bool { return a.Old.Role == b.Old.Role && a.New.Role == b.New.Role }

// foldValues makes findings of the changes that are not of the role alone.
func foldValues(moved []Change) []Finding {
	heads := map[string]*Finding{}
	var order []string
	head := func(c Change) {
		heads[c.Old.Metric] = &Finding{Change: c}
		order = append(order, c.Old.Metric)
	}
	var rest []Change
	for _, c := range moved {
		if whole(moved, c.Old.Metric) == "" {
			head(c)
		} else {
			rest = append(rest, c)
		}
	}
	for _, c := range rest {
		f := heads[top(moved, c.Old.Metric)]
		if isPart(c.Old.Metric, f.Old.Metric) {
			f.Parts = append(f.Parts, c)
		} else {
			f.Follow = append(f.Follow, c.Old.Metric)
		}
	}
	out := make([]Finding, len(order))
	for i, m := range order {
		out[i] = *heads[m]
		slices.SortStableFunc(out[i].Parts, func(a, b Change) int {
			return cmp.Compare(b.Delta.Abs().Float(), a.Delta.Abs().Float())
		})
	}
	slices.SortStableFunc(out, func(a, b Finding) int { return cmp.Compare(size(b.Change), size(a.Change)) })
	return out
}

// top goes from a metric to the one that explains it, and on to what explains that one.
func top(moved []Change, metric string) string {
	for {
		next := whole(moved, metric)
		if next == "" {
			return metric
		}
		metric = next
	}
}

// whole returns the metric that moved and explains another one, or "".
func whole(moved []Change, metric string) string {
	has := func(m string) bool {
		return m != metric && slices.ContainsFunc(moved, func(c Change) bool { return c.Old.Metric == m && !c.Delta.IsZero() })
	}
	for _, p := range parts {
		if matches(p.metric, metric) && has(p.whole) {
			return p.whole
		}
	}
	for _, d := range derived {
		if matches(d.metric, metric) && has(d.from) {
			return d.from
		}
	}
	return ofDistribution(moved, metric)
}

// ofDistribution returns the percentile that moved furthest, "" when it is this metric, or this one is none.
func ofDistribution(moved []Change, metric string) string {
	most := Change{}
	for _, c := range moved {
		if matches(distribution, c.Old.Metric) && (most.Old.Metric == "" || size(c) > size(most)) {
			most = c
		}
	}
	if !matches(distribution, metric) || most.Old.Metric == metric {
		return ""
	}
	return most.Old.Metric
}

func isPart(metric, whole string) bool {
	return slices.ContainsFunc(parts, func(p struct{ metric, whole string }) bool {
		return p.whole == whole && matches(p.metric, metric)
	})
}

// matches holds a name against a pattern with * and ?. A metric may hold a slash, which these match, too.
func matches(pattern, name string) bool {
	const slash = "\x01" // in no name: unprintable
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", slash), strings.ReplaceAll(name, "/", slash))
	return err == nil && ok
}
