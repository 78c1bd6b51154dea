package engine

import (
	"math/rand/v2"
	"testing"

	"kprobesim/cpus"
)

// TestAhead goes along targets in random order again and again: what comes some targets later is known, and nothing is looked
// at for most of the time when the targets are few.
func TestAhead(t *testing.T) {
	for _, n := range []int{1000, 1 << 14} {
		c := newToy(t, toyConfig(cpus.Window, 64), 2<<20, 0x1000)
		order := rand.New(rand.NewPCG(1, 2)).Perm(n)
		known, idle := 0, 0
		for c.ahead == nil {
			c.lookAhead(0)
		}
		for i := range 6 * n {
			c.lookAhead(uint64(order[i%n]) << aheadShift)
			if c.ahead.idle != 0 {
				idle++
			} else if int(c.ahead.later[order[i%n]]) == order[(i+aheadBy)%n] {
				known++
			}
		}
		if few := n < aheadLeast; few && idle < 4*n || !few && (idle != 0 || known < 5*n-2*aheadBy) {
			t.Errorf("of %d targets %d were known, and %d not looked at", 6*n, known, idle)
		}
	}
}
