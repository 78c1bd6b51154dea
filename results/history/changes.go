package history

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// levels returns the indices at which a new level of noisy values begins. It takes the partition with the least sum of squares,
// where each change costs 2 ln n variances: Schwarz's criterion for the number of changes of a mean (Yao, Statistics &
// Probability Letters 6, 1988), found by dynamic programming (Jackson and others, IEEE Signal Processing Letters 12, 2005).
func levels(values []float64) (at []int) {
	n := len(values)
	price := 2 * math.Pow(noise(values), 2) * math.Log(float64(n))
	least, from := make([]float64, n+1), make([]int, n+1) // of the values before an index, and where its last level begins
	for end := 1; end <= n; end++ {
		least[end] = math.Inf(1)
		mean, squares := 0.0, 0.0
		for begin := end - 1; begin >= 0; begin-- { // Welford's update of mean and sum of squares
			d := values[begin] - mean
			mean += d / float64(end-begin)
			squares += d * (values[begin] - mean)
			if sum := least[begin] + squares + price; sum <= least[end] {
				least[end], from[end] = sum, begin
			}
		}
	}
	for i := from[n]; i > 0; i = from[i] {
		at = append(at, i)
	}
	slices.Reverse(at)
	return at
}

// noise estimates the standard deviation of values around their level from the differences of neighbours. The median of these
// is hardly moved by the few differences that are steps.
func noise(values []float64) float64 {
	if len(values) < 2 {
		return 0
	}
	var differences []float64
	for i := 1; i < len(values); i++ {
		differences = append(differences, math.Abs(values[i]-values[i-1]))
	}
	slices.Sort(differences)
	median := stat.Quantile(0.5, stat.Empirical, differences, nil)
	return median / (math.Sqrt2 * distuv.UnitNormal.Quantile(0.75))
}

// level is the mean of values that have one level. That of equal values is exactly they.
func level(values []float64) float64 {
	if slices.Min(values) == slices.Max(values) {
		return values[0]
	}
	return stat.Mean(values, nil)
}
