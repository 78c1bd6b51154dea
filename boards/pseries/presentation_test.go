package pseries

import "testing"

// TestPresentation goes through the life of interrupts: each step makes a call, with XIRR behind it.
func TestPresentation(t *testing.T) {
	c := reset
	accept := func(want uint64) func() bool { return func() bool { return c.accept() == want } }
	end := func(xirr uint64, legal bool) func() bool { return func() bool { return c.end(xirr) == legal } }
	mfrr := func(v uint8) func() bool { return func() bool { c.mfrr = v; return true } }
	cppr := func(v uint8) func() bool { return func() bool { c.cppr = v; return true } }
	for i, x := range []struct {
		do   func() bool
		xirr uint64
	}{
		{mfrr(4), 0x00000000}, // after reset nothing is accepted
		{cppr(0xff), 0xff000002},
		{cppr(4), 0x04000000}, // one of equal priority is not
		{cppr(5), 0x05000002},
		{accept(0x05000002), 0x04000000}, // works at the priority of the interrupt
		{accept(0x04000000), 0x04000000}, // nothing else waits
		{mfrr(1), 0x04000002},            // a more favored one nests
		{accept(0x04000002), 0x01000000},
		{end(0x00000002, false), 0x01000000}, // more favored than now
		{end(0x04000003, false), 0x01000000}, // no such source
		{end(0x04000000, false), 0x01000000},
		{end(0x04000002, true), 0x04000002}, // asked for all the time: it comes again
		{mfrr(0xff), 0x04000000},
		{end(0x05000002, true), 0x05000000},
	} {
		if ok := x.do(); !ok || c.xirr() != x.xirr || c.Pending() != (x.xirr&0xffffff == source) {
			t.Errorf("step %d: %v, XIRR %#x, pending %v; want %#x", i, ok, c.xirr(), c.Pending(), x.xirr)
		}
	}
}

// TestProblemState refuses calls of user mode.
func TestProblemState(t *testing.T) {
	r := registers{callXIRR}
	c := newProcessor(&partition{m: nil}, 0)
	if c.Hypercall(&r, true); r[0] != privilege || int64(r[0]) != -3 {
		t.Errorf("r3 %#x", r[0])
	}
}
