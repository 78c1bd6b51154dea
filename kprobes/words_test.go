package kprobes

import (
	"fmt"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// Words are read as they are written, and nothing else is.
func TestWords(t *testing.T) {
	for k := Kprobe; k <= Jprobe; k++ {
		got, err := ParseKind(k.String())
		require.That(t, got == k && err == nil, "%s is read as %s, %v", k, got, err)
	}
	for m := Gone; m <= Ftrace; m++ {
		got, err := ParseMode(m.String())
		require.That(t, got == m && err == nil, "%s is read as %s, %v", m, got, err)
	}
	for _, s := range []string{"", "none", "uprobe", "Kprobe", "breakpoint", "step"} {
		k, err := ParseKind(s)
		require.That(t, err != nil && strings.Contains(err.Error(), `"kretprobe"`), "kind %q is read as %s, %v", s, k, err)
		m, err := ParseMode(s)
		require.That(t, m == noMode && err != nil && strings.Contains(err.Error(), `"stepped"`), "mode %q is read as %s, %v", s, m, err)
	}
	for n := range uint8(20) {
		require.Equal(t, Kind(n).String() == fmt.Sprintf("kind(%d)", n), Kind(n) > Jprobe, "number %d is no kind, which reads %s", n, Kind(n))
		require.Equal(t, Mode(n).String() == fmt.Sprintf("mode(%d)", n), Mode(n) > Ftrace, "number %d is no mode, which reads %s", n, Mode(n))
	}
}
