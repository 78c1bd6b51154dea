package results

import (
	"testing"

	"kprobesim/internal/require"
)

// TestUnexplained takes the doubts of a published figure off an error, and no more than there is.
func TestUnexplained(t *testing.T) {
	for _, c := range []struct{ simulated, published, rounding, repeats, want string }{
		{"0.45", "0.43", "0.005", "0.086", "0"},
		{"0.43", "0.43", "0", "0", "0"},
		{"0.5", "0.40", "0.005", "0.04", "13.75"},
		{"0.3", "0.40", "0.005", "0.04", "-13.75"},
		{"0.521", "0.43", "0.005", "0.086", "0"},
	} {
		got := require.Must(Unexplained(number(t, c.simulated), number(t, c.published), number(t, c.rounding), number(t, c.repeats)))(t)
		require.Equal(t, got.String(), c.want, "%s against %s: unexplained %s %%, want", c.simulated, c.published, got)
	}
	got, err := Percent(number(t, "0.43"), number(t, "22"))
	require.That(t, err == nil && got.String() == "0.0946", "22 %% of 0.43 is %s, %v", got, err)
}
