package outdir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

var errFault = errors.New("no space left on device")

// faulty is a writer whose change number n fails, counted from 0; of one that is killed there, nothing that follows
// happens either. It reports whether it came so far.
func faulty(dir string, n int, killed bool) (w dirWriter, came *bool) {
	came = new(bool)
	i := 0
	return dirWriter{dir, func(string, string) error {
		i++
		if i-1 == n || killed && i > n {
			*came = true
			return errFault
		}
		return nil
	}}, came
}

// wholeOf asserts that dir has the files of one of the texts, with what others put there, and returns which.
func wholeOf(t *testing.T, dir string, texts ...string) {
	t.Helper()
	got := tree(t, dir)
	require.Need(t, strings.Contains(strings.Join(texts, " "), got[ManifestName]) && got[ManifestName] != "", "the manifest is %q", got[ManifestName])
	for name, b := range files(got[ManifestName]) {
		require.Need(t, got[name] == string(b), "%s of %s is %q", name, got[ManifestName], got[name])
	}
	for name, text := range theirs() {
		require.Need(t, got[name] == text, "%s is %q, and somebody had written %q", name, got[name], text)
	}
}

// withLink are theirs and a link to one of them.
func withLink() map[string]string {
	all := theirs()
	all["link"] = all["notes.txt"]
	return all
}

// TestFaultsAtEveryChange has each change on disk fail, and kills the writer there; a second writer meets the same at
// each of its own. The old results or the new ones are there whole, what others put there stays, and the next writer
// mends everything.
func TestFaultsAtEveryChange(t *testing.T) {
	trials, step := 0, 6
	if hosttools.Whole(t, "two faults at every two changes", "every sixth second one") {
		step = 1
	}
	for _, killed := range []bool{false, true} {
		for n, more := 0, true; more; n++ {
			for m, further := n%step, true; further; m += step {
				dir := filepath.Join(t.TempDir(), "overhead")
				require.NoError(t, WriteDir(dir, files("one")))
				put(t, dir, theirs())
				require.NoError(t, os.Symlink("notes.txt", filepath.Join(dir, "link")))
				w, came := faulty(dir, n, killed)
				err := w.write(files("two"), nil)
				require.Need(t, !*came || killed || err != nil, "change %d failed and nobody was told", n)
				if !killed {
					wholeOf(t, dir, "one", "two")
				}
				w, again := faulty(dir, m, killed)
				err = w.write(files("three"), nil)
				require.Need(t, *again || err == nil, "behind a fault at change %d: %v", n, err)
				require.NoError(t, CheckDir(dir))
				wholeOf(t, dir, "one", "two", "three")
				require.NoError(t, WriteDir(dir, files("four")))
				holds(t, dir, "four", withLink())
				trials, more, further = trials+1, *came, *again
			}
		}
	}
	require.That(t, trials >= 500/step, "only %d trials", trials)
	t.Logf("%d trials", trials)
}

// TestWritersTakeTurns has several writers at one directory.
func TestWritersTakeTurns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "overhead")
	require.NoError(t, WriteDir(dir, files("one")))
	put(t, dir, theirs())
	var all sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		all.Go(func() {
			for range 25 {
				errs[i] = errors.Join(errs[i], WriteDir(dir, files(fmt.Sprint("writer-", i))))
			}
		})
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
	last := require.Must(os.ReadFile(filepath.Join(dir, ManifestName)))(t)
	holds(t, dir, string(last), theirs())
}
