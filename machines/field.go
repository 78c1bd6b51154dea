package machines

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"kprobesim/internal/clock"
	"kprobesim/internal/doc"
)

// field reads one number of a table; read reports whether it was there.
// Only numbers are fields: they become parameters with a source.
type field struct {
	key   string
	read  func(r *doc.Reader, key string) bool
	ticks *clock.Ticks // where it is a time
}

// into is a field that keeps its number in to. Without need, a missing key leaves there what a
// caller has set.
func into[T any](key string, to *T, need bool, parse func(*doc.Node) (T, error)) field {
	return field{key: key, read: func(r *doc.Reader, key string) bool {
		has := r.Has(key)
		if need || has {
			*to = doc.Need(r, key, parse)
		}
		return has
	}}
}

// cycles is a number of cycles, or a time, which the clock of the core makes cycles of.
func (mr *machineReader) cycles(key string, to *clock.Ticks, need bool) field {
	f := into(key, to, need, mr.parseTicks)
	f.ticks = to
	return f
}

// hertz is a frequency of 1 MHz to 100 GHz. A bare number is refused, as its unit could be guessed
// wrongly.
func hertz(key string, to *int64) field {
	return into(key, to, true, doc.Frequency().Whole(false, 1e6, 1e11))
}

// count is a number of things from lo to hi, as many as can be modelled. cpus.Config.Check holds numbers against each other.
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

// parseTicks reads a number of cycles, 14, "1.5" or "1/3", or a time, "80 ns".
// A fraction keeps a rate such as three in a cycle exact, as clock.PerCycle is divisible by three.
func (mr *machineReader) parseTicks(n *doc.Node) (clock.Ticks, error) {
	q, err := doc.Cycles().Parse(true)(n)
	if err != nil {
		if long, no := doc.Time().Parse(false)(n); no == nil {
			return mr.ticksOf(long.Value, n.Text)
		}
		return 0, fmt.Errorf("%w, or a time such as \"80 ns\"", err)
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

// ticksOf is the nearest number of ticks to a time in microseconds, at the frequency of the core.
func (mr *machineReader) ticksOf(micros *big.Rat, written string) (clock.Ticks, error) {
	t := new(big.Rat).Mul(micros, big.NewRat(mr.m.CPU.Hz, 1e6))
	if t.Cmp(big.NewRat(int64(MaxCost/clock.PerCycle), 1)) > 0 {
		return 0, fmt.Errorf("%s is more than %d cycles: is the unit right?", written, MaxCost.Cycles())
	}
	t.Add(t.Mul(t, big.NewRat(int64(clock.PerCycle), 1)), big.NewRat(1, 2))
	return clock.Ticks(new(big.Int).Quo(t.Num(), t.Denom()).Int64()), nil
}

// text returns what a parameter keeps of a number: the number as it was written, and the cycles of a time.
func (f field) text(r *doc.Reader) string {
	text := r.Text(f.key)
	switch unit := strings.TrimLeft(text, "0123456789_./ "); {
	case f.ticks == nil || unit == "" || unit == "cycles":
		return text
	case *f.ticks%clock.PerCycle == 0:
		return strconv.FormatInt(f.ticks.Cycles(), 10)
	}
	return fmt.Sprintf("%d/%d", *f.ticks, clock.PerCycle)
}
