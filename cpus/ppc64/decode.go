package ppc64

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/arch/ppc64/ppc64asm"

	"kprobesim/cpus/engine"
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
	return decode(binary.BigEndian.Uint32(code), pc)
}

// decode decodes one word. What has no meaning becomes an instruction that raises a program interrupt when
// it is executed: decoding may run ahead of execution.
func decode(word uint32, pc uint64) (decoded, op) {
	name, ok := operation(word)
	v, known := variants[name]
	if !ok || !known {
		return undefined()
	}
	d := decoder{word: word, pc: pc, rc: v.rc, oe: v.oe}
	d.in = inst{dst: rSink, a: rZero, b: rZero, s: rZero}
	d.op = op{
		Class: v.row.class, Flags: v.row.flags, Len: insnBytes, Base: rZero, Index: rZero,
		S1: rZero, S2: rZero, S3: rZero, O1: rSink, O2: rSink,
	}
	d.exec = v.row.exec
	if !v.row.form(&d, v.row) {
		return undefined()
	}
	d.finish(v.row)
	return decoded{Exec: d.exec, Operands: d.in}, d.op
}

// undefined raises an illegal-instruction program interrupt, and ends its block: nothing behind it can
// follow.
func undefined() (decoded, op) {
	in := inst{dst: rSink, a: rZero, b: rZero, s: rZero}
	return decoded{Exec: illegal, Operands: in}, op{
		Class: clUndefined, Flags: engine.Ends, Len: insnBytes, Base: rZero, Index: rZero,
		S1: rZero, S2: rZero, S3: rZero, O1: rSink, O2: rSink,
	}
}

// operation returns ppc64asm's name of a word. It decodes words alone: the prefixed instructions of
// later processors, of eight bytes, are unknown here.
func operation(word uint32) (ppc64asm.Op, bool) {
	if x, ok := supplement(word); ok {
		return x, true
	}
	x, err := ppc64asm.Decode(binary.BigEndian.AppendUint32(nil, word), binary.BigEndian)
	return x.Op, err == nil && x.Op != 0 && x.Len == insnBytes
}

// Operations that ppc64asm does not know.
const (
	opMCRXR = ppc64asm.Op(60000 + iota)
)

// supplement decodes what ppc64asm does not know: mcrxr, which later processors dropped (Book I, Move
// To/From System Register Instructions).
func supplement(word uint32) (ppc64asm.Op, bool) {
	if word>>26 == 31 && word>>1&0x3ff == 512 {
		return opMCRXR, true
	}
	return 0, false
}

// decoder binds the operands of one instruction.
type decoder struct {
	word   uint32
	pc     uint64
	rc, oe bool
	in     inst
	op     op
	exec   exec
}

// Fields of an instruction (Book I, Instruction Fields), by the manual's names.
func (d *decoder) rt() uint8  { return uint8(d.word >> 21 & 31) }
func (d *decoder) ra() uint8  { return uint8(d.word >> 16 & 31) }
func (d *decoder) rb() uint8  { return uint8(d.word >> 11 & 31) }
func (d *decoder) bf() uint8  { return uint8(d.word >> 23 & 7) }
func (d *decoder) si() uint64 { return uint64(int64(int16(d.word))) }
func (d *decoder) ui() uint64 { return uint64(uint16(d.word)) }

// raOrZero is RA of instructions for which RA = 0 means the number zero.
func (d *decoder) raOrZero() uint8 {
	if r := d.ra(); r != 0 {
		return r
	}
	return rZero
}

// spr is the number of a special-purpose register, whose halves are swapped.
func (d *decoder) spr() int { return int(d.word>>16&31 | d.word>>11&31<<5) }

// finish adds what OE and Rc mean and what the row says of the carry.
func (d *decoder) finish(r *row) {
	if r.io&ioReadCA != 0 {
		d.op.S3 = rCA
	}
	if r.io&ioSetCA != 0 {
		d.op.O2 = rCA
	}
	if r.class == clRecord { // it has no form that does not
		d.exec = recorded(d.exec)
		d.op.O2 = rCR0
	}
	if d.oe {
		d.exec = r.over
		d.op.Also |= 1 << d.op.O2
		d.op.Class, d.op.O2 = clOverflow, rXER
	}
	if d.rc { // CR0 is the second result, and the others are ready with the first
		d.exec = recorded(d.exec)
		if d.op.Class == clInt || d.op.Class == clCount {
			d.op.Class = clRecord
		}
		d.op.Also |= 1 << d.op.O2
		d.op.O2 = rCR0
	}
}

// recorded is an operation that compares its result with zero (Book I, Condition Register, field 0).
func recorded(f exec) exec {
	return func(c *CPU, in *inst) {
		f(c, in)
		c.record(c.R[in.dst&63])
	}
}

// Properties of a row beside its functions.
const (
	ioReadCA = 1 << iota
	ioSetCA
	ioRecord // has a form that records
)

// row is an instruction: how its operands are bound, its function and that of its form with OE, its
// class and flags.
type row struct {
	form  func(*decoder, *row) bool
	exec  exec
	over  exec
	class uint8
	flags uint16
	io    uint8
}

// variant is a row with the bits that the decoder's name of an instruction says of it.
type variant struct {
	row    *row
	rc, oe bool
}

// variants has a row for every name of the decoder: "add" stands for add, add., addo and addo. alike.
var variants = expand(rows)

// expand finds the names of forms. A row that promises a form which the decoder has not is a mistake of
// ours. The decoder is called once, because its first call writes a variable that later ones only read.
func expand(rows map[ppc64asm.Op]row) map[ppc64asm.Op]variant {
	if _, err := ppc64asm.Decode([]byte{0x60, 0, 0, 0}, binary.BigEndian); err != nil {
		panic(err)
	}
	byName := map[string]ppc64asm.Op{}
	for x := ppc64asm.Op(1); x < 4096; x++ {
		byName[x.String()] = x
	}
	all := map[ppc64asm.Op]variant{}
	for x, r := range rows {
		all[x] = variant{row: &r}
		for _, v := range r.forms() {
			other, ok := byName[x.String()+v.suffix()]
			if !ok {
				panic(fmt.Sprintf("ppc64: the decoder has no %s%s", x, v.suffix()))
			}
			v.row = &r
			all[other] = v
		}
	}
	return all
}

// forms lists what there is beside the plain form.
func (r *row) forms() []variant {
	var out []variant
	if r.io&ioRecord != 0 {
		out = append(out, variant{rc: true})
	}
	if r.over != nil {
		out = append(out, variant{oe: true})
	}
	if r.io&ioRecord != 0 && r.over != nil {
		out = append(out, variant{rc: true, oe: true})
	}
	return out
}

func (v variant) suffix() string {
	s := ""
	if v.oe {
		s = "o"
	}
	if v.rc {
		s += "."
	}
	return s
}
