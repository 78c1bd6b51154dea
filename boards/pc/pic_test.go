package pc

import "testing"

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

// step is one thing done to the controllers. What it gives is compared with want.
type step struct {
	do   string
	n    uint8
	want int
}

const none = -1

// run does a step: raise and lower an input, the acknowledge's vector, whether the line is up, ports.
func (p *pics) run(s step) int {
	defer p.connect()
	switch s.do {
	case "raise":
		p.set(s.n, true)
	case "lower":
		p.set(s.n, false)
	case "ack":
		return int(p.acknowledge())
	case "line":
		if p.pending() {
			return 1
		}
		return 0
	case "master": // OCW2 and OCW3
		p[0].store(0, s.n)
	case "slave":
		p[1].store(0, s.n)
	case "mask master":
		p[0].store(1, s.n)
	case "mask slave":
		p[1].store(1, s.n)
	case "read master":
		return int(p[0].load(uint16(s.n)))
	case "read slave":
		return int(p[1].load(uint16(s.n)))
	}
	return none
}

// TestPIC holds sequences that the datasheet describes.
func TestPIC(t *testing.T) {
	for name, steps := range map[string][]step{
		"fully nested": {
			{"raise", 4, none},
			{"line", 0, 1},
			{"ack", 0, 0x34},
			{"line", 0, 0},
			{"raise", 5, none},
			{"line", 0, 0},
			{"raise", 1, none},
			{"line", 0, 1},
			{"ack", 0, 0x31},
			{"master", 0x0b, none},
			{"read master", 0, 0x12},
			{"master", 0x20, none},
			{"line", 0, 0},
			{"master", 0x20, none},
			{"ack", 0, 0x35},
		},
		"an edge makes one request": {
			{"raise", 3, none},
			{"ack", 0, 0x33},
			{"master", 0x63, none},
			{"line", 0, 0},
			{"lower", 3, none},
			{"raise", 3, none},
			{"line", 0, 1},
		},
		"masked": {
			{"mask master", 0x08, none},
			{"raise", 3, none},
			{"line", 0, 0},
			{"read master", 1, 8},
			{"read master", 0, 8},
			{"mask master", 0, none},
			{"ack", 0, 0x33},
		},
		"spurious": {
			{"raise", 3, none},
			{"lower", 3, none},
			{"line", 0, 0},
			{"ack", 0, 0x37},
			{"master", 0x0b, none},
			{"read master", 0, 0},
		},
		"cascade": {
			{"raise", 12, none},
			{"ack", 0, 0x3c},
			{"master", 0x0b, none},
			{"read master", 0, 4},
			{"slave", 0x0b, none},
			{"read slave", 0, 0x10},
			{"raise", 8, none},
			{"line", 0, 0}, // nested under input 2
			{"slave", 0x64, none},
			{"master", 0x62, none},
			{"ack", 0, 0x38},
		},
		"spurious of the second": {
			{"raise", 9, none},
			{"mask slave", 0xff, none},
			{"line", 0, 0},
			{"mask slave", 0, none},
			{"line", 0, 1},
		},
		"rotation": {
			{"raise", 2 + 1, none}, {"ack", 0, 0x33}, {"master", 0xa0, none}, // input 3 is the lowest now
			{"lower", 3, none}, {"raise", 3, none}, {"raise", 4, none}, {"ack", 0, 0x34},
		},
		"set priority": {
			{"master", 0xc4, none}, {"raise", 1, none}, {"raise", 6, none}, {"ack", 0, 0x36}, {"master", 0x20, none}, {"ack", 0, 0x31},
		},
		"special mask": {
			{"raise", 1, none},
			{"ack", 0, 0x31},
			{"raise", 5, none},
			{"line", 0, 0},
			{"mask master", 2, none},
			{"line", 0, 0},
			{"master", 0x68, none},
			{"line", 0, 1},
			{"master", 0x48, none},
			{"line", 0, 0},
		},
		"poll": {
			{"raise", 6, none},
			{"master", 0x0c, none},
			{"read master", 0, 0x86},
			{"master", 0x0b, none},
			{"read master", 0, 0x40},
			{"master", 0x0c, none},
			{"read master", 0, 0},
		},
	} {
		p := newPICs()
		for i, s := range steps {
			if got := p.run(s); got != s.want {
				t.Errorf("%s, step %d, %s %#x: %#x, want %#x", name, i, s.do, s.n, got, s.want)
			}
		}
	}
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
	if p.pending() {
		t.Error("an input that was up before is a request")
	}
	p.set(3, false)
	p.set(3, true)
	if v := p.acknowledge(); v != 0x43 || p[0].isr != 0 {
		t.Errorf("vector %#x, in service %#x; want 0x43 that has ended by itself", v, p[0].isr)
	}
	p[0].store(0, 0x1a) // levels, one controller, no fourth word
	p[0].store(1, 0x50)
	if v := p.acknowledge(); v != 0x53 || p[0].auto || p[0].word != 0 {
		t.Errorf("vector %#x by level, want 0x53", v)
	}
	p[0].store(0, 0x20)
	if !p.pending() {
		t.Error("a level that stays is no request after the end")
	}
}
