package experiments_test

import (
	"io/fs"
	"os"
	"testing"

	"kprobesim/experiments"
	"kprobesim/experiments/exptest"
	"kprobesim/internal/require"
)

// TestReadUpTo reads files up to a size, and nothing else that a path may lead to.
func TestReadUpTo(t *testing.T) {
	dir := t.TempDir()
	file := exptest.Write(t, dir, "file", "four")
	for _, c := range []struct {
		path  string
		limit int64
		want  string
	}{
		{dir + "/none", 9, dir + "/none: " + fs.ErrNotExist.Error()},
		{dir, 1 << 20, dir + " is a directory: name a file in it"},
		{os.DevNull, 9, os.DevNull + " is no regular file"},
		{file, 3, file + " has 4 bytes, more than 3"},
	} {
		require.Error(t, require.Err(experiments.ReadUpTo(c.path, c.limit)), c.want, "%s", c.path)
	}
	require.Equal(t, string(require.Must(experiments.ReadUpTo(file, 4))(t)), "four", "a file of the largest size")
}
