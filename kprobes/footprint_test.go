package kprobes

import "testing"

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
		if at, ok := p.take(); !ok || at != want {
			t.Errorf("slot %#x, %v, want %#x", at, ok, want)
		}
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
	if at, ok := tiny.take(); ok {
		t.Errorf("a page without room for a slot gave %#x", at)
	}
}

// Every probe has a structure and a slot. Probes that share an address have an aggregate and one slot, and a return
// probe has instances with its data.
func TestFootprint(t *testing.T) { eachKernel(t, holdFootprint) }

func holdFootprint(t *testing.T, image string) {
	g := newGuest(t, image, plain())
	slot := int64(g.k.arch.SlotSize)
	footprint := func(ps ...*Probe) Footprint {
		f, err := g.k.Footprint(ps...)
		g.do(err)
		return f
	}
	if f := footprint(); f != (Footprint{}) {
		t.Errorf("without probes: %+v", f)
	}
	p := g.add(Spec{Symbol: "bench_target"})
	one := footprint(p)
	if one.Probes != int64(g.k.l.p.size) || one.Slots != slot || one.Aggregates != 0 || one.Sum() != one.Probes+slot {
		t.Errorf("one probe: %+v", one)
	}
	q := g.add(Spec{Symbol: "bench_target", Kind: Kretprobe, MaxActive: 3, DataSize: 24})
	two := footprint(p, q)
	if two.Slots != slot || two.Aggregates != int64(g.k.l.o.size) || two.Instances != 3*int64(g.k.l.r.instSize+24) ||
		two.Probes != int64(g.k.l.p.size+g.k.l.r.size) {
		t.Errorf("two probes: %+v", two)
	}
}
