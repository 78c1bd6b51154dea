package kprobes

import "slices"

// pool hands out slots of one size from a range of the image, the lowest free one first.
// In the kernel such pages are allocated when they are needed. Here they are a fixed range near
// the text, and a full one is ENOMEM or RuleNoSlot. That order makes addresses the same in every
// run. The search begins at one slot and goes round, as if earlier probes had left the slots before
// it in use.
type pool struct {
	span  Span
	size  uint64
	used  []bool
	first int // where the search begins
}

// newPool makes a pool whose search passes over a number of slots, which begins again at the end.
func newPool(span Span, size int, over uint64) pool {
	p := pool{span: span, size: uint64(size), used: make([]bool, (span.End-span.Start)/uint64(size))}
	if len(p.used) > 0 {
		p.first = int(over % uint64(len(p.used)))
	}
	return p
}

// take returns the address of a free slot.
func (p *pool) take() (addr uint64, ok bool) {
	i := slices.Index(p.used[p.first:], false) + p.first
	if i < p.first {
		i = slices.Index(p.used[:p.first], false)
	}
	if i < 0 {
		return 0, false
	}
	p.used[i] = true
	return p.span.Start + uint64(i)*p.size, true
}

// give frees a slot; 0 is no slot.
func (p *pool) give(addr uint64) {
	if addr != 0 {
		p.used[(addr-p.span.Start)/p.size] = false
	}
}
