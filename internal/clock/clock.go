// Package clock holds the unit of simulated time that the rooms share.
//
// Simulated time is an integer count of ticks. A tick is one sixtieth of a core cycle, so that the
// issue slots of machines that are 2, 3, 4, 5 or 6 wide are whole numbers of ticks and no
// floating-point rounding can make two hosts disagree.
package clock

import (
	"fmt"
	"math/big"
)

// Ticks is a duration or a point of simulated time in sixtieths of a core cycle.
type Ticks int64

// PerCycle is the number of ticks in one core cycle.
const PerCycle Ticks = 60

// Cycles returns the whole cycles in t, rounded down.
func (t Ticks) Cycles() int64 {
	c := int64(t / PerCycle)
	if t%PerCycle < 0 { // the division rounds towards 0
		c--
	}
	return c
}

// FromCycles returns c cycles in ticks.
func FromCycles(c int64) Ticks { return Ticks(c) * PerCycle }

// Parse reads a number of cycles written as an integer ("14"), a decimal ("1.5") or a fraction
// ("1/3"). It fails when the value is negative, too large, or no whole number of ticks.
func Parse(s string) (Ticks, error) {
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return 0, fmt.Errorf("%q is no number of cycles: write 14, 1.5 or 1/3", s)
	}
	r.Mul(r, big.NewRat(int64(PerCycle), 1))
	if r.Sign() < 0 || !r.IsInt() || !r.Num().IsInt64() {
		return 0, fmt.Errorf("%q cycles is no whole, non-negative number of 1/%d cycles", s, PerCycle)
	}
	return Ticks(r.Num().Int64()), nil
}
