package engine

import (
	"fmt"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

// paged is a toy that translates by a table, and keeps translations in its TLBs.
type paged struct {
	*toy
	table      map[uint64]uint64 // physical pages by virtual ones
	data, code int               // translations that were asked for
}

// newPaged has code at 0x1000, and data from 0x8000 on.
func newPaged(t *testing.T) *paged {
	p := &paged{newToy(t, toyConfig(cpus.Window, 64), 1<<20, 0x1000), map[uint64]uint64{}, 0, 0}
	p.isa, p.translator = p, p
	for page := range uint64(64) {
		p.table[page<<pageShift] = page << pageShift
	}
	toyWrite(p.toy, 0x1000, [4]byte{toyLoad, 1, 20, 0}, [4]byte{toyLoad, 2, 21, 0}, [4]byte{toyHalt})
	toyWrite(p.toy, 0x2000, [4]byte{toyHalt})
	p.R[20], p.R[21] = 0x8000, 0x9000
	for page := range uint64(8) {
		put(p.ram, 0x8000+page<<pageShift, 8+page)
	}
	return p
}

func (p *paged) find(t *mmu.TLB, va uint64) uint64 {
	e := t.Find(va)
	if e == nil {
		e = t.Insert(mmu.Page{VA: va &^ pageMask, PA: p.table[va&^pageMask], Shift: pageShift})
	}
	return e.Offset(va)
}

func (p *paged) DataAddress(va uint64, _ bool) (uint64, bool) {
	p.data++
	return p.find(p.DTLB, va), true
}

func (p *paged) CodeAddress(va uint64) (uint64, bool) {
	p.code++
	return p.find(p.ITLB, va), true
}

// run executes the code and returns how many translations of data and code it asked for.
func (p *paged) run() (data, code int) {
	p.data, p.code = 0, 0
	p.goFrom(0x1000)
	return p.data, p.code
}

// TestDroppedTranslations changes the table, and drops the translation of one address. What is loaded and executed is as the table
// says now. TLBs that had it not keep what is in front of them.
func TestDroppedTranslations(t *testing.T) {
	for _, x := range []struct {
		name       string
		drop       uint64
		change     func(p *paged)
		data, code int
		loaded     uint64
	}{
		{"nothing", 0x8000, nil, 0, 0, 8},
		{"a page of data", 0x8000, func(p *paged) { p.table[0x8000] = 0xa000 }, 2, 0, 10},
		{"a page of code", 0x1000, func(p *paged) { p.table[0x1000] = 0x2000 }, 0, 1, 7},
		{"a page that nobody has", 0x5000, func(*paged) {}, 0, 0, 8},
		{"another one, when the TLB of data has lost some", 0x5000, func(p *paged) { p.DTLB.Drop(0x8000); p.table[0x8000] = 0xb000 }, 2, 0, 11},
		{"another one, when the TLB of code has lost some", 0x5000, func(p *paged) { p.ITLB.Drop(0x1000); p.table[0x1000] = 0x2000 }, 0, 1, 7},
	} {
		p := newPaged(t)
		p.run()
		if x.change != nil {
			x.change(p)
			p.DropTranslation(x.drop)
		}
		p.R[1] = 7
		data, code := p.run()
		require.That(t, p.R[1] == x.loaded && data == x.data && code == x.code, "%s: loaded is %d, %d and %d translations of data and code", x.name, p.R[1], data, code)
	}
}

// TestRefills has the TLB of data replace a translation, of which its micro-TLB is told.
func TestRefills(t *testing.T) {
	p := newPaged(t)
	p.run()
	p.Refilled()
	data, _ := p.run()
	require.Equal(t, data, 0, "nothing was replaced, and translations are asked for:")
	p.DTLB.Drop(0x8000)
	p.table[0x8000] = 0xa000
	p.Refilled()
	data, _ = p.run()
	require.That(t, data == 2 && p.R[1] == 10, "an entry was dropped: %d translations, loaded %d", data, p.R[1])
}

// refusesCode is a toy that refuses to translate code from an address on. Its handler halts.
type refusesCode struct {
	*toy
	from uint64
}

func (p *refusesCode) CodeAddress(va uint64) (uint64, bool) {
	if va >= p.from {
		p.Stop |= StopFault
		return 0, false
	}
	return p.toy.CodeAddress(va)
}

func (p *refusesCode) Deliver() {
	p.Stop &^= StopFault
	p.Halted = true
}

// TestRefusedCode comes to code whose address is refused, or has no memory: by a branch, from the instruction before, and by an instruction of
// which a part lies there. Nothing of it is executed.
func TestRefusedCode(t *testing.T) {
	add := [4]byte{toyAdd, 1, 1, 1}
	for _, x := range []struct {
		from  uint64 // refused
		start uint64
		code  [][4]byte
		added uint64
		at    uint64
	}{
		{0x3000, 0x2000, [][4]byte{add, jump(0x3fe)}, 1, 0x3000},
		{0x3000, 0x2ff8, [][4]byte{add, add, add}, 2, 0x3000},
		{0x3000, 0x2ffa, [][4]byte{add, add}, 1, 0x2ffe},
		{0x3000, 0x2ffe, [][4]byte{add}, 0, 0x2ffe},
		{soon, 1<<20 - 8, [][4]byte{add, add}, 2, 1 << 20},
		{soon, 1<<20 - 8, [][4]byte{add, jump(9)}, 1, 1<<20 + 36},
	} {
		c := newToy(t, toyConfig(cpus.Window, 64), 1<<20, x.start, x.code...)
		c.isa = &refusesCode{c, x.from}
		for range 2 {
			c.R[1], c.R[PC], c.Halted = 0, x.start, false
			exit := c.Run(soon)
			want := cpus.Halted
			if x.from == soon {
				want = cpus.Shutdown
			}
			require.That(t, exit.Reason == want && c.R[1] == x.added && c.R[PC] == x.at, "from %#x: %v at %#x, added %d", x.start, exit, c.R[PC], c.R[1])
		}
	}
}

// TestGenerationsOfTranslations forgets translations as often as a tag can tell apart, and more: none is found again.
func TestGenerationsOfTranslations(t *testing.T) {
	for _, n := range []int{1, 4094, 4095, 4096, 8190} {
		c := newToy(t, toyConfig(cpus.Window, 64), 1<<20, 0x1000)
		put(c.ram, 0x18000, uint64(5))
		Load[uint64](&c.Core, 0x8000)
		c.offset = 0x10000
		for range n {
			c.ForgetData()
		}
		v, _ := Load[uint64](&c.Core, 0x8000)
		require.Equal(t, v, 5, "after %d generations a load finds", n)
	}
}

// TestModesOfDecoding has code decoded anew for another mode, also where another CPU has decoded it.
func TestModesOfDecoding(t *testing.T) {
	for _, n := range []int{1, 2} {
		c := cachedToys(t, toyConfig(cpus.Window, 64), n)
		toyWrite(c, 0x1000, adding(1)...)
		for i, x := range []struct {
			mode uint8
			want int
		}{{0, 2}, {0, 0}, {1, 2}, {1, 0}, {0, 2}} {
			c.SwitchMode(x.mode)
			c.decoded = 0
			c.goFrom(0x1000)
			require.Equal(t, c.decoded, x.want, "%d CPUs, run %d, mode %d: decoded are", n, i, x.mode)
		}
	}
}

// TestVersionsOfCode has a probe armed and disarmed in turns by a store or from outside. CPUs of one machine decode each of its forms once, and
// execute the present one.
func TestVersionsOfCode(t *testing.T) {
	for _, at := range []uint64{0x1000, 0x103c, 0x103e, 0x107e} { // the last two reach into the next granule, where another block lies
		for _, stored := range []bool{false, true} {
			a := cachedToys(t, toyConfig(cpus.Window, 64), 2)
			b := toyBeside(a.Memory, toyConfig(cpus.Window, 64), 1, a, a.dir)
			decoded := func() (n int) {
				for _, c := range []*toy{a, b} {
					n += c.decoded
					c.decoded = 0
				}
				return n
			}
			write := func(n uint8) { // the last byte of the instruction
				if stored {
					Store(&b.Core, at+3, n)
				} else {
					a.Memory.Write(at+3, []byte{n})
				}
			}
			toyWrite(a, at, adding(1)...)
			for i := range 6 {
				form := uint8(1 + i&1)
				write(form)
				for _, c := range []*toy{a, b} {
					c.R[1] = 0
					c.goFrom(at)
					require.Equal(t, c.R[1], uint64(form), "at %#x, stored %t, form %d: CPU %d adds", at, stored, form, c.Num)
				}
				n := decoded()
				require.That(t, (n == 0) == (i > 1), "at %#x, stored %t, form %d the time %d: decoded are %d", at, stored, form, i/2+1, n)
			}
		}
	}
}

// TestEveryByteOfCode changes each byte of an instruction that ends a block, and may lie in two granules or pages, where no other code is. CPUs
// execute what is there, after a store of any of them and after a write from outside.
func TestEveryByteOfCode(t *testing.T) {
	const target = 4 + 0x400
	for _, n := range []int{1, 2} {
		for _, at := range []uint64{0x1000, 0x103d, 0x103e, 0x103f, 0x1ffd, 0x1ffe, 0x1fff} {
			c := cachedToys(t, toyConfig(cpus.Window, 64), n)
			all := []*toy{c}
			if n == 2 {
				all = append(all, toyBeside(c.Memory, toyConfig(cpus.Window, 64), 1, c, c.dir))
			}
			for _, to := range []uint64{0, 0x40, 0x400} {
				toyWrite(c, at+target+to, [4]byte{toyHalt})
			}
			plain := count(1, 0x100)
			toyWrite(c, at, plain)
			holds := func(what string, r uint8, to uint64) {
				for _, c := range all {
					for range 2 {
						c.R[1], c.R[4] = 8, 8
						c.goFrom(at)
						require.That(t, (r == 0 || c.R[r] == 7) && c.R[PC] == at+to+4, "%d CPUs, at %#x, %s: register %d is %d at %#x", n, at, what, r, c.R[r], c.R[PC])
					}
				}
			}
			for i, x := range [4]struct {
				to     uint8
				r      uint8
				target uint64
			}{{toyHalt, 0, 0}, {4, 4, target}, {0x10, 1, target + 0x40}, {2, 1, target + 0x400}} {
				for _, w := range append(all, nil) {
					for _, form := range []uint8{plain[i], x.to} {
						if w != nil {
							Store(&w.Core, at+uint64(i), form)
						} else {
							c.Memory.Write(at+uint64(i), []byte{form})
						}
						if what := fmt.Sprintf("byte %d is %d", i, form); form == plain[i] {
							holds(what, 1, target)
						} else {
							holds(what, x.r, x.target)
						}
					}
					c.Memory.Write(at+uint64(i), plain[i:i+1])
				}
			}
		}
	}
}

// TestVersionsOfTwoGranules changes the part of a jump in the granule behind it, where no other code is decoded. The jump leads to one of two
// additions.
func TestVersionsOfTwoGranules(t *testing.T) {
	c := cachedToys(t, toyConfig(cpus.Window, 64), 2)
	toyWrite(c, 0x1022, adding(1)...)
	toyWrite(c, 0x1032, adding(2)...)
	toyWrite(c, 0x103e, jump(-8))
	for range 4 {
		for by, want := range []uint64{1, 2} {
			Store(&c.Core, 0x1040, uint8(4*by-8))
			c.R[1] = 0
			c.goFrom(0x103e)
			require.Equal(t, c.R[1], want, "a jump by %d leads to an addition of", 4*by-8)
		}
	}
}

// TestVersionsAreBounded writes more forms of an instruction than are kept. Each is executed as it is.
func TestVersionsAreBounded(t *testing.T) {
	c := cachedToys(t, toyConfig(cpus.Window, 64), 2)
	for range 3 {
		for n := range uint8(40) {
			toyWrite(c, 0x1000, adding(n)...)
			c.R[1] = 0
			c.goFrom(0x1000)
			require.Equal(t, c.R[1], uint64(n), "a form adds")
		}
	}
}
