package host

import "fmt"

// Pages hands out memory for the RAM of machines. It lies outside the heap of the runtime: that would clear each piece
// it hands out again, so that the host would have to give every page of it, and most of a guest's pages are never
// touched. Where the host has no such memory the heap has to do.
type Pages struct {
	given [][]byte
}

// Zeroed returns so many bytes, all zero. They are there until Free.
func (p *Pages) Zeroed(size int) []byte {
	b, ok := mapped(size)
	if !ok {
		return make([]byte, size)
	}
	p.given = append(p.given, b)
	return b
}

// Free gives everything back. Whoever looks at it afterwards ends the program.
func (p *Pages) Free() error {
	for _, b := range p.given {
		if err := unmap(b); err != nil {
			return fmt.Errorf("giving %d bytes back to the host: %w", len(b), err)
		}
	}
	p.given = nil
	return nil
}
