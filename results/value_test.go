package results

import (
	"cmp"
	"math"
	"testing"

	"kprobesim/internal/require"
)

func TestValueText(t *testing.T) {
	for _, s := range []string{
		"0", "0.0", "0.06", "0.30", "-0.5", "-12", "2306.7", "0.000001", "3999999999999.999999",
	} {
		got := number(t, s).String()
		require.That(t, got == s, "%q reads and writes as %q", s, got)
	}
}

func TestCmp(t *testing.T) {
	order := []string{"-12.5", "-1", "0", "0.000001", "7.20", "3999999999999"}
	for i, a := range order {
		for j, b := range order {
			x, errX := ParseValue(a)
			y, errY := ParseValue(b)
			got := x.Cmp(y)
			require.That(t, errX == nil && errY == nil && got == cmp.Compare(i, j), "%s and %s: %d (%v, %v)", a, b, got, errX, errY)
		}
	}
}

func TestParseValueRefuses(t *testing.T) {
	for _, s := range []string{
		"", ".", "1.", ".5", "-", "-0", "-0.00", "+1", "01", "1e3", "0x1", "1_0", " 1", "1 ", "1.0000001",
		"4000000000001", "99999999999999999999", "1.2.3", "NaN", "1.-5", "-.5", "1.+5",
	} {
		v, err := ParseValue(s)
		require.That(t, err != nil, "%q was read as %s", s, v)
	}
}

func TestRatio(t *testing.T) {
	for _, c := range []struct {
		num, den int64
		want     string
	}{
		{1, 2, "0.5"},
		{7, 7, "1"},
		{10, 1, "10"},
		{2, 3, "0.666667"},
		{-2, 3, "-0.666667"},
		{2, -3, "-0.666667"},
		{-1, -3, "0.333333"},
		{1, 2_000_000, "0.000001"},
		{-1, 2_000_000, "-0.000001"},
		{1, 3_000_000, "0"},
		{math.MaxInt64, math.MaxInt64, "1"},
		{math.MinInt64, math.MaxInt64, "-1"},
	} {
		got, err := Ratio(c.num, c.den)
		require.That(t, err == nil && got.String() == c.want, "Ratio(%d, %d) = %s, %v; want %s", c.num, c.den, got, err, c.want)
	}
	for _, c := range [][2]int64{{1, 0}, {math.MaxInt64, 1}, {math.MinInt64, 1}, {4_000_000_000_001, 1}} {
		v, err := Ratio(c[0], c[1])
		require.That(t, err != nil, "Ratio(%d, %d) = %s, want an error", c[0], c[1], v)
	}
}

func TestRound(t *testing.T) {
	for _, c := range []struct {
		in       string
		decimals int
		want     string
	}{
		{"0.125", 2, "0.13"},
		{"-0.125", 2, "-0.13"},
		{"0.124999", 2, "0.12"},
		{"2306.7", 0, "2307"},
		{"1", 3, "1.000"},
		{"-0.04", 1, "0.0"},
		{"9.99", 1, "10.0"},
		{"1.5", -3, "2"},
		{"1.5", 9, "1.500000"},
	} {
		require.Equal(t, number(t, c.in).Round(c.decimals).String(), c.want, "%s rounded to %d decimals", c.in, c.decimals)
	}
}

func TestBounds(t *testing.T) {
	for s, want := range map[string]string{
		"0.06": "0.055 0.065", "0.30": "0.295 0.305", "5": "4.5 5.5", "0.0": "-0.05 0.05",
		"0.000001": "0.000001 0.000001",
	} {
		low, high := number(t, s).Bounds()
		require.Equal(t, low.String()+" "+high.String(), want, "%s stands for", s)
	}
}

func TestErrorPercent(t *testing.T) {
	for _, c := range []struct{ predicted, printed, want string }{
		{"1.1", "1.0", "10"},
		{"0.0645", "0.06", "7.5"},
		{"0.065", "0.06", "8.333333"},
		{"0.05", "0.06", "-16.666667"},
		{"0.30", "0.30", "0"},
		{"-5", "-10", "50"},
		{"-15", "-10", "-50"},
	} {
		got := require.Must(ErrorPercent(number(t, c.predicted), number(t, c.printed)))(t)
		require.Equal(t, got.String(), c.want, "%s against %s: %s, want", c.predicted, c.printed, got)
	}
	require.Error(t, require.Err(ErrorPercent(number(t, "1"), number(t, "0.00"))), "1 against 0.00", "error against zero")
}

func TestMeans(t *testing.T) {
	errs := []Value{number(t, "-3"), number(t, "1.5"), number(t, "0")}
	mean := require.Must(MeanAbs(errs))(t)
	require.That(t, mean.String() == "1.5", "mean %s, want 1.5", mean)
	require.That(t, require.Err(MeanAbs(nil)) != nil, "mean of nothing")
}
