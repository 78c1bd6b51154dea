package keeping

import (
	"fmt"
	"strings"
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

// TestShards has a shard for every ten minutes that have begun, but not more than points, nor than a cluster takes at once.
func TestShards(t *testing.T) {
	for _, x := range []struct {
		minutes time.Duration
		points  int
		want    int
	}{{0, 0, 1}, {0, 5, 1}, {9, 5, 1}, {10, 5, 2}, {25, 5, 3}, {25, 2, 2}, {1e6, 1e6, 1000}} {
		require.Equal(t, (Forecast{Points: x.points, Processor: x.minutes * time.Minute}).Shards(), x.want, "%d minutes of %d points", x.minutes, x.points)
	}
}

// TestPieceOfAnotherForm finds a piece behind one of its key that cannot be read as it.
func TestPieceOfAnotherForm(t *testing.T) {
	s := require.Must(New(t.TempDir(), strings.Repeat("ab", 32), false))(t)
	key, made := s.Key("a piece"), 0
	text := func() (string, error) { made++; return "text", nil }
	number := func() (int, error) { made++; return 7, nil }
	for range 2 {
		require.Got(Piece(s, key, text))(t, "text", "a text")
		require.Got(Piece(s, key, number))(t, 7, "a number")
	}
	require.NoError(t, s.Close())
	require.Equal(t, made, 2, "pieces that were made")
}

// TestCloseFails says that what was written may not be there.
func TestCloseFails(t *testing.T) {
	s := require.Must(New(t.TempDir(), strings.Repeat("ab", 32), false))(t)
	require.Got(Piece(s, s.Key("a piece"), func() (int, error) { return 7, nil }))(t, 7, "a piece")
	for _, l := range s.logs {
		if l.own != nil {
			require.NoError(t, l.own.Close())
		}
	}
	require.Error(t, s.Close(), "file already closed", "a file that is closed already")
}
