package pc

import (
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// newCounter is a counter with a control word and a count that are written at clock 0.
func newCounter(t *testing.T, control uint8, n uint16) *counter {
	t.Helper()
	c := &counter{gate: true}
	require.NoError(t, c.control(control))
	for i, v := range []uint8{uint8(n), uint8(n >> 8)} {
		if c.access>>i&1 != 0 {
			c.write(v, 0)
		}
	}
	return c
}

// TestPITModes holds outputs and counts by clock. The count is loaded one clock behind its write.
func TestPITModes(t *testing.T) {
	for _, x := range []struct {
		name    string
		control uint8
		n       uint16
		out     string // for clocks 0, 1, ...
		counts  []uint16
	}{
		{"mode 0", 0x30, 4, "_____----", []uint16{4, 4, 3, 2, 1, 0, 0xffff, 0xfffe}},
		{"mode 2", 0x34, 3, "---_--_--_", []uint16{3, 3, 2, 1, 3, 2, 1, 3}},
		{"mode 3, even", 0x36, 4, "---__--__--", []uint16{4, 4, 2, 4, 2, 4, 2}},
		{"mode 3, odd", 0x36, 5, "----__---__", []uint16{4, 4, 2, 0, 4, 2, 4}},
		{"mode 4", 0x38, 3, "----_---", []uint16{3, 3, 2, 1, 0, 0xffff}},
		{"BCD", 0x31, 0x1000, "_____", []uint16{0x1000, 0x1000, 0x0999, 0x0998}},
		{"low byte", 0x10, 3, "____--", []uint16{3, 3, 2, 1, 0}},
		{"high byte", 0x20, 0x100, "_____", []uint16{0x100, 0x100, 0xff}},
	} {
		c := newCounter(t, x.control, x.n)
		var out strings.Builder
		for i := range int64(len(x.out)) {
			out.WriteByte("_-"[boolIndex(c.out(i))])
		}
		var counts []uint16
		for i := range int64(len(x.counts)) {
			counts = append(counts, c.count(i))
		}
		require.That(t, out.String() == x.out && slices.Equal(counts, x.counts), "%s:\n out    %s\n want   %s\n counts %#x\n want   %#x", x.name, out.String(), x.out, counts, x.counts)
		edges(t, x.name, c, x.out)
	}
}

func boolIndex(b bool) int {
	if b {
		return 1
	}
	return 0
}

// edges holds that every change of the output is announced.
func edges(t *testing.T, name string, c *counter, out string) {
	t.Helper()
	for i := 1; i < len(out); i++ {
		pulse := c.mode == rate || c.mode == strobe
		if out[i] != out[i-1] && !(pulse && out[i] == '_') && c.edge(int64(i-1)) != int64(i) {
			t.Errorf("%s: at clock %d the next edge is %d, want %d", name, i-1, c.edge(int64(i-1)), i)
		}
	}
}

// TestPITReload holds that a new count of a running period begins at its end, of a square wave at the end of half.
func TestPITReload(t *testing.T) {
	for _, x := range []struct {
		name    string
		control uint8
		out     string
	}{
		{"mode 2", 0x14, "----_-_-_-_"},
		{"mode 3", 0x16, "---_-_-_-_"},
	} {
		c := newCounter(t, x.control, 4)
		c.write(2, 1)
		var out strings.Builder
		for i := range int64(len(x.out)) {
			out.WriteByte("_-"[boolIndex(c.out(i))])
		}
		require.Equal(t, out.String(), x.out, "%s", x.name)
	}
}

// TestPITGate holds that a low gate stops a count, and that a rising one begins a period anew.
func TestPITGate(t *testing.T) {
	c := newCounter(t, 0x30, 10)
	c.setGate(false, 4)
	got := c.count(100)
	require.That(t, got == 7 && !c.out(100) && c.edge(100) == 0, "a stopped counter stands at %d", got)
	c.setGate(true, 100)
	if got := c.count(107); got != 0 || !c.out(107) {
		t.Errorf("7 clocks after it went on the counter stands at %d", got)
	}
	c = newCounter(t, 0x34, 10)
	c.setGate(false, 4)
	c.setGate(true, 50)
	if got := c.count(51); got != 10 || !c.out(51) {
		t.Errorf("a period begins at %d", got)
	}
}

// TestPITReads holds the ways to read: by turns, latched, and latched with the status.
func TestPITReads(t *testing.T) {
	c := newCounter(t, 0x34, 0x1234)
	read := func(n int, now int64) (out []uint8) {
		for range n {
			out = append(out, c.read(now))
		}
		return out
	}
	got := read(2, 1)
	require.That(t, slices.Equal(got, []uint8{0x34, 0x12}), "by turns: %#x", got)
	c.hold(true, false, 1)
	c.hold(true, false, 0x10) // the first latch stays
	if got := read(3, 0x35); !slices.Equal(got, []uint8{0x34, 0x12, 0x00}) {
		t.Errorf("latched: %#x", got)
	}
	c.readHigh = false
	c.hold(true, true, 1)
	if got := read(3, 1); !slices.Equal(got, []uint8{0xb4, 0x34, 0x12}) {
		t.Errorf("status and count: %#x", got)
	}
	require.NoError(t, c.control(0x34))
	c.hold(false, true, 2)
	require.Equal(t, c.read(2), 0xf4, "status before a count")
	for _, word := range []uint8{0x32, 0x3a} {
		require.That(t, c.control(word) != nil, "control word %#x is taken", word)
	}
}

// TestOscillator holds that counting and its inverse agree, and that nothing is lost over an hour.
func TestOscillator(t *testing.T) {
	o := oscillator{pitHz, uint64(2_330_000_000 * clock.PerCycle)}
	for _, n := range []int64{0, 1, 2, 1193181, 1193182, 1193183, 4_295_455_200} {
		at := o.time(n)
		if o.count(at) != n || n > 0 && o.count(at-1) != n-1 {
			t.Errorf("count %d begins at %d, where it is %d", n, at, o.count(at))
		}
	}
	require.Equal(t, o.time(pitHz*3600), clock.Ticks(2_330_000_000*3600)*clock.PerCycle, "an hour ends at")
}
