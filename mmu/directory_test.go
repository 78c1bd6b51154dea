package mmu

import (
	"fmt"
	"strings"
	"testing"

	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// caches is the set of lines of one CPU, beside a directory.
type caches struct {
	lines  map[uint32]bool // that it holds, and whether it may write them
	events []string
}

func (c *caches) DropLine(line uint32) {
	delete(c.lines, line)
	c.events = append(c.events, "drop")
}

func (c *caches) ShareLine(line uint32) {
	c.lines[line] = false
	c.events = append(c.events, "share")
}

func newCaches(n int) (*Directory, []*caches) {
	d := NewDirectory(n)
	all := make([]*caches, n)
	for i := range all {
		all[i] = &caches{lines: map[uint32]bool{}}
		d.Attach(i, all[i])
	}
	return d, all
}

// TestMESI walks through the transitions: the state of a line in CPU 0 and CPU 1 before, a request of
// CPU 0, what it leads to, and the states after it.
func TestMESI(t *testing.T) {
	supplies := map[Supply]string{Quiet: "-", Fill: "fill", Transfer: "transfer", Upgrade: "upgrade"}
	for _, row := range []string{
		"II read  fill     EI", "II write fill     MI", "II evict -        II",
		"IS read  fill     SS", "IS write fill     MI",
		"IE read  transfer SS", "IE write transfer MI",
		"IM read  transfer SS", "IM write transfer MI",
		"SI read  -        SI", "SI write upgrade  MI", "SI evict -        II",
		"SS read  -        SS", "SS write upgrade  MI", "SS evict -        IS",
		"EI read  -        EI", "EI write -        MI", "EI evict -        II",
		"MI read  -        MI", "MI write -        MI", "MI evict -        II",
	} {
		f := strings.Fields(row)
		const line = 5000
		d, _ := newCaches(2)
		into(d, line, f[0])
		got := states(d, line)
		require.Need(t, got == f[0], "%s: begins in %s", row, got)
		s := Quiet
		switch f[1] {
		case "read":
			s = d.Read(0, line)
		case "write":
			s = d.Write(0, line)
		case "evict":
			d.Evict(0, line)
		}
		got = states(d, line)
		require.That(t, supplies[s] == f[2] && got == f[3], "%s: %s %s", row, supplies[s], got)
		require.Equal(t, states(d, line+1), "II", "%s: the next line", row)
	}
}

func states(d *Directory, line uint32) string {
	text := ""
	for cpu := range 2 {
		s := d.State(cpu, line)
		if text += s.String(); d.Owns(cpu, line) != (s == Modified) {
			text += "?"
		}
	}
	return text
}

// into brings a line into states that can be.
func into(d *Directory, line uint32, want string) {
	switch want {
	case "SI", "IS", "SS":
		d.Read(0, line)
		d.Read(1, line)
		if want == "SI" {
			d.Evict(1, line)
		} else if want == "IS" {
			d.Evict(0, line)
		}
	}
	for cpu := range 2 {
		switch want[cpu] {
		case 'E':
			d.Read(cpu, line)
		case 'M':
			d.Write(cpu, line)
		}
	}
}

// TestOccupy lets transfers of a line follow each other, while transfers of other lines overlap.
func TestOccupy(t *testing.T) {
	d := NewDirectory(2)
	for i, x := range []struct {
		line    uint32
		now, is clock.Ticks
	}{{7, 100, 50}, {7, 100, 100}, {8, 100, 50}, {7, 190, 60}, {7, 1000, 50}} {
		require.Equal(t, d.Occupy(x.line, x.now, 50), x.is, "request %d for line %d takes", i, x.line)
	}
}

// TestDirectoryIsExact compares a directory with the lines that caches really hold, over a long random
// history, for every size of the sets of CPUs.
func TestDirectoryIsExact(t *testing.T) {
	for _, n := range []int{1, 2, 64, 65, 256} {
		d, all := newCaches(n)
		seed := uint32(n)
		random := func(n int) int {
			seed = seed*1664525 + 1013904223
			return int(seed>>8) % n
		}
		for i := range 20000 {
			cpu, line := random(n), uint32(4090+random(12))
			c := all[cpu]
			switch random(5) {
			case 0, 1:
				if d.Read(cpu, line) != Quiet {
					c.lines[line] = false
				}
			case 2, 3:
				if s := d.Write(cpu, line); s == Quiet && d.State(cpu, line) != Modified {
					t.Fatalf("%d CPUs, step %d: a quiet write leaves %v", n, i, d.State(cpu, line))
				}
				c.lines[line] = true
			case 4:
				d.Evict(cpu, line)
				delete(c.lines, line)
			}
			err := agree(d, all, line)
			require.Need(t, err == nil, "%d CPUs, step %d: %v", n, i, err)
		}
	}
}

// agree checks one line: who holds it, and that a line which somebody may write is nobody else's.
func agree(d *Directory, all []*caches, line uint32) error {
	holders, alone := 0, 0
	for cpu, c := range all {
		s := d.State(cpu, line)
		writable, held := c.lines[line]
		if held != (s != Invalid) || writable != (s == Modified) {
			return fmt.Errorf("cpu %d: line %d is %v, held %v, writable %v", cpu, line, s, held, writable)
		}
		if held {
			holders++
		}
		if s == Exclusive || s == Modified {
			alone++
		}
	}
	if alone > 1 || alone == 1 && holders > 1 {
		return fmt.Errorf("line %d: %d have it alone, %d have it", line, alone, holders)
	}
	return nil
}

func TestCheckLines(t *testing.T) {
	require.That(t, CheckLines(CacheConfig{Line: 64}, CacheConfig{Line: 128}) != nil, "lines of 128 bytes are accepted")
	if err := CheckLines(CacheConfig{Line: 64}, CacheConfig{Line: 64}, CacheConfig{}); err != nil { // there is no third level
		t.Error(err)
	}
}

// TestBring holds what Bring says against a cache of two ways and one set.
func TestBring(t *testing.T) {
	c := NewCache(CacheConfig{Size: 128, Ways: 2, Line: 64, Latency: 1})
	for i, x := range []struct {
		line uint32
		hit  bool
		gone uint32
	}{{10, false, 0}, {11, false, 0}, {11, true, 0}, {12, false, 11}, {11, true, 0}, {10, false, 13}} {
		hit, gone := c.Bring(x.line)
		require.That(t, hit == x.hit && gone == x.gone, "step %d, line %d: hit %v, gone %d", i, x.line, hit, gone)
		require.That(t, c.Has(x.line), "step %d: line %d is not there", i, x.line)
	}
}
