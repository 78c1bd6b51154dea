package machines

import (
	"fmt"
	"strings"

	"kprobesim/internal/clock"
	"kprobesim/internal/doc"
)

// field reads one number of a table; read reports whether it was there.
// Only numbers are fields: they become parameters with a source.
type field struct {
	key  string
	read func(r *doc.Reader, key string) bool
}

// into is a field that keeps its number in to. Without need, a missing key leaves there what a
// caller has set.
func into[T any](key string, to *T, need bool, parse func(*doc.Node) (T, error)) field {
	return field{key, func(r *doc.Reader, key string) bool {
		has := r.Has(key)
		if need || has {
			*to = doc.Need(r, key, parse)
		}
		return has
	}}
}

func cycles(key string, to *clock.Ticks, need bool) field { return into(key, to, need, parseTicks) }

// hertz is a frequency of 1 MHz to 100 GHz. A bare number is refused, as its unit could be guessed
// wrongly.
func hertz(key string, to *int64) field {
	return into(key, to, true, doc.Frequency().Whole(false, 1e6, 1e11))
}

// count is a number of things from lo to hi. The bounds catch slips, while cpus.Config.Check says
// what can be modelled.
func count(key string, to *int, lo, hi int64) field {
	return into(key, to, true, whole(lo, hi))
}

// maybe is count for what not every core has, or not every description knows.
func maybe(key string, to *int, lo, hi int64) field { return into(key, to, false, whole(lo, hi)) }

func whole(lo, hi int64) func(*doc.Node) (int, error) {
	return func(n *doc.Node) (int, error) {
		v, err := doc.Int(lo, hi)(n)
		return int(v), err
	}
}

// parseTicks reads a number of cycles: 14, "1.5" or "1/3".
// A fraction keeps a rate such as three in a cycle exact, as clock.PerCycle is divisible by three.
func parseTicks(n *doc.Node) (clock.Ticks, error) {
	q, err := doc.Cycles().Parse(true)(n)
	if err != nil {
		return 0, err
	}
	t, err := clock.Parse(strings.ReplaceAll(q.Written, "_", ""))
	if err != nil {
		return 0, err
	}
	if t > MaxCost {
		return 0, fmt.Errorf("%s cycles is more than %d: is the unit right?", q.Written,
			MaxCost.Cycles())
	}
	return t, nil
}
