package arm

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"kprobesim/cpus/engine"
	"kprobesim/internal/encoding"
)

// insnBytes is the length of every instruction.
const insnBytes = 4

type (
	decoded = engine.Insn[CPU, inst]
	op      = engine.Op
)

// Whole implements engine.Decoder: a word never lies in two pages.
func (c *CPU) Whole(code []byte) bool { return len(code) >= insnBytes }

// Decode implements engine.Decoder.
func (c *CPU) Decode(code []byte, pc uint64) (decoded, op) {
	word := binary.LittleEndian.Uint32(code)
	in, op := decode(word, pc)
	if (op.Class == clSdiv || op.Class == clUdiv) && !c.divides() {
		return decodeUndefined(word, pc)
	}
	return in, op
}

// decode decodes one word. What has no meaning becomes an instruction that raises an exception when it is
// executed: decoding may run ahead of execution.
func decode(word uint32, pc uint64) (decoded, op) {
	d := newDecoder(word, pc)
	if r := find(word); r != nil {
		d.op.Class, d.op.Flags, d.exec = r.class, r.flags, r.exec
		if r.form(&d, r) {
			d.finish()
			return decoded{Exec: d.exec, Operands: d.in}, d.op
		}
	}
	return decodeUndefined(word, pc)
}

// decodeUndefined is decode of a word without meaning.
func decodeUndefined(word uint32, pc uint64) (decoded, op) {
	d := newDecoder(word, pc)
	d.op.Class, d.op.Flags, d.exec = clUndefined, engine.Ends, undefined
	d.finish()
	return decoded{Exec: d.exec, Operands: d.in}, d.op
}

func newDecoder(word uint32, pc uint64) decoder {
	return decoder{
		word: word, pc: pc, in: inst{dst: rSink, a: rZero, b: rZero, s: rZero},
		op: op{
			Len: insnBytes, Base: rZero, Index: rZero, S1: rZero, S2: rZero, S3: rZero, O1: rSink, O2: rSink,
		},
	}
}

// decoder binds the operands of one instruction.
type decoder struct {
	word   uint32
	pc     uint64
	in     inst
	op     op
	exec   exec
	branch bool // writes the program counter and is predicted: the condition is its direction
	whole  bool // has looked at the condition itself
}

// Fields of an instruction by their places: the names Rd and Rn change them.
func (d *decoder) r16() uint8             { return uint8(d.word >> 16 & 15) }
func (d *decoder) r12() uint8             { return uint8(d.word >> 12 & 15) }
func (d *decoder) r8() uint8              { return uint8(d.word >> 8 & 15) }
func (d *decoder) r0() uint8              { return uint8(d.word & 15) }
func (d *decoder) bit(n uint) bool        { return d.word>>n&1 != 0 }
func (d *decoder) cond() uint8            { return uint8(d.word >> 28) }
func (d *decoder) field(at, n uint) uint8 { return uint8(d.word >> at & (1<<n - 1)) }

// general reports whether none of the registers is the program counter, which most instructions leave
// unpredictable.
func general(regs ...uint8) bool { return !slices.Contains(regs, pcNumber) }

// waits adds a register that the instruction waits for. There is room for three; a fourth is dropped.
func (d *decoder) waits(r uint8) {
	for _, s := range []*uint8{&d.op.S1, &d.op.S2, &d.op.S3} {
		if *s == r {
			return
		}
		if *s == rZero {
			*s = r
			return
		}
	}
}

// sets adds a register that the instruction sets: two of them apart, and those behind them together.
func (d *decoder) sets(r uint8) {
	switch uint8(rSink) {
	case d.op.O1:
		d.op.O1 = r
	case d.op.O2:
		d.op.O2 = r
	default:
		d.op.Also |= 1 << r
	}
}

// finish makes the instruction conditional. It then waits for the flags and for what it may leave as it was.
func (d *decoder) finish() {
	cond := d.cond()
	if cond >= condAL || d.whole {
		return
	}
	d.waits(rFlags)
	if d.op.O1 < rZero {
		d.waits(d.op.O1)
	}
	if d.branch {
		d.exec = branchWhen(cond, d.exec)
		return
	}
	d.exec = when(cond, d.exec)
}

// when makes a function conditional.
func when(cond uint8, f exec) exec {
	return func(c *CPU, in *inst) {
		if c.holds(cond) {
			f(c, in)
		}
	}
}

// branchWhen is when for what writes the program counter: the direction is predicted too.
func branchWhen(cond uint8, f exec) exec {
	return func(c *CPU, in *inst) {
		taken := c.holds(cond)
		c.Conditional(taken, 0)
		if taken {
			c.Counts.Branches-- // f counts it
			f(c, in)
		}
	}
}

// row is an instruction: its encoding as the manual draws it, how its operands are bound, its function, its
// class and flags. In the encoding 0 and 1 are fixed bits, and letters are fields; one of 28 bits has a
// condition before it.
type row struct {
	name  string
	bits  string
	form  func(*decoder, *row) bool
	exec  exec
	class uint8
	flags uint16
	mask  uint32
	value uint32
}

// parse reads the encoding.
func (r *row) parse() {
	var n int
	if r.mask, r.value, n = encoding.Bits(r.bits); n != 28 && n != 32 {
		panic("arm: the encoding of " + r.name + " has the wrong length")
	}
}

func (r *row) matches(word uint32) bool { return word&r.mask == r.value }

// unconditional reports that the row is in the space without conditions.
func (r *row) unconditional() bool { return r.mask>>28 == 15 }

// index finds the rows of a word by its bits 20 to 27 and whether it has a condition, the most specific
// first.
var index = buildIndex(rows)

func indexOf(word uint32) int {
	at := int(word >> 20 & 0xff)
	if word>>28 == condNone {
		at += 256
	}
	return at
}

func buildIndex(rows []*row) [512][]*row {
	var out [512][]*row
	for at := range out {
		word, mask := uint32(at&255)<<20, uint32(0xff)<<20
		for _, r := range rows {
			if r.unconditional() == (at >= 256) && (word^r.value)&r.mask&mask == 0 {
				out[at] = append(out[at], r)
			}
		}
		slices.SortStableFunc(out[at], func(a, b *row) int { return bits.OnesCount32(b.mask) - bits.OnesCount32(a.mask) })
	}
	return out
}

// find returns the row of a word, or nil.
func find(word uint32) *row {
	for _, r := range index[indexOf(word)] {
		if r.matches(word) {
			return r
		}
	}
	return nil
}
