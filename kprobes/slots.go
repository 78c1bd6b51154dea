package kprobes

import "slices"

// pool hands out slots of one size, the lowest free one of a range of the image and then of pages from the
// heap, which it takes when it needs them.
// In the kernel all of them are such pages. A range near the text comes first, so that addresses of a few
// probes are the same in every run and the cycles in their slots are booked on a phase. Pages are kept.
// The search begins at one slot and goes round, as if earlier probes had left the slots before it in use.
type pool struct {
	spans []Span
	size  uint64
	used  []bool
	first int                 // where the search begins
	grow  func() (Span, bool) // nil: there are no pages
}

// newPool makes a pool whose search passes over a number of slots, which begins again at the end of the range.
func newPool(span Span, size int, over uint64, grow func() (Span, bool)) pool {
	p := pool{size: uint64(size), grow: grow}
	p.add(span)
	if len(p.used) > 0 {
		p.first = int(over % uint64(len(p.used)))
	}
	return p
}

// add makes another range part of the pool.
func (p *pool) add(s Span) {
	p.spans = append(p.spans, s)
	p.used = append(p.used, make([]bool, p.room(s))...)
}

// room is the number of slots in a range.
func (p *pool) room(s Span) uint64 { return (s.End - s.Start) / p.size }

// take returns the address of a free slot; false when there is neither one nor a page for more.
func (p *pool) take() (addr uint64, ok bool) {
	i := slices.Index(p.used[p.first:], false) + p.first
	if i < p.first {
		i = slices.Index(p.used[:p.first], false)
	}
	if i < 0 {
		i = len(p.used)
		if !p.extend() {
			return 0, false
		}
	}
	p.used[i] = true
	n := uint64(i)
	for _, s := range p.spans {
		if n < p.room(s) {
			return s.Start + n*p.size, true
		}
		n -= p.room(s)
	}
	return 0, false // cannot be: every slot lies in a range
}

// extend adds a page with room for slots.
func (p *pool) extend() bool {
	if p.grow == nil {
		return false
	}
	page, ok := p.grow()
	if !ok || p.room(page) == 0 {
		return false
	}
	p.add(page)
	return true
}

// give frees a slot; 0 is no slot.
func (p *pool) give(addr uint64) {
	before := uint64(0)
	for _, s := range p.spans {
		if s.Contains(addr) {
			p.used[before+(addr-s.Start)/p.size] = false
			return
		}
		before += p.room(s)
	}
}

// taken is the number of slots that are in use.
func (p *pool) taken() (n int64) {
	for _, u := range p.used {
		if u {
			n++
		}
	}
	return n
}

// slotPage is the size of the pages that pools take, as of the kernel's lists of slots.
const slotPage = 4096

// page takes a page from the heap for code that lies near the text.
func (k *Kprobes) page() (Span, bool) {
	at, err := k.m.g.Alloc(slotPage, slotPage)
	if err != nil {
		return Span{}, false
	}
	if near, ok := k.m.g.Near(at); ok {
		return Span{near, near + slotPage}, true
	}
	k.m.free(at)
	return Span{}, false
}
