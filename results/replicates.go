package results

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
)

// Interval is how sure the mean of several replicates is: 95 % of the means of samples drawn from them lie
// from Low to High. Of is the number of replicates. The zero Interval is that of one observation, of
// which nothing is known.
type Interval struct {
	Low, High Value
	Of        int
}

// Replicated reports whether the set holds more than the first replicate of its points.
func (s *Set) Replicated() bool {
	return slices.ContainsFunc(s.points, func(p Point) bool { return p.Replicate > 0 })
}

// Means returns a set with one record for each point and metric of s, in their order: the mean of all
// replicates, and how sure it is. Values that are all the same stay as they are written. A set that is not
// Replicated is returned itself.
func Means(s *Set) *Set {
	if !s.Replicated() {
		return s
	}
	var order []Point
	replicates := map[Point][]Point{}
	for _, p := range s.points {
		one := p
		one.Replicate = 0
		if replicates[one] == nil {
			order = append(order, one)
		}
		replicates[one] = append(replicates[one], p)
	}
	out := &Set{Overrides: s.Overrides, Axes: s.Axes, Wish: s.Wish}
	for _, p := range order {
		out.addMeans(s, p, replicates[p])
	}
	return out
}

// addMeans adds the means of the replicates of a point in s.
func (s *Set) addMeans(of *Set, p Point, replicates []Point) {
	var metrics []string
	all := map[string][]Record{}
	for _, at := range replicates {
		for r := range of.At(at) {
			if r.Point = p; all[r.Metric] == nil {
				metrics = append(metrics, r.Metric)
			}
			all[r.Metric] = append(all[r.Metric], r)
		}
	}
	for _, metric := range metrics {
		r := mean(all[metric])
		if metric == MetricUnexplained {
			s.explain(&r)
		}
		_ = s.Add(r) // it is as valid as its replicates, and is added once
	}
}

// explain makes what of an error is unexplained that of the mean, whose other records stand in front of it. It is not the
// mean of what is unexplained: an error within the doubts of the published figure counts as zero there.
func (s *Set) explain(r *Record) {
	simulated, _ := s.Get(r.Point, MetricMicros)
	published, _ := s.Get(r.Point, MetricPublished)
	rounding, _ := s.Get(r.Point, MetricRounding)
	repeats, _ := s.Get(r.Point, MetricRepeats)
	left, err := Unexplained(simulated.Value, published.Value, rounding.Value, repeats.Value)
	if err == nil { // else the published figure is zero, and no replicate had a value either
		r.Value, r.Spread = left, Interval{Low: left, High: left, Of: r.Spread.Of}
	}
}

// mean returns the first record with the mean of all.
func mean(all []Record) Record {
	r, values := all[0], make([]int64, len(all))
	sum := new(big.Int)
	for i, o := range all {
		values[i] = o.Value.micros
		sum.Add(sum, big.NewInt(o.Value.micros))
	}
	r.Spread = Interval{Low: r.Value, High: r.Value, Of: len(all)}
	if slices.Min(values) == slices.Max(values) {
		return r
	}
	r.Value = trimmed(divHalfAway(sum, big.NewInt(int64(len(all)))).Int64()) // fits, as all of them do
	r.Spread.Low, r.Spread.High = bootstrap(values)
	return r
}

// text writes an interval with a number of decimals, "" when its ends are the same then.
func (i Interval) Text(decimals int) string {
	low, high := i.Low.Round(decimals), i.High.Round(decimals)
	if low == high {
		return ""
	}
	return low.String() + " to " + high.String()
}

// whisker returns the ends of an interval as charts draw them, zeros for one that has no length.
func (i Interval) Whisker() (low, high float64) {
	if i.Low == i.High {
		return 0, 0
	}
	return i.Low.Float(), i.High.Float()
}

// resamples is how many samples the bootstrap draws, and tail how many of their means lie outside the
// interval on either side: 2.5 %. More would move an end of the interval by less than the choice of
// the replicates does.
const (
	resamples = 2000
	tail      = resamples / 40
)

// bootstrap returns the percentile interval of the mean (Efron and Tibshirani, An Introduction to the
// Bootstrap, 1993, chapter 13): samples of the same size are drawn with replacement, and the interval
// holds the middle 95 % of their means. All sums are of integers and the draws are the same for every
// metric, so the interval is the same on every host.
//
// It is narrower than the spread of the values, since it is about their mean. With less than about ten
// replicates it is too narrow, as every interval from so few is by this method.
func bootstrap(values []int64) (low, high Value) {
	least, n := slices.Min(values), int64(len(values))
	if uint64(slices.Max(values)-least) > uint64(math.MaxInt64/n) {
		return trimmed(least), trimmed(slices.Max(values)) // sums would not fit; this interval is wider
	}
	draws := rand.NewPCG(uint64(n), 0)
	sums := make([]int64, resamples)
	for i := range sums {
		for range values {
			sums[i] += values[draws.Uint64()%uint64(n)] - least
		}
	}
	slices.Sort(sums)
	at := func(sum int64) Value {
		return trimmed(least + (sum+n/2)/n)
	}
	return at(sums[tail-1]), at(sums[resamples-tail])
}

// replicateNotes says what the numbers of a set of means are, and how their intervals are shown; nothing for
// a set of single observations.
func ReplicateNotes(s *Set, shown string) []string {
	most := 0
	for _, i := range s.spreads {
		most = max(most, i.Of)
	}
	if most < 2 {
		return nil // one alone is no mean; which one it is stands among the overrides
	}
	return []string{fmt.Sprintf("mean of %d replicates, each with a layout of its own; %s", most, shown)}
}
