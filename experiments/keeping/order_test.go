package keeping

import (
	"fmt"
	"testing"
	"time"

	"kprobesim/internal/require"
	"kprobesim/results/outdir"
)

// Orders of one plan differ in nothing but inputs that only one of them has.
func TestOrdersDiffer(t *testing.T) {
	in := func(name, sum string) outdir.Input { return outdir.Input{Kind: "image", Name: name, Hash: sum} }
	a := Order{Args: []string{"run", "x"}, Inputs: []outdir.Input{in("one", "1"), in("two", "2")}}
	for want, b := range map[string]Order{
		"<nil>": {Args: a.Args, Inputs: []outdir.Input{in("two", "2"), in("three", "3")}},
		"the one is of `kprobesim run x`, the other of `kprobesim run y`": {Args: []string{"run", "y"}, Inputs: a.Inputs},
		"the image two is another one":                                    {Args: a.Args, Inputs: []outdir.Input{in("two", "3")}},
	} {
		require.Equal(t, fmt.Sprint(a.differs(b)), want, "")
	}
}

// TestStrangers names everything that a merge has left out.
func TestStrangers(t *testing.T) {
	for want, s := range map[string]*Store{
		"":                      {logs: []*logs{{}}},
		"; left out: a is of b": {strangers: []string{"a is of b"}},
		"; left out: a is of b, c is damaged or ends in the middle of a piece, d is damaged or ends in the middle of a piece": {strangers: []string{"a is of b"}, logs: []*logs{{torn: []string{"c"}}, {torn: []string{"d"}}}},
	} {
		require.Equal(t, s.Strangers(), want, "")
	}
}

// A run takes as long as its longest point, or the share of its workers, of which there are no more than points.
func TestWall(t *testing.T) {
	f := Forecast{Points: 4, Longest: 3 * time.Second, Processor: 12 * time.Second}
	for workers, want := range map[int]time.Duration{0: 12, 1: 12, 2: 6, 3: 4, 4: 3, 9: 3} {
		got := f.Wall(workers)
		require.That(t, got == want*time.Second, "%d workers: %v, want %d s", workers, got, want)
	}
}
