package results

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// TestArithmetic compares values with fractions that have no bound.
func TestArithmetic(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	exact := func(v Value) *big.Rat { q, _ := new(big.Rat).SetString(v.String()); return q }
	for range 2000 {
		draw := func() Value {
			return require.Must(Ratio(r.Int64N(2_000_001)-1_000_000, []int64{1, 10, 64, 1000, 999_983}[r.IntN(5)]))(t).Round(r.IntN(7))
		}
		a, b := draw(), draw()
		x, y := exact(a), exact(b)
		for what, got := range map[string][2]*big.Rat{
			"sum": {exact(a.Add(b)), new(big.Rat).Add(x, y)}, "difference": {exact(a.Sub(b)), new(big.Rat).Sub(x, y)}, "magnitude": {exact(a.Abs()), new(big.Rat).Abs(x)},
		} {
			require.That(t, got[0].Cmp(got[1]) == 0, "the %s of %s and %s is %s, want %s", what, a, b, got[0], got[1])
		}
		f, _ := x.Float64()
		require.That(t, a.Float() == f && a.Cmp(b) == x.Cmp(y) && a.IsZero() == (x.Sign() == 0) && a.Positive() == (x.Sign() > 0), "%s beside %s", a, b)
		plus := ""
		if x.Sign() > 0 {
			plus = "+"
		}
		_, digits, _ := strings.Cut(a.String(), ".")
		require.That(t, Signed(a) == plus+a.String() && a.Decimals() == len(digits), "%s is signed %s, with %d decimals", a, Signed(a), a.Decimals())
		q := new(big.Rat).Quo(x, big.NewRat(r.Int64N(99)+1, 7))
		v := require.Must(Rational(q))(t)
		off := new(big.Rat).Sub(exact(v), q)
		require.That(t, off.Abs(off).Cmp(big.NewRat(1, 2_000_000)) <= 0, "%s is rounded to %s", q, v)
		low, high := min(a.Float(), b.Float()), max(a.Float(), b.Float())
		i := Interval{Low: a, High: b}
		if a.Cmp(b) > 0 {
			i.Low, i.High = b, a
		}
		from, to := i.Whisker()
		require.That(t, from == low && to == high || a == b && from == 0 && to == 0, "the whisker of %s to %s is from %v to %v", i.Low, i.High, from, to)
		n := r.IntN(7)
		want := i.Low.Round(n).String() + " to " + i.High.Round(n).String()
		if i.Low.Round(n) == i.High.Round(n) {
			want = ""
		}
		require.Equal(t, i.Text(n), want, "the interval of %s to %s with %d decimals", i.Low, i.High, n)
	}
}

// TestPartsOfASet leaves records out by their points, and looks at records until one is found.
func TestPartsOfASet(t *testing.T) {
	s := &Set{Overrides: []string{"a=1"}, Axes: []Axis{{Key: "k"}}, Wish: Wish{X: "k"}}
	for _, probe := range []string{"k", "o", "r"} {
		for _, metric := range []string{"one", "two"} {
			require.NoError(t, s.Add(record(probe, metric, "3")))
		}
	}
	kept := s.Only(func(p Point) bool { return p.Probe != "o" })
	var seen []string
	for r := range kept.All() {
		seen = append(seen, r.Probe+r.Metric)
	}
	require.Equal(t, strings.Join(seen, " "), "kone ktwo rone rtwo", "what is left")
	require.That(t, slices.Equal(kept.Overrides, s.Overrides) && kept.Axes[0].Key == "k" && kept.Wish == s.Wish, "%+v", kept)
	asked := 0
	has := func(probe string) bool { return s.Has(func(r Record) bool { asked++; return r.Probe == probe }) }
	require.That(t, has("o") && asked == 3 && !has("x") && asked == 9, "records were asked %d times", asked)
	bad := record("k", "three", "3")
	bad.Replicate = -1
	require.Error(t, s.Add(bad), "replicate -1 is below zero", "a replicate in front of all")
}

// TestCaptions holds what captions say of settings, of letters of probes and of replicates.
func TestCaptions(t *testing.T) {
	for _, x := range []struct {
		sets []string
		want string
	}{
		{nil, ""},
		{[]string{"a=1", "b=2"}, ", with a=1, b=2"},
		{[]string{strings.Repeat("x", 58) + "=1"}, ", with " + strings.Repeat("x", 58) + "=1"},
		{[]string{strings.Repeat("x", 55) + "=1", "y=2"}, ", with 2 settings changed"},
		{[]string{strings.Repeat("x", 59) + "=1"}, ", with 1 setting changed"},
	} {
		require.Equal(t, (&Set{Overrides: x.sets}).OverridesText(), x.want, "%q", x.sets)
	}
	var points []Point
	for _, w := range slices.Backward(probeWords()) {
		points = append(points, Point{Probe: w[0] + "-event/a=1"}, Point{Probe: w[0] + "0"})
	}
	text := ExplainProbes(points)
	for _, w := range probeWords() {
		require.That(t, len(text) == 1 && strings.Contains("; "+text[0]+"; ", "; "+w[0]+": "+w[1]+"; "), "%s is not explained by %q", w[0], text)
	}
	require.Equal(t, strings.Count(text[0], "; "), len(probeWords())-1, "words between")
	require.That(t, ExplainProbes(points[1:2]) == nil && ExplainProbes(nil) == nil, "an unknown probe is explained")
	trap := ExplainProbes([]Point{{Probe: "k-trap/a=1"}})
	require.That(t, len(trap) == 1 && strings.HasPrefix(trap[0], "k: kprobe, a breakpoint and a single step; ") && strings.Contains(trap[0], "trap"), "%q", trap)
	s := &Set{}
	require.That(t, ReplicateNotes(s, "shown") == nil, "a note of no replicates")
	for i, n := range []string{"3", "4", "8"} {
		r := record("k", "n", n)
		r.Replicate = i
		require.NoError(t, s.Add(r))
		got := fmt.Sprint(ReplicateNotes(Means(s), "shown"))
		want := fmt.Sprintf("[mean of %d replicates, each with a layout of its own; shown]", i+1)
		if i == 0 {
			want = "[]"
		}
		require.Equal(t, got, want, "with %d replicates", i+1)
	}
}
