package require

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Outcomes damages a file at every step-th byte, in four ways each, and compares the sum of all outcomes. So a check that is
// left out, or that is off by one, shows without a case of its own. KPROBESIM_OUTCOMES names a file that takes the
// outcomes, so that two runs can be compared.
func Outcomes(t testing.TB, good []byte, step int, sum string, outcome func(b []byte) string) {
	t.Helper()
	hash := sha256.New()
	all := io.Writer(hash)
	if name := os.Getenv("KPROBESIM_OUTCOMES"); name != "" {
		file := Must(os.Create(name))(t)
		defer file.Close()
		all = io.MultiWriter(hash, file)
	}
	for i := 0; i < len(good); i += step {
		for n, v := range []byte{good[i] ^ 1, good[i] ^ 0x80, good[i] + 1, ^good[i]} {
			b := bytes.Clone(good)
			b[i] = v
			_ = Must(fmt.Fprintf(all, "%d %d: %s\n", i, n, outcome(b)))(t)
		}
	}
	if got := fmt.Sprintf("%.6x", hash.Sum(nil)); got != sum {
		t.Errorf("the outcomes of damaged bytes have the sum %s, and had %s: compare them (KPROBESIM_OUTCOMES), and write the sum where each change is wanted", got, sum)
	}
}

// Lines compares a text with a file, and says which lines differ; with update it writes the file.
func Lines(t testing.TB, file, got string, update bool) {
	t.Helper()
	if update {
		NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	b, err := os.ReadFile(file)
	NoError(t, err)
	was, now := strings.Split(string(b), "\n"), strings.Split(got, "\n")
	for i := range max(len(was), len(now)) {
		if a, b := was[min(i, len(was)-1)], now[min(i, len(now)-1)]; i >= min(len(was), len(now)) || a != b {
			t.Errorf("%s:%d: %q, was %q; where each change is wanted, run with -update", file, i+1, b, a)
		}
	}
}

// Among wants the lines of a text among the lines of a file. A test of which a part ran compares so.
func Among(t testing.TB, file, got string) {
	t.Helper()
	t.Helper()
	was := strings.Split(string(Must(os.ReadFile(file))(t)), "\n")
	for line := range strings.SplitSeq(strings.TrimSuffix(got, "\n"), "\n") {
		if !slices.Contains(was, line) {
			t.Errorf("%s has no line %q; where the change is wanted, run with -update", file, line)
		}
	}
}

// Golden compares with testdata/name; on a difference the new bytes are left beside it as name.got.
func Golden(t testing.TB, update bool, name string, got []byte) {
	t.Helper()
	t.Helper()
	path := filepath.Join("testdata", name)
	if update {
		NoError(t, os.WriteFile(path, got, 0o644))
	}
	want := Must(os.ReadFile(path))(t)
	if bytes.Equal(want, got) {
		return
	}
	NoError(t, os.WriteFile(path+".got", got, 0o644))
	t.Errorf("%s differs from %s.got; look at both, then run go test -update", path, path)
}
