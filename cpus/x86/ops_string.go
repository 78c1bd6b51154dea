package x86

import (
	"unsafe"

	"kprobesim/cpus"
	"kprobesim/cpus/engine"
)

// String instructions (SDM vol. 1, 7.3.9). The source is at rsi in DS or the segment of a prefix,
// the destination at rdi in ES, which no prefix changes and which is flat in both modes. Repetition
// keeps rcx, rsi and rdi current after every element, so that a fault in the middle can be taken
// and the instruction resumed. Time is that of the start plus that of each element, or of each 64 bytes where microcode
// moves lines (fast strings: Optimization Manual, 3.7.6); memory delays add up.

// stride is the signed size of an element in the direction of DF.
func stride[T width](c *CPU) uint64 {
	n := uint64(bitsOf(T(0)) / 8)
	if c.ctl&flagDF != 0 {
		return -n
	}
	return n
}

// source reads the element at rsi. aux says that its segment has a limit.
func source[T width](c *CPU, in *inst) (T, bool) {
	return element[T](c, in, c.R[rsi])
}

// element reads the operand at an offset in the segment of a string instruction. Its linear address is not cut off to
// the address size, by which shortPointers has Core.AddrMask go.
func element[T width](c *CPU, in *inst, off uint64) (v T, ok bool) {
	if in.seg == segFlat {
		return load[T](c, off)
	}
	if in.aux != 0 && !c.inside(in.seg, off, uint64(bitsOf(v)/8), false) {
		return 0, false
	}
	mask := c.AddrMask
	c.AddrMask = c.linearMask()
	v, ok = load[T](c, c.sourceAddress(in, off))
	c.AddrMask = mask
	return v, ok
}

// sourceAddress is the linear address of an offset in the segment of a string instruction.
func (c *CPU) sourceAddress(in *inst, off uint64) uint64 {
	return (off + c.segBase[in.seg&7]) & c.linearMask()
}

// linearMask has the bits of a linear address.
func (c *CPU) linearMask() uint64 {
	if c.long {
		return ^uint64(0)
	}
	return 1<<32 - 1
}

// advance moves a pointer or the count, in the width of the mode: other widths are not bound.
func (c *CPU) advance(r int, by uint64) { c.R[r] = (c.R[r] + by) & c.AddrMask }

// repeat runs one element at a time while rcx lasts; step reports whether to go on. Traps and
// watchpoints come between elements (SDM vol. 3, 17.3.1.4). Where addresses ascend and no trap is due, some may do
// several elements, up to a number, and returns how many it did. The result is false when elements are left.
func (c *CPU) repeat(in *inst, p *engine.Pace, step func() bool, some func(n uint64) uint64) (done bool) {
	if in.rep == 0 {
		step()
		return true
	}
	most := uint64(maxRepeat)
	if p.Fast {
		most = maxFast / p.Size
	}
	for n := uint64(0); c.R[rcx]&c.AddrMask != 0; n++ {
		if n == most || n > 0 && (c.ctl&flagTF != 0 || c.watchHit != 0) {
			c.suspend(in)
			return false
		}
		if some != nil && c.ctl&(flagTF|flagDF) == 0 {
			if did := some(min(c.R[rcx]&c.AddrMask, most-n)); did != 0 {
				c.R[rcx] = (c.R[rcx] - did) & c.AddrMask
				n += did - 1
				continue
			}
		}
		more := step()
		if c.Stop&engine.StopFault != 0 {
			return false
		}
		c.R[rcx] = (c.R[rcx] - 1) & c.AddrMask
		c.Repeat(p)
		if !more {
			return true
		}
	}
	return true
}

// suspend leaves a repeated instruction between two elements, so that it begins anew. Until it is done RF is set: a
// trap or an interrupt has it in its frame, and an instruction breakpoint is not taken again (SDM vol. 3, 17.3.1.1).
func (c *CPU) suspend(in *inst) {
	c.R[rRIP] -= uint64(in.len)
	if c.watchHit != 0 && c.Single == 0 {
		c.ctl |= flagRF // the trap comes next, before anything is executed
		return
	}
	c.setCtl(c.ctl | flagRF)
	c.stepResume = false // it is not completed
	c.Check |= engine.CheckState
}

// maxRepeat bounds the elements that one execution of a repeated instruction handles. Hardware
// takes interrupts between any two; here the instruction begins anew after so many, and the machine
// looks at its clock and the interrupts in between.
const maxRepeat = 4096

// maxFast is the same for a fast string, in bytes.
const maxFast = 8 * maxRepeat

// repetition has the prices of a kind of repeated instruction.
type repetition struct {
	start, short uint8 // of the instruction, and of one of few bytes
	line         uint8 // of 64 bytes of a fast string
	fast         bool  // the machine description has that price
}

// newRepetition finds the prices. A description that does not price 64 bytes has no fast strings.
func newRepetition(cfg *cpus.Config, start string, short, line uint8) repetition {
	_, fast := cfg.Classes[classNames[line]]
	return repetition{formNamed(start), short, line, fast}
}

// pace prices elements of n bytes of a string, whose addresses do or do not allow that lines are moved. A trap behind each
// element does not.
func (c *CPU) pace(r *repetition, n uint64, allowed bool) engine.Pace {
	if r.fast && allowed && c.ctl&(flagDF|flagTF) == 0 {
		return engine.Pace{Class: r.line, Fast: true, Size: n}
	}
	return engine.Pace{Class: clRepElement, Size: n}
}

// eachElement prices elements that are never moved by lines.
func eachElement() *engine.Pace { return &engine.Pace{Class: clRepElement} }

// shortString is the most bytes that fast short strings are for (Optimization Manual, 3.7.6: rep movsb of 1 to 128 bytes).
const shortString = 128

// price prices a movs or stos that is done with count elements, if it is repeated.
func (c *CPU) price(in *inst, r *repetition, p *engine.Pace, count uint64) {
	if in.rep == 0 || c.Stop&engine.StopFault != 0 {
		return
	}
	class := r.start
	if p.Size == 1 && count <= shortString {
		class = r.short
	}
	c.Reprice(r.start, class)
}

// movs, stos and lods go on as long as rcx lasts, repne as well as rep. Pointers move when both
// accesses of an element have succeeded. A string that is copied to less than a line above itself is read again where it
// was written, and so not moved by lines.
func movs[T width](c *CPU, in *inst) {
	d, count := stride[T](c), c.R[rcx]&c.AddrMask
	p := c.pace(&c.movs, uint64(bitsOf(T(0))/8), c.R[rdi]-c.sourceAddress(in, c.R[rsi]) >= engine.FastBytes)
	c.repeat(in, &p, func() bool {
		v, ok := source[T](c, in)
		if ok && store(c, c.R[rdi], v) {
			c.advance(rsi, d)
			c.advance(rdi, d)
		}
		return true
	}, func(n uint64) uint64 {
		if in.aux != 0 {
			return 0
		}
		if c.AtOnce() {
			return c.copySome(in, d, n)
		}
		n = engine.CopyElements[T](&c.Core, c.sourceAddress(in, c.R[rsi]), c.R[rdi], n, &p)
		c.advance(rsi, n*d)
		c.advance(rdi, n*d)
		return n
	})
	c.price(in, &c.movs, &p, count)
}

func stos[T width](c *CPU, in *inst) {
	d, count := stride[T](c), c.R[rcx]&c.AddrMask
	p := c.pace(&c.stos, uint64(bitsOf(T(0))/8), true)
	c.repeat(in, &p, func() bool {
		if store(c, c.R[rdi], get[T](c, rax)) {
			c.advance(rdi, d)
		}
		return true
	}, func(n uint64) uint64 {
		if c.AtOnce() {
			return fillSome(c, get[T](c, rax), d, n)
		}
		n = engine.StoreElements(&c.Core, c.R[rdi], get[T](c, rax), n, &p)
		c.advance(rdi, n*d)
		return n
	})
	c.price(in, &c.stos, &p, count)
}

func lods[T width](c *CPU, in *inst) {
	d := stride[T](c)
	c.repeat(in, eachElement(), func() bool {
		if v, ok := source[T](c, in); ok {
			put(c, rax, v)
			c.advance(rsi, d)
		}
		return true
	}, nil)
}

// inPage is how many elements of n bytes lie in the page of an address from there on, of so many.
func inPage(va, n, most uint64) uint64 { return min((0x1000-va&0xfff)/n, most) }

// fillSome is stos of the elements in one page, upwards, where no cost model looks at each.
func fillSome[T width](c *CPU, v T, n, most uint64) uint64 {
	va := c.R[rdi]
	k := inPage(va, n, most)
	p := c.Writable(va, k*n)
	if p == nil || k == 0 {
		return 0
	}
	to := unsafe.Slice((*byte)(p), k*n)
	for i := range n {
		to[i] = byte(uint64(v) >> (8 * i))
	}
	for done := n; done < k*n; done *= 2 {
		copy(to[done:], to[:done])
	}
	c.advance(rdi, k*n)
	return k
}

// copySome is movs of the elements that are in one page at both ends, likewise. A destination that begins within the
// source would be copied in turn, so it is left to the elements.
func (c *CPU) copySome(in *inst, n, most uint64) uint64 {
	va := c.sourceAddress(in, c.R[rsi])
	k := inPage(c.R[rdi], n, inPage(va, n, most))
	from, to := c.Readable(va, k*n), c.Writable(c.R[rdi], k*n)
	if k == 0 || from == nil || to == nil || uintptr(to)-uintptr(from) < uintptr(k*n) && from != to {
		return 0
	}
	copy(unsafe.Slice((*byte)(to), k*n), unsafe.Slice((*byte)(from), k*n))
	c.advance(rsi, k*n)
	c.advance(rdi, k*n)
	return k
}

// compare repeats a comparison, which ends early: repe while equal, repne while not. The flags come from the last
// comparison, but those from before when elements are left (SDM vol. 2, REP).
func (c *CPU) compare(in *inst, step func() bool) {
	res, cy, par, aux := c.res, c.cy, c.par, c.aux
	if !c.repeat(in, eachElement(), step, nil) {
		c.res, c.cy, c.par, c.aux = res, cy, par, aux
	}
}

func scas[T width](c *CPU, in *inst) {
	d := stride[T](c)
	c.compare(in, func() bool {
		v, ok := load[T](c, c.R[rdi])
		if !ok {
			return false
		}
		sub(c, get[T](c, rax), v)
		c.advance(rdi, d)
		return c.zf() == (in.rep&fRep != 0)
	})
}

func cmps[T width](c *CPU, in *inst) {
	d := stride[T](c)
	c.compare(in, func() bool {
		b, ok := load[T](c, c.R[rdi])
		if !ok {
			return false
		}
		a, ok := source[T](c, in)
		if !ok {
			return false
		}
		sub(c, a, b)
		c.advance(rsi, d)
		c.advance(rdi, d)
		return c.zf() == (in.rep&fRep != 0)
	})
}
