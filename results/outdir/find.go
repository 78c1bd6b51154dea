package outdir

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Find returns the paths below a directory that match a pattern of path.Match, in the order of their names. The directory is
// no part of the pattern, and need not be there: its own name may have brackets and stars.
func Find(dir, pattern string) ([]string, error) {
	found, err := fs.Glob(os.DirFS(dir), pattern)
	for i, name := range found {
		found[i] = filepath.Join(dir, filepath.FromSlash(name))
	}
	return found, err
}
