package kprobes

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"kprobesim/image"
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

// letters is memory with letters up to an address. Behind them it has a zero, or nothing.
type letters struct {
	end   uint64
	holes bool
}

func (l letters) Load(va uint64, _ int) (uint64, error) {
	switch {
	case va < l.end:
		return 'x', nil
	case l.holes:
		return 0, errors.New("not mapped")
	}
	return 0, nil
}

func (letters) Store(uint64, int, uint64) error { return errors.ErrUnsupported }

// TestNamesInMemory reads names up to a zero, to what is not mapped, and to the longest.
func TestNamesInMemory(t *testing.T) {
	for n := range 300 {
		for _, holes := range []bool{false, true} {
			m := &memory{Access: image.Access{Memory: letters{uint64(n), holes}}}
			got := m.name(0)
			require.That(t, got == strings.Repeat("x", min(n, 128)) && (m.Err != nil) == (holes && n < 128), "%d letters, then nothing is mapped: %t: %q, %v", n, holes, got, m.Err)
		}
	}
}
