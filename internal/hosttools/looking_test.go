package hosttools

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"kprobesim/internal/require"
)

// TestNeed needs the tool that another test names, which runs this one with and without it (internal/tests).
func TestNeed(t *testing.T) {
	if tool := os.Getenv("KPROBESIM_TEST_TOOL"); tool != "" {
		Need(t, tool, "none", "a test of ours")
		return
	}
	t.Setenv("PATH", t.TempDir())
	got := Look("sh")
	require.That(t, got == "", "%s is in an empty folder", got)
}

// A name that leaves the repository's folder is that of the same file.
func TestFromRepository(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	name := fromRepository(file)
	if name == "" {
		t.Skip("does not apply: the test was built without the names of its sources")
	}
	one := require.Must(os.Stat(file))(t)
	two, err := os.Stat(name)
	require.That(t, err == nil && os.SameFile(one, two), "%s: %v", name, err)
	got := fromRepository("file")
	require.That(t, got == "", "%s for a name without a folder", got)
}

// Kernels lie in the folder that the environment names, and nowhere without it.
func TestPackaged(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "vmlinuz-1"), nil, 0o600))
	t.Setenv(Linux, dir)
	if !testing.Short() {
		got := Kernels(t, "vmlinuz*", "reading it")
		require.That(t, len(got) == 1, "%q", got)
	}
	name, ok := Packaged("vmlinuz-1")
	require.That(t, ok && name == filepath.Join(dir, "vmlinuz-1"), "%q, %v", name, ok)
	if _, ok := Packaged("vmlinuz-2"); ok {
		t.Error("a kernel that is not there")
	}
	t.Setenv(Linux, "")
	if _, ok := Packaged("vmlinuz-1"); ok {
		t.Error("a kernel in no folder")
	}
}

// skipped is a test that notes that it was left out, and goes on.
type skipped struct {
	testing.TB
	why  string
	left bool
}

func (s *skipped) Helper()        {}
func (s *skipped) SkipNow()       { s.left = true }
func (s *skipped) Log(why ...any) { s.why = fmt.Sprint(why...) }

// Long tests are asked for by the environment alone, and without -short.
func TestLong(t *testing.T) {
	for value, runs := range map[string]bool{"1": !testing.Short(), "2": !testing.Short(), "0": false, "": false} {
		t.Setenv(LongRuns, value)
		s := &skipped{}
		Long(s, "a test", "a shorter\none")
		if want := IsLong + "a test; a shorter one"; s.left == runs || runs && s.why != "" || !runs && s.why != want {
			t.Errorf("%s=%q: left out is %v, %q, want %q where it does not run", LongRuns, value, s.left, s.why, want)
		}
	}
}

// TestNight leaves cases to the night, and names them, unless its tests are asked for.
func TestNight(t *testing.T) {
	for value, runs := range map[string]bool{"2": !testing.Short(), "1": false, "": false} {
		t.Setenv(LongRuns, value)
		s := &skipped{}
		got := Night(s, "all of them", "some")
		if want := AtNight + "all of them; some"; got != runs || s.left || runs && s.why != "" || !runs && s.why != want {
			t.Errorf("%s=%q: runs is %v, %q, want %q where it does not run", LongRuns, value, got, s.why, want)
		}
	}
}

// quiet says nothing: what this test leaves out is nothing that a run of the tests has left out.
type quiet struct{ testing.TB }

func (quiet) Log(...any)          {}
func (quiet) Logf(string, ...any) {}

// TestShare gives every case its turn, some to each test, and all of them to long ones.
func TestShare(t *testing.T) {
	for _, long := range []string{"", "1"} {
		t.Setenv(LongRuns, long)
		had := map[int]int{}
		for name := range 20 {
			t.Run(fmt.Sprint(name), func(t *testing.T) {
				all := []int{0, 1, 2, 3, 4, 5, 6, 7, 8}
				share := Share(quiet{t}, "cases", 3, all)
				for _, i := range share {
					had[i]++
				}
				whole := long == "1" && !testing.Short()
				require.That(t, len(share) == 9 && whole || len(share) == 3 && !whole, "%d of 9 cases", len(share))
				require.That(t, all[8] == 8 && Part(quiet{t}, "cases", 9, 3) == len(share), "the cases are %v", all)
			})
		}
		require.That(t, len(had) == 9, "%d of 9 cases had their turn in 20 tests", len(had))
	}
}
