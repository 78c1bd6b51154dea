package results

import (
	"fmt"
	"slices"
	"strings"
)

// MissedMark stands behind a figure of hits of which some were missed, or the returns of some.
const MissedMark = "*"

// MissedText says what was missed of a number of hits, and what that means for a figure.
func MissedText(hits, missed, returns string) string {
	what := fmt.Sprintf("%s of %s hits and %s returns were missed", missed, hits, returns)
	switch {
	case returns == "0":
		what = fmt.Sprintf("%s of %s hits were missed", missed, hits)
	case missed == "0":
		what = fmt.Sprintf("the returns of %s of %s hits were missed", returns, hits)
	}
	return what + ": the handlers did not run for those, which take less than a hit does"
}

// missedAt says what was missed at a point, "" for nothing.
func (s *Set) missedAt(p Point) string {
	hits, _ := s.Get(p, MetricHits)
	missed, _ := s.Get(p, MetricHitsMissed)
	returns, _ := s.Get(p, MetricReturns)
	if missed.Value.IsZero() && returns.Value.IsZero() {
		return ""
	}
	return MissedText(hits.Value.String(), missed.Value.String(), returns.Value.String())
}

// markOf is mark, but for phases, which a table has beside the figure that they are parts of.
func (s *Set) markOf(p Point, metric string) string {
	if strings.HasPrefix(metric, phasePrefix) {
		return ""
	}
	return s.mark(p, metric)
}

// mark is what stands behind a metric's value at a point.
func (s *Set) mark(p Point, metric string) string {
	own, _ := s.Get(p, MissedMetric(metric))
	if ofHits(metric) && (!own.Value.IsZero() || s.missedAt(p) != "") {
		return MissedMark
	}
	return ""
}

// MissedMetric counts the missed hits of one figure of a point, where others have none.
func MissedMetric(metric string) string { return metric + "_missed" }

// ofHits reports whether a metric is a figure of hits: of one, or of how many there are in a time.
func ofHits(metric string) bool {
	switch {
	case metric == MetricHits, strings.HasSuffix(metric, "_missed"):
		return false
	case metric == MetricError, metric == MetricUnexplained:
		return true
	}
	return strings.Contains(metric, "hit") || strings.HasPrefix(metric, phasePrefix)
}

// countColumns are those of what was counted, where any point has not one hit a call.
func countColumns() []ColumnSpec {
	return []ColumnSpec{
		{Title: "calls", Metric: MetricCalls, Beside: MetricHitsMissed},
		{Title: "hits", Metric: MetricHits, Beside: MetricHitsMissed},
		{Title: "missed\nhits", Metric: MetricHitsMissed, Beside: MetricHitsMissed},
		{Title: "missed\nreturns", Metric: MetricReturns, Beside: MetricHitsMissed},
	}
}

// mostMissed is how many points with missed hits a note tells apart.
const mostMissed = 8

// countNotes says what stands in the columns of points with one hit a call, and what was missed.
func countNotes(s *Set) (notes []string) {
	points := s.Points()
	with := slices.DeleteFunc(slices.Clone(points), func(p Point) bool { _, ok := s.Get(p, MetricHitsMissed); return !ok })
	if n := len(with); n > 0 && n < len(points) {
		notes = []string{"counts: - where each call had one hit and none was missed"}
	}
	return append(notes, missedNotes(s)...)
}

// missedNotes says for each point of a set what was missed, points of which the same is said together.
func missedNotes(s *Set) []string {
	var texts []string
	names := map[string][]string{}
	for _, p := range s.Points() {
		if text := s.missedAt(p); text != "" {
			if names[text] == nil {
				texts = append(texts, text)
			}
			if !slices.Contains(names[text], p.Probe) {
				names[text] = append(names[text], p.Probe)
			}
		}
	}
	var notes []string
	for i, text := range texts {
		if i == mostMissed {
			return append(notes, fmt.Sprintf("%s %d more such lines: see the columns of what was missed", MissedMark, len(texts)-i))
		}
		notes = append(notes, fmt.Sprintf("%s %s: %s", MissedMark, strings.Join(names[text], ", "), text))
	}
	return notes
}

// ShowMissed adds to the caption of a figure what was missed, as its bars and lines do not say it.
func ShowMissed(f Figure, s *Set) {
	frame := f.frame()
	frame.Caption = append(slices.Clone(frame.Caption), missedNotes(s)...)
}
