package kprobes

import (
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// Words are read as they are written, and nothing else is.
func TestWords(t *testing.T) {
	for k := Kprobe; k <= Jprobe; k++ {
		if got, err := ParseKind(k.String()); got != k || err != nil {
			t.Errorf("%s is read as %s, %v", k, got, err)
		}
	}
	for m := Gone; m <= Optimized; m++ {
		if got, err := ParseMode(m.String()); got != m || err != nil {
			t.Errorf("%s is read as %s, %v", m, got, err)
		}
	}
	for _, s := range []string{"", "none", "uprobe", "Kprobe", "breakpoint", "step"} {
		if k, err := ParseKind(s); err == nil || !strings.Contains(err.Error(), `"kretprobe"`) {
			t.Errorf("kind %q is read as %s, %v", s, k, err)
		}
		if m, err := ParseMode(s); m != noMode || err == nil || !strings.Contains(err.Error(), `"stepped"`) {
			t.Errorf("mode %q is read as %s, %v", s, m, err)
		}
	}
	require.That(t, Kind(9).String() == "kind(9)" && Mode(9).String() == "mode(9)", "numbers without words are %s and %s", Kind(9), Mode(9))
}
