package judging

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/host"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/native"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

// priced prices cases of a machine whose kind and text begin so, by both.
func priced(t *testing.T, c *cpus.Config, cases []*Case, name string) (v []float64) {
	t.Helper()
	for _, x := range cases {
		if strings.HasPrefix(x.Kind+": "+x.Text, name) {
			v = append(v, require.Must(NewPricer(c).Price(x))(t))
		}
	}
	require.That(t, len(v) > 0, "there is no case %s", name)
	return v
}

// TestCasesOfZen3 holds the simulated cycles of all loops of a machine.
func TestCasesOfZen3(t *testing.T) {
	c, out := machine(t, "epyc-7713"), strings.Builder{}
	whole := *update || hosttools.Whole(t, "the cycles of all loops", "of every sixth one")
	for i, x := range Cases(c, 1) {
		if !whole && i%6 != 0 {
			continue
		}
		fmt.Fprintf(&out, "%8.2f  %s: %s\n", require.Must(NewPricer(c).Price(x))(t), x.Kind, x.Text)
	}
	if whole {
		require.Lines(t, "testdata/cases.txt", out.String(), *update)
	} else {
		require.Among(t, "testdata/cases.txt", out.String())
	}
}

// TestCasesCostWhatTheyMiss holds loops of one sort of miss against the number of the description that prices it.
func TestCasesCostWhatTheyMiss(t *testing.T) {
	code := host.Code
	defer func() { host.Code = code }()
	c := machine(t, "epyc-7713")
	cases := Cases(c, 2)
	for _, host.Code.Off = range []bool{false, true} {
		if host.Code.Off && !hosttools.Whole(t, "loops without code of the host", "the CPUs' own tests compare both ways") {
			continue
		}
		for _, x := range []struct {
			name string
			want float64
			near float64
		}{
			{"chain of loads: 16 KiB, first level", 4, 0.01},
			{"chain of loads: 128 KiB, second level", 12, 0.04},            // the next line may be the one that is drawn
			{"loads side by side: random places, 64 MiB", 240. / 24, 0.03}, // as many misses at once
			{"stores and copies: stores, 128 KiB", 4, 0.02},                // two a cycle, whose lines come meanwhile
			{"pages: 128 of", 4 + 7, 0.03},                                 // the second TLB's latency
			{"calls and returns: 16 deep, 16 B", 16 * 4, 0.04},
			{"branches: 65536 random bits, 6 mul", 18, 0.02}, // wrong predictions hide behind the chain
		} {
			got := priced(t, c, cases, x.name)[0]
			require.That(t, math.Abs(got-x.want) <= x.near*x.want, "%s: %.2f cycles, want %.2f (host code off: %v)", x.name, got, x.want, host.Code.Off)
		}
	}
	for name, less := range map[string]string{ // the first is mispredicted
		"branches: 65536 random bits":         "branches: 1024 random bits",
		"indirect jumps: 8 targets at random": "indirect jumps: 1 targets by turns",
		"calls and returns: 48 deep, 16 B":    "calls and returns: 16 deep, 16 B",
	} {
		more := priced(t, c, cases, name)[0]
		require.That(t, more > priced(t, c, cases, less)[0]+6, "%s takes %.2f cycles, hardly more than %s", name, more, less)
	}
}

// TestCasesAreDrawn has loops by seed, and sizes by machine.
func TestCasesAreDrawn(t *testing.T) {
	c := machine(t, "epyc-7713")
	a, b, other := Cases(c, 1), Cases(c, 1), Cases(c, 2)
	require.That(t, reflect.DeepEqual(a, b), "the same seed gives other loops")
	require.That(t, len(a) >= 25 && len(a) <= 40, "there are %d loops", len(a))
	for i, x := range a {
		require.Equal(t, other[i].Text, x.Text, "another seed has another loop")
		if strings.Contains(x.Text, "random bits") {
			require.That(t, !reflect.DeepEqual(other[i].chains, x.chains), "%s is the same by another seed", x.Text)
		}
	}
	require.That(t, !strings.Contains(fmt.Sprint(texts(Cases(machine(t, "opteron-246"), 1))), "third level"), "an Opteron has no third level")
}

func texts(cases []*Case) (all []string) {
	for _, c := range cases {
		all = append(all, c.Text)
	}
	return all
}

// TestRunCases times a chain that every processor follows in 3 to 6 cycles, and leaves out a loop whose page the host cannot give.
func TestRunCases(t *testing.T) {
	c := machine(t, "epyc-7713")
	chase := func() *Case { return Cases(c, 1)[0] }
	j := &Judging{Pricer: NewPricer(c), Host: thisHost(t)}
	low := &Case{Kind: kindReturn, loop: Nested(2, 6, 2, 8), pages: []uint64{0, StackPage}, rounds: 1}
	cases := require.Must(j.RunCases(t.Context(), []*Case{chase(), low}))(t)
	require.That(t, errors.Is(low.Left, native.ErrPage), "page 0 of the host: %v", low.Left)
	if v := cases[0]; v.Left == nil { // else the host is busy
		require.That(t, v.Native > 2.9 && v.Native < 6.1, "a load takes %.2f cycles on the host", v.Native)
	}
	faulty := &Case{loop: Loop{Body: Hex("0f0b"), Copies: 1, Times: 1}, rounds: 1} // ud2
	require.Error(t, require.Err(j.RunCases(t.Context(), []*Case{faulty})), "raises an exception", "ud2")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	done, err := j.RunCases(ctx, []*Case{chase()})
	require.That(t, len(done) == 0 && errors.Is(err, context.Canceled), "%v, %v", done, err)
	done, err = j.RunCases(&ends{t.Context(), 2}, []*Case{chase(), chase()}) // behind two prices and a time
	require.That(t, len(done) == 1 && (done[0].Native != 0 || done[0].Left != nil) && errors.Is(err, context.Canceled), "%v, %v", done, err)
}

// ends is a context that is cancelled when it was asked so often.
type ends struct {
	context.Context
	asked int
}

func (e *ends) Err() error {
	if e.asked--; e.asked < 0 {
		return context.Canceled
	}
	return nil
}

// TestKindsOf counts cases by kind, and those that are left out nowhere.
func TestSize(t *testing.T) {
	for n, want := range map[uint64]string{mib - 1: "1023 KiB", mib: "1 MiB", 3*mib + kib: "3 MiB", 0: "0 KiB"} {
		require.Equal(t, size(n), want, "%d bytes", n)
	}
}

func TestKindsOf(t *testing.T) {
	got := KindsOf([]*Case{
		{Kind: "a", Native: 100, Priced: 110}, {Kind: "a", Native: 100, Priced: 70}, {Kind: "b", Left: ErrBusy}, {Kind: "c", Native: 2, Priced: 2.25},
	})
	want := "[{a 2 1 0.2000} {c 1 1 0.1250} {all 3 2 0.1750}]"
	text := []string{}
	for _, k := range got {
		text = append(text, fmt.Sprintf("{%s %d %d %.4f}", k.Name, k.Cases, k.Near, k.Mean))
	}
	require.Equal(t, fmt.Sprint(text), want, "kinds")
}

// TestPricerAtAnotherFrequency has memory behind the last level take as long as before, and caches as many cycles.
func TestPricerAtAnotherFrequency(t *testing.T) {
	cfg := cpus.Config{Hz: 2e9, Memory: 240 * clock.PerCycle, L2: mmu.CacheConfig{Latency: 12 * clock.PerCycle}}
	for third, want := range map[clock.Ticks]float64{0: 12 + 228*1.75, 50: 50 + 333} {
		cfg.L3.Latency = third * clock.PerCycle
		p := NewPricer(&cfg)
		require.That(t, p.At(3.5e9).Memory() == want && p.At(2e9).Memory() == 240 && p.Memory() == 240, "with a third level of %d cycles memory takes %.0f", third, p.At(3.5e9).Memory())
	}
}
