package pc

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// newPICs are controllers as Linux programs them: vectors 30h and 38h, nothing masked.
func newPICs() *pics {
	p := &pics{bootPIC(8), bootPIC(0x70)}
	for i, words := range [2][]uint8{{0x30, 4, 1}, {0x38, 2, 1}} {
		p[i].store(0, 0x11)
		for _, v := range words {
			p[i].store(1, v)
		}
		p[i].store(1, 0)
	}
	return p
}

// run does a step: raise and lower an input, the acknowledge's vector, whether the line is up, ports. It returns -1 for
// what gives nothing, and -2 for what there is not.
func (p *pics) run(do string, n uint8) int {
	defer p.connect()
	switch do {
	case "raise":
		p.set(n, true)
	case "lower":
		p.set(n, false)
	case "ack":
		return int(p.acknowledge())
	case "line":
		if p.pending() {
			return 1
		}
		return 0
	case "master": // OCW2 and OCW3
		p[0].store(0, n)
	case "slave":
		p[1].store(0, n)
	case "mask master":
		p[0].store(1, n)
	case "mask slave":
		p[1].store(1, n)
	case "read master":
		return int(p[0].load(uint16(n)))
	case "read slave":
		return int(p[1].load(uint16(n)))
	default:
		return -2
	}
	return -1
}

// TestPIC holds sequences that the datasheet describes: each line of testdata/pic.txt is a step, and what it gives.
func TestPIC(t *testing.T) {
	b, err := os.ReadFile("testdata/pic.txt")
	require.NoError(t, err)
	var p *pics
	steps := 0
	for i, line := range strings.Split(string(b), "\n") {
		line, _, _ = strings.Cut(line, "#")
		if !strings.HasPrefix(line, "\t") {
			p = newPICs()
			continue
		}
		do, gives, _ := strings.Cut(strings.TrimSpace(line), " = ")
		n, want := uint64(0), int64(-1)
		if at := strings.Index(do, " 0x"); at >= 0 {
			n, err = strconv.ParseUint(do[at+1:], 0, 8)
			do = do[:at]
		}
		if gives != "" && err == nil {
			want, err = strconv.ParseInt(gives, 0, 16)
		}
		got := p.run(do, uint8(n))
		require.That(t, err == nil && got == int(want), "line %d, %s: %#x, want %#x, %v", i+1, line, got, want, err)
		steps++
	}
	require.That(t, steps >= 80, "%d steps", steps)
}

// TestPICInitialization holds what the words set: automatic ends, levels, and that inputs must rise again.
func TestPICInitialization(t *testing.T) {
	p := newPICs()
	p.set(3, true)
	for _, v := range []uint8{0x40, 4, 3} {
		if p[0].word == 0 {
			p[0].store(0, 0x11)
		}
		p[0].store(1, v)
	}
	require.That(t, !p.pending(), "an input that was up before is a request")
	p.set(3, false)
	p.set(3, true)
	v := p.acknowledge()
	require.That(t, v == 0x43 && p[0].isr == 0, "vector %#x, in service %#x; want 0x43 that has ended by itself", v, p[0].isr)
	p[0].store(0, 0x1a) // levels, one controller, no fourth word
	p[0].store(1, 0x50)
	if v := p.acknowledge(); v != 0x53 || p[0].auto || p[0].word != 0 {
		t.Errorf("vector %#x by level, want 0x53", v)
	}
	p[0].store(0, 0x20)
	require.That(t, p.pending(), "a level that stays is no request after the end")
}
