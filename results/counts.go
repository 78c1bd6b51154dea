package results

import (
	"fmt"
	"strings"

	"kprobesim/internal/distinct"
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

// Mark returns the mark behind a metric's value at a point, "" for none.
func (s *Set) Mark(p Point, metric string) string {
	own, _ := s.Get(p, MissedMetric(metric))
	if ofHits(metric) && (!own.Value.IsZero() || s.missedAt(p) != "") {
		return MissedMark
	}
	return ""
}

// mostMissed is how many points with missed hits a note tells apart.
const mostMissed = 8

// missedNotes says for each point of a set what was missed, points of which the same is said together.
func MissedNotes(s *Set) []string {
	var texts []string
	names := map[string][]string{}
	for _, p := range s.Points() {
		if text := s.missedAt(p); text != "" {
			if names[text] == nil {
				texts = append(texts, text)
			}
			names[text] = distinct.Append(names[text], p.Probe)
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

// OverridesText names the settings in titles: all of them when that is short, else their number.
func (s *Set) OverridesText() string {
	const most = 60
	if len(s.Overrides) == 0 {
		return ""
	}
	if all := strings.Join(s.Overrides, ", "); len(all) <= most {
		return ", with " + all
	}
	settings := "settings"
	if len(s.Overrides) == 1 {
		settings = "setting"
	}
	return fmt.Sprintf(", with %d %s changed", len(s.Overrides), settings)
}
