package targets

import (
	"testing"

	"kprobesim/internal/require"
)

// TestLoadImage loads an image twice, and an unknown one.
func TestLoadImage(t *testing.T) {
	first := require.Must(LoadImage("arm-2014"))(t)
	require.That(t, first.Name == "arm-2014" && require.Must(LoadImage("arm-2014"))(t) == first, "%s is read again", first.Name)
	require.Error(t, require.Err(LoadImage("arm-1914")), `no guest image "arm-1914"`, "an image that is not there")
}
