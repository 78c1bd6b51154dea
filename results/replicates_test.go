package results

import (
	"math/rand/v2"
	"testing"

	"kprobesim/internal/require"
)

// The mean is exact, the interval holds it and lies within the values, and what all replicates agree on keeps
// its digits and its source.
func TestMeansOfReplicates(t *testing.T) {
	set := &Set{}
	for i, cycles := range []string{"100", "101.5", "104.5"} {
		k, pub := record("k", MetricCycles, cycles), record("k", MetricPublished, "0.30")
		k.Replicate, pub.Replicate, k.Role, pub.Role, pub.Source = i, i, Fitted, Measured, "paper"
		require.NoError(t, set.Add(k, pub))
	}
	means := Means(set)
	require.Need(t, means.Len() == 2 && set.Len() == 6, "%d means of %d records", means.Len(), set.Len())
	p := means.Points()[0]
	r, _ := means.Get(p, MetricCycles)
	require.That(t, r.Value == number(t, "102") && r.Role == Fitted && r.Spread.Of == 3, "mean %+v", r)
	require.That(t, r.Spread.Low == number(t, "100") && r.Spread.High == number(t, "104.5"), "interval %s to %s: with three values its ends are the extremes", r.Spread.Low, r.Spread.High)
	pub, _ := means.Get(p, MetricPublished)
	require.That(t, pub.Value.String() == "0.30" && pub.Source == "paper" && pub.Spread.Low == pub.Value && pub.Spread.High == pub.Value, "published %+v", pub)
	one := (&Set{})
	require.That(t, Means(one) == one, "a set without replicates is not its own mean")
}

// The interval of a mean of normal size narrows with the root of the number of replicates, and is that of
// the known distribution: for n even numbers from 0 to n-1 the standard error is near n/sqrt(12 n).
func TestBootstrapWidth(t *testing.T) {
	for _, n := range []int64{20, 80} {
		values := make([]int64, n)
		for i := range values {
			values[i] = int64(i) * 1000
		}
		low, high := bootstrap(values)
		got := float64(high.micros - low.micros)
		want := 2 * 1.96 * 1000 * float64(n) / 3.4641 / map[int64]float64{20: 4.4721, 80: 8.9443}[n]
		require.That(t, !(got < 0.93*want) && !(got > 1.07*want), "%d values: interval of %.0f, want about %.0f", n, got, want)
		mean := (n - 1) * 500
		require.That(t, low.micros < mean && high.micros > mean, "%d values: %s to %s does not hold the mean", n, low, high)
	}
	low, high := bootstrap([]int64{-maxMicros, maxMicros, 0})
	require.That(t, low.micros == -maxMicros && high.micros == maxMicros, "values whose sums do not fit: %s to %s", low, high)
}

// TestBootstrapTails draws the same samples and counts the means outside: 49 of 2000 on each side, and the 50th is the end.
func TestBootstrapTails(t *testing.T) {
	values := []int64{8, 80, 800, 8000, 80_000, 800_000, 8_000_000, 80_000_000}
	low, high := bootstrap(values)
	draws, outside := rand.NewPCG(8, 0), [2]int{}
	for range 2000 {
		sum := int64(0)
		for range values {
			sum += values[draws.Uint64()%8]
		}
		if sum/8 < low.micros {
			outside[0]++
		} else if sum/8 > high.micros {
			outside[1]++
		}
	}
	require.Equal(t, outside, [2]int{49, 49}, "means outside of %s to %s", low, high)
}

// What of an error is unexplained is that of the mean of the replicates: here one replicate lies outside of the
// rounding and one inside, and so does the mean.
func TestUnexplainedOfMeans(t *testing.T) {
	set := &Set{}
	for i, us := range []string{"1.1", "1.002"} {
		p := Point{Experiment: "e", Machine: "m", ISA: "i", Era: "2010", CPUs: 1, Probe: "k", Replicate: i}
		doubts := []Value{number(t, "0.005"), number(t, "0.016")}
		left := require.Must(Unexplained(number(t, us), number(t, "1.00"), doubts...))(t)
		add := func(metric string, v Value) {
			require.NoError(t, set.Add(Record{Point: p, Metric: metric, Unit: "us", Value: v, Role: Predicted}))
		}
		add(MetricMicros, number(t, us))
		add(MetricPublished, number(t, "1.00"))
		add(MetricRounding, doubts[0])
		add(MetricRepeats, doubts[1])
		add(MetricUnexplained, left)
	}
	means := Means(set)
	r, _ := means.Get(means.Points()[0], MetricUnexplained)
	require.That(t, r.Value.String() == "3", "unexplained %s %%, want 5.1 %% less 2.1 %%", r.Value)
}
