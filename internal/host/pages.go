package host

import "fmt"

// Pages hands out memory for the RAM of machines. It lies outside the heap of the runtime: that would clear each piece
// it hands out again, so that the host would have to give every page of it, and most of a guest's pages are never
// touched. Pages that nothing may touch stand at both sides, so that a wrong access ends the program in place of
// changing it. Where the host has no such memory the heap has to do.
type Pages struct {
	given [][]byte
}

// guard is the number of bytes at each side that nothing may touch, a multiple of any page's.
const guard = 1 << 16

// Zeroed returns so many bytes, all zero. They are there until Free.
func (p *Pages) Zeroed(size int) []byte {
	all, ok := mapped(guard + (size+guard-1)&^(guard-1) + guard)
	if !ok {
		return make([]byte, size)
	}
	p.given = append(p.given, all)
	return all[guard : guard+size : guard+size]
}

// Free gives everything back. An access afterwards ends the program.
func (p *Pages) Free() error {
	for _, b := range p.given {
		if err := unmap(b); err != nil {
			return fmt.Errorf("giving %d bytes back to the host: %w", len(b), err)
		}
	}
	p.given = nil
	return nil
}
