package paper

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Quantity is a number of the results, or one computed from some. It knows how it came about, for the error of a
// sentence that it makes untrue.
type Quantity struct {
	V    float64
	From string // "k of overhead-pentium-m, cycles_per_hit"
	Text string // as it was published, with its digits; "" for a number that was not
}

// String is the number with what it is.
func (q Quantity) String() string { return fmt.Sprintf("%s (%s)", trim(q.V, 3), q.From) }

// trim writes a number with so many decimals at most.
func trim(v float64, decimals int) string {
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// number writes a quantity for LaTeX with three digits, or all of its whole ones. Thousands are set apart.
func number(q Quantity) string {
	if q.Text != "" {
		return q.Text
	}
	decimals := 0
	if v := math.Abs(q.V); v > 0 && v < 100 {
		decimals = max(0, 2-int(math.Floor(math.Log10(v))))
	}
	if q.V == math.Trunc(q.V) {
		decimals = 0
	}
	s := strconv.FormatFloat(math.Abs(q.V), 'f', decimals, 64)
	whole, rest, point := strings.Cut(s, ".")
	for at := len(whole) - 3; at > 0 && len(whole) > 4; at -= 3 {
		whole = whole[:at] + `\,` + whole[at:]
	}
	if point {
		whole += "." + rest
	}
	if q.V < 0 {
		return "$-$" + whole
	}
	return whole
}

// over and minus compute what the text compares.
func over(a, b Quantity) (Quantity, error) {
	if b.V == 0 {
		return Quantity{}, fmt.Errorf("a share of nothing: %s", b)
	}
	return Quantity{V: a.V / b.V, From: a.From + " over " + b.From}, nil
}

func minus(a, b Quantity) Quantity { return Quantity{V: a.V - b.V, From: a.From + " less " + b.From} }

// mean and largest are of the values without their signs.
func mean(all []Quantity) (Quantity, error) {
	sum := 0.0
	for _, q := range all {
		sum += math.Abs(q.V)
	}
	if len(all) == 0 {
		return Quantity{}, fmt.Errorf("the mean of nothing")
	}
	return Quantity{V: sum / float64(len(all)), From: fmt.Sprintf("mean of %d", len(all))}, nil
}

func largest(all []Quantity) (Quantity, error) {
	if len(all) == 0 {
		return Quantity{}, fmt.Errorf("the largest of nothing")
	}
	most := all[0]
	for _, q := range all {
		if math.Abs(q.V) > math.Abs(most.V) {
			most = q
		}
	}
	return Quantity{V: math.Abs(most.V), From: most.From}, nil
}

func count(all []Quantity) Quantity {
	return Quantity{V: float64(len(all)), From: "how many there are"}
}

// tens rounds up to the next multiple of ten, for a bound that a reader remembers.
func tens(q Quantity) Quantity {
	return Quantity{V: 10 * math.Ceil(q.V/10), From: q.From + ", rounded up"}
}

// Verdict is whether a comparison holds, and the comparison as a text. Says are words that the sentence of a claim must
// have, because they are its limit.
type Verdict struct {
	Holds bool
	Text  string
	Says  []string
}

func judge(holds bool, a Quantity, word string, b Quantity) Verdict {
	if holds {
		return Verdict{Holds: true, Text: fmt.Sprintf("%s is %s %s", a, word, b)}
	}
	return Verdict{Text: fmt.Sprintf("%s is not %s %s", a, word, b)}
}

func below(a, b Quantity) Verdict { return judge(a.V < b.V, a, "below", b) }
func above(a, b Quantity) Verdict { return judge(a.V > b.V, a, "above", b) }

// parts are shares as sentences name them.
func parts() map[string]float64 {
	return map[string]float64{
		"a hundredth": 0.01, "a fiftieth": 0.02, "a twentieth": 0.05, "a tenth": 0.1, "a fifth": 0.2, "a quarter": 0.25, "a third": 1. / 3, "half": 0.5,
	}
}

// near holds for numbers that differ by less than a part of the larger one, which the sentence has to name.
func near(a, b Quantity, part string) (Verdict, error) {
	return limited(part, func(share float64) Verdict {
		return judge(math.Abs(a.V-b.V) < math.Max(math.Abs(a.V), math.Abs(b.V))*share, a, "within "+part+" of", b)
	})
}

// under holds for a number that is less than a part of another one, which the sentence has to name.
func under(a, b Quantity, part string) (Verdict, error) {
	return limited(part, func(share float64) Verdict { return judge(a.V < b.V*share, a, "less than "+part+" of", b) })
}

// limited makes a comparison with a part.
func limited(part string, compare func(share float64) Verdict) (Verdict, error) {
	share, ok := parts()[part]
	if !ok {
		return Verdict{}, fmt.Errorf("a limit of %q: known are %s", part, strings.Join(slices.Sorted(maps.Keys(parts())), ", "))
	}
	v := compare(share)
	v.Says = []string{part}
	return v, nil
}

func none(q Quantity) Verdict { return judge(q.V == 0, q, "equal to", Quantity{V: 0, From: "none"}) }
func some(q Quantity) Verdict { return judge(q.V > 0, q, "above", Quantity{V: 0, From: "none"}) }

// all holds when every one of several comparisons does. The text is that of the first that does not.
func all(first Verdict, more ...Verdict) Verdict {
	for _, v := range more {
		first.Says = append(first.Says, v.Says...)
		if first.Holds && !v.Holds {
			first.Holds, first.Text = false, v.Text
		}
	}
	return first
}
