package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
)

// tally counts places by what is said of them.
type tally struct {
	places int
	// How hits run, which rules refuse probes, and which keep breakpoints.
	kinds, refused, kept map[string]*tallied
}

// tallied is how many places are alike, with the first one.
type tallied struct {
	n       int
	example string
}

func newTally() *tally {
	return &tally{kinds: map[string]*tallied{}, refused: map[string]*tallied{}, kept: map[string]*tallied{}}
}

// add counts a place by how its hits run, "" where no probe may stand, and by the rule that says no to a probe or a jump,
// "" for none. The example is asked for where it is the first of its sort.
func (t *tally) add(kind, refused, kept string, example func() string) {
	t.places++
	for _, x := range []struct {
		counts map[string]*tallied
		key    string
	}{{t.kinds, kind}, {t.refused, refused}, {t.kept, kept}} {
		switch c := x.counts[x.key]; {
		case x.key == "":
		case c == nil:
			x.counts[x.key] = &tallied{1, example()}
		default:
			c.n++
		}
	}
}

// print writes a table for each question, the most frequent answer first.
func (t *tally) print(w io.Writer) {
	for _, x := range []struct {
		title  string
		counts map[string]*tallied
	}{{"a hit is", t.kinds}, {"no probe, by rule", t.refused}, {"no jump, by rule", t.kept}} {
		if len(x.counts) == 0 {
			continue
		}
		fmt.Fprintf(w, "%9s  %7s  %-28s %s\n", "places", "share", x.title, "for example")
		names := slices.SortedFunc(maps.Keys(x.counts), func(a, b string) int {
			return cmp.Or(cmp.Compare(x.counts[b].n, x.counts[a].n), cmp.Compare(a, b))
		})
		for _, name := range names {
			c := x.counts[name]
			fmt.Fprintf(w, "%9d  %5.2f %%  %-28s %s\n", c.n, 100*float64(c.n)/float64(t.places), name, c.example)
		}
	}
	fmt.Fprintf(w, "%9d  places\n", t.places)
}
