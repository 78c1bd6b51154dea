package kprobes

import "slices"

// area hands out pieces of one size from a range of the image, the lowest free one first.
type area struct {
	span Span
	size uint64
	used []bool
}

func newArea(span Span, size int) area {
	return area{span: span, size: uint64(size), used: make([]bool, (span.End-span.Start)/uint64(size))}
}

// take returns the address of a free piece.
func (a *area) take() (addr uint64, ok bool) {
	i := slices.Index(a.used, false)
	if i < 0 {
		return 0, false
	}
	a.used[i] = true
	return a.span.Start + uint64(i)*a.size, true
}

// give frees a piece; 0 is no piece.
func (a *area) give(addr uint64) {
	if addr != 0 {
		a.used[(addr-a.span.Start)/a.size] = false
	}
}
