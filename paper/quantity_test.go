package paper

import (
	"fmt"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// TestNear holds numbers against a part of the larger one.
func TestNear(t *testing.T) {
	of := func(v float64) Quantity { return Quantity{V: v, From: "a test"} }
	for _, x := range []struct {
		a, b  float64
		part  string
		holds bool
	}{
		{100, 95.1, "a twentieth", true},
		{95.1, 100, "a twentieth", true},
		{100, 94.9, "a twentieth", false},
		{100, 94.9, "a tenth", true},
		{-100, -89, "a tenth", false},
		{0, 0, "a tenth", false}, // of nothing
		{100, 99.1, "a hundredth", true},
	} {
		v, err := near(of(x.a), of(x.b), x.part)
		require.That(t, err == nil && v.Holds == x.holds, "%v and %v within %s: %v, %v", x.a, x.b, x.part, v, err)
	}
}

// TestUnder holds a number against a part of another one.
func TestUnder(t *testing.T) {
	for _, x := range []struct {
		a     float64
		holds bool
	}{{0.9, true}, {1, false}, {2, false}, {-3, true}} {
		v, err := under(Quantity{V: x.a, From: "a test"}, Quantity{V: 100, From: "a test"}, "a hundredth")
		require.That(t, err == nil && v.Holds == x.holds, "%v under a hundredth of 100: %v, %v", x.a, v, err)
	}
	for part, share := range map[string]float64{
		"a hundredth": 1. / 100, "a fiftieth": 1. / 50, "a twentieth": 1. / 20, "a tenth": 1. / 10, "a fifth": 1. / 5, "a quarter": 1. / 4, "a third": 1. / 3, "half": 1. / 2,
	} {
		for a, holds := range map[float64]bool{share - 0.001: true, share + 0.001: false} {
			v := require.Must(under(Quantity{V: a}, Quantity{V: 1}, part))(t)
			require.That(t, v.Holds == holds, "%v under %s of 1: %v", a, part, v)
		}
	}
	_, err := under(Quantity{}, Quantity{}, "a bit")
	require.That(t, err != nil, "a bit is taken for a limit")
}

// What comparisons say of each pair of numbers is held whole.
func TestComparisons(t *testing.T) {
	of := func(v float64) Quantity { return Quantity{V: v, From: "a"} }
	var got strings.Builder
	for _, a := range []float64{-1, 0, 2} {
		fmt.Fprintln(&got, none(of(a)), some(of(a)))
		for _, b := range []float64{0, 2} {
			fmt.Fprintln(&got, below(of(a), of(b)), above(of(a), of(b)), all(below(of(a), of(b)), Verdict{Text: "no", Says: []string{"x"}}, above(of(a), of(b))))
		}
	}
	want := comparisons
	require.That(t, got.String() == want, "they say\n%s\nand not\n%s", got.String(), want)
}

const comparisons = `{false -1 (a) is not equal to 0 (none) []} {false -1 (a) is not above 0 (none) []}
{true -1 (a) is below 0 (a) []} {false -1 (a) is not above 0 (a) []} {false no [x]}
{true -1 (a) is below 2 (a) []} {false -1 (a) is not above 2 (a) []} {false no [x]}
{true 0 (a) is equal to 0 (none) []} {false 0 (a) is not above 0 (none) []}
{false 0 (a) is not below 0 (a) []} {false 0 (a) is not above 0 (a) []} {false 0 (a) is not below 0 (a) [x]}
{true 0 (a) is below 2 (a) []} {false 0 (a) is not above 2 (a) []} {false no [x]}
{false 2 (a) is not equal to 0 (none) []} {true 2 (a) is above 0 (none) []}
{false 2 (a) is not below 0 (a) []} {true 2 (a) is above 0 (a) []} {false 2 (a) is not below 0 (a) [x]}
{false 2 (a) is not below 2 (a) []} {false 2 (a) is not above 2 (a) []} {false 2 (a) is not below 2 (a) [x]}
`

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 12: "12", 1.2345: "1.23", 12.345: "12.3", 123.45: "123", 2310: "2310", 12345: `12\,345`, -1234567: `$-$1\,234\,567`} {
		require.Equal(t, number(Quantity{V: v}), want, "%v", v)
	}
}

// TestOfSeveral has means and extremes of numbers without their signs. There are none of no numbers.
func TestOfSeveral(t *testing.T) {
	all := []Quantity{{V: 3, From: "a"}, {V: -5, From: "b"}, {V: 4, From: "c"}}
	most := require.Must(largest(all))(t)
	require.Equal(t, most, Quantity{V: 5, From: "b"}, "the largest")
	require.Equal(t, require.Must(mean(all))(t), Quantity{V: 4, From: "mean of 3"}, "the mean")
	for name, of := range map[string]func([]Quantity) (Quantity, error){"mean": mean, "largest": largest} {
		require.Error(t, require.Err(of(nil)), "the "+name+" of nothing", "of none")
	}
}
