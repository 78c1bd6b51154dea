package pc

import (
	"math/bits"

	"kprobesim/internal/clock"
)

// oscillator counts a frequency that has no relation to that of the cores. The count is that of whole periods
// since time 0, so that rounding never adds up.
type oscillator struct {
	hz     uint64
	second uint64 // in ticks
}

// count is how many periods have passed at time t.
func (o oscillator) count(t clock.Ticks) int64 {
	hi, lo := bits.Mul64(uint64(max(t, 0)), o.hz)
	q, _ := bits.Div64(hi, lo, o.second)
	return int64(q)
}

// time is the first tick at which n periods have passed.
func (o oscillator) time(n int64) clock.Ticks {
	hi, lo := bits.Mul64(uint64(max(n, 0)), o.second)
	lo, carry := bits.Add64(lo, o.hz-1, 0)
	q, _ := bits.Div64(hi+carry, lo, o.hz)
	return clock.Ticks(q)
}
