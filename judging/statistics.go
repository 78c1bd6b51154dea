package judging

import (
	"math"
	"slices"
)

// Summary compares prices with times.
type Summary struct {
	Blocks       int
	Mean, Median float64 // of the errors, as a share of the time
	Tau          float64 // Kendall's, with ties (tau-b), of numbers of two decimals
}

// pair is a time, and the price for it.
type pair struct{ native, priced float64 }

// errorOf is a price's error as a share of the time.
func (p pair) error() float64 { return math.Abs(p.priced-p.native) / p.native }

// summarize returns the zero value for no blocks.
func summarize(pairs []pair) Summary {
	s := Summary{Blocks: len(pairs)}
	if s.Blocks == 0 {
		return s
	}
	var errors []float64
	for _, p := range pairs {
		errors = append(errors, p.error())
		s.Mean += p.error() / float64(len(pairs))
	}
	slices.Sort(errors)
	s.Median = (errors[len(errors)/2] + errors[(len(errors)-1)/2]) / 2
	s.Tau = kendall(pairs)
	return s
}

// kendall is tau-b: W. Knight, A computer method for calculating Kendall's tau with ungrouped data, JASA 61, 1966. The
// pairs are sorted by one number, and the exchanges of sorting them by the other are counted.
func kendall(pairs []pair) float64 {
	var all [][2]int
	for _, p := range pairs {
		all = append(all, [2]int{int(math.Round(p.native * 100)), int(math.Round(p.priced * 100))})
	}
	slices.SortFunc(all, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	tiedNative := ties(all, func(a, b [2]int) bool { return a[0] == b[0] })
	tiedBoth := ties(all, func(a, b [2]int) bool { return a == b })
	exchanges := sortByPrice(all, make([][2]int, len(all)))
	tiedPriced := ties(all, func(a, b [2]int) bool { return a[1] == b[1] })
	total := len(all) * (len(all) - 1) / 2
	if total == tiedNative || total == tiedPriced {
		return 0
	}
	agree := total - tiedNative - tiedPriced + tiedBoth - 2*exchanges
	return float64(agree) / math.Sqrt(float64(total-tiedNative)) / math.Sqrt(float64(total-tiedPriced))
}

// ties counts the pairs of neighbours, near and far, that are the same.
func ties(all [][2]int, same func(a, b [2]int) bool) (n int) {
	run := 0
	for i := range all {
		if i > 0 && same(all[i], all[i-1]) {
			run++
		} else {
			run = 0
		}
		n += run
	}
	return n
}

// sortByPrice sorts by the second number and returns how many pairs stood the wrong way around.
func sortByPrice(all, room [][2]int) int {
	if len(all) < 2 {
		return 0
	}
	a, b := all[:len(all)/2], all[len(all)/2:]
	n := sortByPrice(a, room) + sortByPrice(b, room)
	out := room[:0]
	for len(a) > 0 && len(b) > 0 {
		if b[0][1] < a[0][1] {
			out, b, n = append(out, b[0]), b[1:], n+len(a)
		} else {
			out, a = append(out, a[0]), a[1:]
		}
	}
	out = append(append(out, a...), b...)
	copy(all, out)
	return n
}
