package formats

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

func TestKeysFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.inputs")
	k, err := LoadKeys(path)
	require.That(t, k == nil && err == nil, "an absent file gives %v, %v", k, err)
	want := Keys{"machine m cost.alu.latency": "1", "image i": "sha256:00", "experiment e probes[k].at": "a = b"}
	require.NoError(t, SaveKeys(path, want))
	got := require.Must(LoadKeys(path))(t)
	require.That(t, maps.Equal(got, want), "read %v, want %v", got, want)
	for text, says := range map[string]string{
		"a\n": "x.inputs:1: want KEY = VALUE", "a = 1\n = 2\n": "x.inputs:2: want", "a = 1\na = 2\n": "x.inputs:2: a is there twice",
		strings.Repeat("a", maxKeysFile+1): "no list of inputs",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		require.Error(t, require.Err(LoadKeys(path)), says, "%.20q", text)
	}
}
