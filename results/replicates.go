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
	return slices.ContainsFunc(s.records, func(r Record) bool { return r.Replicate > 0 })
}

// Means returns a set with one record for each point and metric of s, in their order: the mean of all
// replicates, and how sure it is. Values that are all the same stay as they are written. A set that is not
// Replicated is returned itself.
func Means(s *Set) *Set {
	if !s.Replicated() {
		return s
	}
	groups := map[key][]Record{}
	var order []key
	for _, r := range s.records {
		r.Replicate = 0
		if groups[r.key()] == nil {
			order = append(order, r.key())
		}
		groups[r.key()] = append(groups[r.key()], r)
	}
	out := &Set{Overrides: s.Overrides}
	for _, k := range order {
		_ = out.Add(mean(groups[k])) // each is as valid as its replicates, and is added once
	}
	return out.explained()
}

// explained returns a set of means in which what of an error is unexplained is that of the mean. It is not the
// mean of what is unexplained: an error within the doubts of the published figure counts as zero there.
func (s *Set) explained() *Set {
	for i, r := range s.records {
		if r.Metric != MetricUnexplained {
			continue
		}
		simulated, _ := s.Get(r.Point, MetricMicros) // all four stand beside it
		published, _ := s.Get(r.Point, MetricPublished)
		rounding, _ := s.Get(r.Point, MetricRounding)
		repeats, _ := s.Get(r.Point, MetricRepeats)
		left, err := Unexplained(simulated.Value, published.Value, rounding.Value, repeats.Value)
		if err != nil {
			continue // a published figure of zero: no replicate had a value either
		}
		s.records[i].Value, s.records[i].Spread = left, Interval{Low: left, High: left, Of: r.Spread.Of}
	}
	return s
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
	for _, r := range s.records {
		most = max(most, r.Spread.Of)
	}
	if most < 2 {
		return nil // one alone is no mean; which one it is stands among the overrides
	}
	return []string{fmt.Sprintf("mean of %d replicates, each with a layout of its own; %s", most, shown)}
}
