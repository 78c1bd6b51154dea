package results

import (
	"strconv"
	"strings"
)

// Metrics that more than one part of the program names. An experiment may use others.
const (
	MetricCycles       = "cycles_per_hit"       // unit cycles: overhead of a warm hit
	MetricMicros       = "us_per_hit"           // unit us
	MetricInstructions = "instructions_per_hit" // unit instructions
	MetricPublished    = "published_us"         // unit us, role measured, with its printed decimals
	MetricError        = "error_pct"            // unit %: ErrorPercent of MetricMicros
	MetricRounding     = "published_rounding"   // unit us, role measured: half a unit of the last printed digit
	MetricRepeats      = "published_repeats"    // unit us, role measured: by how much a second measurement differs
	MetricUnexplained  = "unexplained_pct"      // unit %: Unexplained of MetricMicros by these two
	MetricFirst        = "cycles_first_hit"     // unit cycles: the first (cold) hit
	MetricUnprobed     = "cycles_unprobed_call" // unit cycles: a call without the probe
	MetricCalls        = "calls"                // unit calls: number of calls measured, where it is not that of the hits
	MetricHits         = "hits"                 // unit hits: number of hits measured, with the missed ones
	MetricHitsMissed   = "hits_missed"          // unit hits: those whose handlers did not run
	MetricReturns      = "returns_missed"       // unit calls: those whose entry was hit and whose return was not
	phasePrefix        = "cycles_phase_"
)

// PhaseMetric names the metric (unit cycles) of the share of MetricCycles spent in one phase.
func PhaseMetric(phase string) string { return phasePrefix + phase }

// CallShares are the shares of the calls, in thousandths, of which an experiment that times every call keeps
// how long they took at most. They are dense at the ends, where single calls matter.
func CallShares() []int {
	return []int{0, 5, 10, 20, 50, 100, 150, 200, 250, 300, 350, 400, 450, 500, 550, 600, 650, 700, 750, 800, 850, 900, 950, 980, 990, 995, 999, 1000}
}

// CallMetric names the metric (unit cycles) of the time that a share of the calls, in thousandths, took at
// most: the percentile p50 is that of 500, the longest call that of 1000.
func CallMetric(share int) string {
	return "cycles_call_p" + strconv.FormatFloat(float64(share)/10, 'f', -1, 64)
}

// What an analysis of sensitivity observes. Its points have the number that was varied behind their name,
// under the key number; the point without one is the row as it is.
const (
	NumberKey        = "number"
	MetricLowEnd     = "number_low"         // the ends of the number's range
	MetricHighEnd    = "number_high"        //
	MetricLowCycles  = "cycles_at_low"      // unit cycles: a hit with the number at its low end
	MetricHighCycles = "cycles_at_high"     //
	MetricLowPct     = "change_at_low_pct"  // unit %: of MetricCycles
	MetricHighPct    = "change_at_high_pct" //
	MetricRefitted   = "numbers_refitted"   // of the row: how many fitted numbers were fitted again
)

// WithNumber returns the point of a number that was varied.
func (p Point) WithNumber(name string) Point {
	p.Probe += "/" + NumberKey + "=" + name
	return p
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
