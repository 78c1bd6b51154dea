package kprobes

import "slices"

// pool hands out slots of one size from a range of the image, the lowest free one first.
// In the kernel such pages are allocated when they are needed. Here they are a fixed range near
// the text, and a full one is ENOMEM or RuleNoSlot. That order makes addresses the same in every
// run.
type pool struct {
	span Span
	size uint64
	used []bool
}

func newPool(span Span, size int) pool {
	return pool{span: span, size: uint64(size), used: make([]bool, (span.End-span.Start)/uint64(size))}
}

// take returns the address of a free slot.
func (p *pool) take() (addr uint64, ok bool) {
	i := slices.Index(p.used, false)
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
