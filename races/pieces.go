package races

import (
	"fmt"
	"slices"
)

// pieces are slots or detour buffers: places for code that come and go. Whoever was in one when it
// was freed must never execute it again, not even when it holds something else by then.
type pieces struct {
	name  string
	known []piece // by address
}

type piece struct {
	start uint64
	live  bool
	life  int // how often it was taken
}

func (p *pieces) find(addr uint64) (int, bool) {
	return slices.BinarySearchFunc(p.known, addr, func(x piece, a uint64) int {
		switch {
		case x.start < a:
			return -1
		case x.start > a:
			return 1
		}
		return 0
	})
}

func (p *pieces) taken(addr uint64) {
	i, ok := p.find(addr)
	if !ok {
		p.known = slices.Insert(p.known, i, piece{start: addr})
	}
	p.known[i].live = true
	p.known[i].life++
}

func (p *pieces) freed(addr uint64) {
	if i, ok := p.find(addr); ok {
		p.known[i].live = false
	}
}

// live reports whether a piece that is in use starts at the address.
func (p *pieces) live(addr uint64) bool {
	i, ok := p.find(addr)
	return ok && p.known[i].live
}

// visit is the piece that a task executes.
type visit struct {
	start uint64
	life  int
}

// check judges the execution of an address. v is where the task was at its last instruction in a
// piece; entry says that the address is one at which pieces are entered.
func (p *pieces) check(pc uint64, v *visit) (Kind, string) {
	i, ok := p.find(pc)
	if !ok {
		i--
	}
	if i < 0 {
		return Stale, fmt.Sprintf("%#x: no %s has ever been there", pc, p.name)
	}
	x := &p.known[i]
	if !x.live {
		return Stale, fmt.Sprintf("%s at %#x, executed at +%#x, is free", p.name, x.start, pc-x.start)
	}
	if v.start == x.start && v.life != x.life && pc != x.start {
		return Stale, fmt.Sprintf("%s at %#x, executed at +%#x, was freed and taken again while the task was in it",
			p.name, x.start, pc-x.start)
	}
	v.start, v.life = x.start, x.life
	return "", ""
}
