package kinds_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
)

// holdKnown wants all that was observed at a point to be as before, where the update of the kernel has a list in testdata, by the name of
// its release. Mirrors have the latest update alone, so a later one is held by nothing but the other tests; with -update it gets a list.
// A module with empty handlers is built by the compiler that is there, so points with one are in no list.
func holdKnown(t *testing.T, p *schema.Plan, pt *schema.Point, m *kinds.Measurement) {
	t.Helper()
	if pt.Probe.Linux.Handler == schema.LinuxEmpty {
		return
	}
	release, _, _ := strings.Cut(pt.Linux.Kernel.Release, " ")
	if release == "" { // kernels of ARM do not tell
		release = fmt.Sprintf("arm-%.4x", sha256.Sum256(pt.Linux.Kernel.File))
	}
	file := filepath.Join("testdata", "linux-"+release+".txt")
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) && !exptest.Updating() {
		t.Logf("%s is not there: this update of the kernel is held by no list", file)
		return
	}
	key := p.Name + " " + strings.Join(slices.Concat(p.Overrides, []string{pt.Name}), " ") + ": "
	of := fmt.Sprint(m.Whole, m.Base, m.Probed, m.Single, m.First, m.Taken, m.Accounts, m.Console, m.Notes)
	line := fmt.Sprintf("%s%+v, the rest %.4x", key, m.Counts, sha256.Sum256([]byte(of)))
	for _, q := range m.Quantities {
		line += fmt.Sprintf(", %s %d/%d %s", q.Metric, q.Num, q.Den, q.Unit)
	}
	if exptest.Updating() {
		lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(string(b)), "\n"), func(l string) bool { return l == "" || strings.HasPrefix(l, key) })
		lines = append(lines, line)
		slices.Sort(lines)
		require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644))
	}
	require.Among(t, file, line)
}
