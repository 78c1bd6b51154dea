package clock

import (
	"testing"

	"kprobesim/internal/require"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Ticks
		ok   bool
	}{
		{"14", 840, true},
		{"1.5", 90, true},
		{"1/3", 20, true},
		{"0", 0, true},
		{"1/7", 0, false},
		{"-1", 0, false},
		{"many", 0, false},
		{"1e40", 0, false},
	} {
		got, err := Parse(c.in)
		require.That(t, (err == nil) == c.ok && got == c.want, "Parse(%q) = %d, %v", c.in, got, err)
	}
}

func TestCyclesRoundDown(t *testing.T) {
	for _, c := range []struct {
		in   Ticks
		want int64
	}{{0, 0}, {59, 0}, {60, 1}, {119, 1}, {-1, -1}, {-60, -1}, {-61, -2}} {
		got := c.in.Cycles()
		require.That(t, got == c.want, "%d ticks are %d cycles, want %d", c.in, got, c.want)
	}
	if FromCycles(3) != 180 {
		t.Errorf("3 cycles are %d ticks", FromCycles(3))
	}
}
