package figures

import (
	"math"
	"testing"

	"kprobesim/internal/require"
)

// TestDrawable refuses what is not finite, with a least value and without.
func TestDrawable(t *testing.T) {
	for _, least := range []float64{0, math.Inf(-1)} {
		for v, want := range map[float64]bool{0: true, 1: true, -1: least < 0, math.Inf(1): false, math.Inf(-1): false, math.NaN(): false} {
			require.Equal(t, drawable(least, 2, v) == nil, want, "whether %g may be drawn above %g", v, least)
		}
	}
}
