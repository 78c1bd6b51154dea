package distinct_test

import (
	"slices"
	"testing"

	"kprobesim/internal/distinct"
	"kprobesim/internal/require"
)

func TestAppend(t *testing.T) {
	got := distinct.Append([]string{"b"}, "a", "b", "a", "c")
	require.That(t, slices.Equal(got, []string{"b", "a", "c"}), "b, and what comes behind it once: %v", got)
}
