package kprobes

import (
	"testing"

	"kprobesim/internal/require"
)

// A pool hands out the slots of its range, then the slots of pages, each once; what is given back comes first.
func TestPoolGrows(t *testing.T) {
	pages := []Span{{0x9000, 0x9020}, {0x5000, 0x5020}}
	grow := func() (Span, bool) {
		if len(pages) == 0 {
			return Span{}, false
		}
		page := pages[0]
		pages = pages[1:]
		return page, true
	}
	p := newPool(Span{0x1000, 0x1025}, 16, 0, grow)
	for _, want := range []uint64{0x1000, 0x1010, 0x9000, 0x9010, 0x5000, 0x5010} {
		at, ok := p.take()
		require.That(t, ok && at == want, "slot %#x, %v, want %#x", at, ok, want)
	}
	if at, ok := p.take(); ok || p.taken() != 6 {
		t.Errorf("a full pool gave %#x; %d are taken", at, p.taken())
	}
	p.give(0x9010)
	p.give(0x5000)
	p.give(0)
	if at, ok := p.take(); !ok || at != 0x9010 || p.taken() != 5 {
		t.Errorf("slot %#x, %v, %d taken", at, ok, p.taken())
	}
	tiny := newPool(Span{}, 16, 0, func() (Span, bool) { return Span{0x1000, 0x1008}, true })
	at, ok := tiny.take()
	require.That(t, !ok, "a page without room for a slot gave %#x", at)
}
