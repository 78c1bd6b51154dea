package arm

import (
	"math/bits"

	"kprobesim/cpus/engine"
)

// Binding of operands in memory. The rows of loads and stores are made from lists, because each access has the
// same modes of addressing.

// memoryAccess is one kind of load or store.
type memoryAccess struct {
	name  string
	load  loader // or nil
	store storer
	size  uint64
	extra string // bits 4 to 7 of forms for halfwords and signed numbers (ARM ARM, A5.2.8)
	byte  string // else bit 22
}

var memoryAccesses = []memoryAccess{
	{name: "ldr", load: load32, size: 4, byte: "0"},
	{name: "str", store: store32, size: 4, byte: "0"},
	{name: "ldrb", load: load8, size: 1, byte: "1"},
	{name: "strb", store: store8, size: 1, byte: "1"},
	{name: "ldrh", load: load16, size: 2, extra: "1011"},
	{name: "strh", store: store16, size: 2, extra: "1011"},
	{name: "ldrsb", load: loadS8, size: 1, extra: "1101"},
	{name: "ldrsh", load: loadS16, size: 2, extra: "1111"},
}

// addressing are the modes by the bits P and W.
var addressing = []struct {
	suffix, p, w string
	mode         int
	user         bool
}{
	{"", "1", "0", atOffset, false},
	{"!", "1", "1", preIndexed, false},
	{" post", "0", "0", postIndexed, false},
	{"t", "0", "1", postIndexed, true},
}

// memoryRows are the rows of loads and stores of one register.
func memoryRows() []*row {
	var out []*row
	for i := range memoryAccesses {
		k := &memoryAccesses[i]
		l := "0"
		if k.load != nil {
			l = "1"
		}
		for _, a := range addressing {
			constant := "010" + a.p + "u" + k.byte + a.w + l + "nnnnttttiiiiiiiiiiii"
			register := "011" + a.p + "u" + k.byte + a.w + l + "nnnnttttiiiiikk0mmmm"
			if k.extra != "" {
				constant = "000" + a.p + "u1" + a.w + l + "nnnnttttiiii" + k.extra + "iiii"
				register = "000" + a.p + "u0" + a.w + l + "nnnntttt0000" + k.extra + "mmmm"
			}
			out = append(out,
				&row{name: k.name + a.suffix, bits: constant, form: formMemory(k, a.mode, a.user, false)},
				&row{name: k.name + a.suffix + " index", bits: register, form: formMemory(k, a.mode, a.user, true)})
		}
	}
	return out
}

func formMemory(k *memoryAccess, mode int, user, index bool) func(*decoder, *row) bool {
	return func(d *decoder, _ *row) bool {
		rn, rt := d.r16(), d.r12()
		if mode != atOffset && (rn == pcNumber || rn == rt) || rt == pcNumber && (k.size != 4 || user) {
			return false
		}
		if k.load != nil {
			d.loads(k, mode, rn, rt)
		} else {
			d.stores(k, mode, rt)
		}
		if user {
			d.exec = asUser(d.exec, k.size, k.store != nil)
		}
		d.updates(mode, rn)
		if index {
			return d.index(k, rn)
		}
		d.constantOffset(k, rn)
		return true
	}
}

func (d *decoder) loads(k *memoryAccess, mode int, rn, rt uint8) {
	d.op.Class, d.op.Flags = clLoad, engine.Loads
	d.exec, d.in.dst = loading(k.load, mode), rt
	if rt == pcNumber {
		d.in.dst = rTarget
		d.branch = true
		d.op.Flags |= endsBranch
		d.exec = toPC(d.exec, rn == rSP && mode == postIndexed)
		return
	}
	d.op.O1 = rt
}

func (d *decoder) stores(k *memoryAccess, mode int, rt uint8) {
	d.op.Class, d.op.Flags = clStore, engine.Stores
	d.exec, d.in.s = storing(k.store, mode), rt
	if rt == pcNumber {
		d.in.s = rHere
		d.exec = here(d.exec)
		return
	}
	d.op.S1 = rt
}

// updates binds what is written back.
func (d *decoder) updates(mode int, rn uint8) {
	if mode == atOffset {
		return
	}
	d.op.O2 = rn
	switch d.op.Class {
	case clLoad:
		d.op.Class = clLoadUpdate
	case clStore:
		d.op.Class = clStoreUpdate
	}
}

// base binds the base register.
func (d *decoder) base(rn uint8) {
	d.in.a = rn
	if rn == pcNumber {
		d.in.a = rHere
		d.exec = here(d.exec)
		return
	}
	d.op.Base = rn
}

// constantOffset binds a base and a constant. What lies at a distance from the instruction has a constant
// address.
func (d *decoder) constantOffset(k *memoryAccess, rn uint8) {
	v := d.word & 0xfff
	if k.extra != "" {
		v = d.word>>4&0xf0 | d.word&0xf
	}
	if !d.bit(23) {
		v = -v
	}
	d.in.imm = v
	if rn == pcNumber {
		d.in.imm += uint32(d.pc) + 8
		return
	}
	d.in.a, d.op.Base = rn, rn
}

// index binds a base and a register, which may be shifted or subtracted.
func (d *decoder) index(k *memoryAccess, rn uint8) bool {
	rm := d.r0()
	kind, n := uint8(shiftLSL), uint8(0)
	if k.extra == "" {
		kind, n = d.constantShift()
	}
	d.op.Index, d.in.b = rm, rm
	if n != 0 || !d.bit(23) {
		d.in.b = rOperand
		d.exec = indexed(d.exec, rm, kind, n, !d.bit(23))
	}
	if n != 0 {
		switch d.op.Class {
		case clLoad:
			d.op.Class = clLoadShift
		case clStore:
			d.op.Class = clStoreShift
		}
	}
	if kind == shiftRRX {
		d.waits(rFlags)
	}
	d.base(rn)
	return general(rm)
}

// indexed computes the index before f.
func indexed(f exec, rm, kind, n uint8, minus bool) exec {
	return func(c *CPU, in *inst) {
		v, _ := shift(kind, uint32(c.R[rm&63]), uint32(n), c.cf)
		if minus {
			v = -v
		}
		c.R[rOperand] = uint64(v)
		f(c, in)
	}
}

// pairRows are ldrd and strd.
func pairRows() []*row {
	var out []*row
	for _, k := range []struct {
		name, bits string
		access     func(*CPU, *inst, uint64) bool
		flags      uint16
		class      uint8
	}{
		{"ldrd", "1101", loadPair, engine.Loads, clLoad2},
		{"strd", "1111", storePair, engine.Stores, clStore2},
	} {
		for _, a := range addressing[:3] {
			form := func(index bool) func(*decoder, *row) bool {
				return func(d *decoder, _ *row) bool { return d.pair(a.mode, index) }
			}
			out = append(out,
				&row{
					name: k.name + a.suffix, bits: "000" + a.p + "u1" + a.w + "0nnnnttttiiii" + k.bits + "iiii",
					form: form(false), exec: pairing(k.access, a.mode), class: k.class, flags: k.flags,
				},
				&row{
					name: k.name + a.suffix + " index", bits: "000" + a.p + "u0" + a.w + "0nnnntttt0000" + k.bits + "mmmm",
					form: form(true), exec: pairing(k.access, a.mode), class: k.class, flags: k.flags,
				})
		}
	}
	return out
}

// pair binds an even register and its neighbour.
func (d *decoder) pair(mode int, index bool) bool {
	rn, rt, rm := d.r16(), d.r12(), d.r0()
	writes := mode != atOffset
	if rt&1 != 0 || rt == rLR || writes && (rn == pcNumber || rn == rt || rn == rt+1) {
		return false
	}
	if d.op.Flags&engine.Loads != 0 {
		if index && (rm == rt || rm == rt+1) {
			return false
		}
		d.in.dst = rt
		d.op.O1, d.op.Also = rt, 1<<(rt+1)
	} else {
		d.in.s = rt
		d.op.S1, d.op.S2 = rt, rt+1
	}
	d.updates(mode, rn)
	k := memoryAccess{extra: "x"}
	if index {
		return d.index(&k, rn)
	}
	d.constantOffset(&k, rn)
	return true
}

// multipleRows are loads and stores of several registers: by the order of addresses, with and without
// writeback, and those with user registers or a return from an exception.
func multipleRows() []*row {
	var out []*row
	for _, m := range []struct{ name, bits string }{{"da", "00"}, {"ia", "01"}, {"db", "10"}, {"ib", "11"}} {
		for _, w := range []struct{ suffix, bits string }{{"", "00"}, {"!", "01"}, {" user", "10"}} {
			list := "rrrrrrrrrrrrrrrr"
			if w.bits == "10" {
				list = "0rrrrrrrrrrrrrrr"
			}
			out = append(out,
				&row{
					name: "stm" + m.name + w.suffix, bits: "100" + m.bits + w.bits + "0 nnnn rrrrrrrrrrrrrrrr",
					form: formMultiple, exec: storeMultiple, flags: engine.Stores,
				},
				&row{
					name: "ldm" + m.name + w.suffix, bits: "100" + m.bits + w.bits + "1 nnnn" + list,
					form: formMultiple, exec: loadMultiple, flags: engine.Loads,
				})
		}
		out = append(out, &row{
			name: "ldm" + m.name + " return", bits: "100" + m.bits + "1w1 nnnn 1rrrrrrrrrrrrrrr",
			form: formMultiple, exec: loadMultipleReturn, flags: engine.Loads,
		})
	}
	return out
}

// multiClass is the class of a number of words, beside that of one load or store.
func multiClass(n int, loads bool) uint8 {
	class := uint8(clStore2)
	if loads {
		class = clLoad2
	}
	for limit := 2; limit < n; limit *= 2 {
		class++
	}
	return class
}

func formMultiple(d *decoder, _ *row) bool {
	rn, list := d.r16(), d.word&0xffff
	n := bits.OnesCount32(list)
	loads, special := d.op.Flags&engine.Loads != 0, d.bit(22)
	returns := loads && special && list>>pcNumber != 0
	if n == 0 || rn == pcNumber || special && !returns && d.bit(21) || loads && d.bit(21) && list>>rn&1 != 0 {
		return false
	}
	d.in.a, d.op.Base, d.in.imm = rn, rn, list
	d.in.sh, d.in.dst = multiBias, multiBias+uint8(n)
	if !d.bit(23) {
		d.in.sh, d.in.dst = multiBias-uint8(n), multiBias-uint8(n)
	}
	if d.bit(24) == d.bit(23) {
		d.in.sh++ // ib and da: one word higher
	}
	d.op.Class = multiClass(n, loads)
	if loads {
		d.op.Also = uint64(list &^ (1 << pcNumber))
	} else {
		d.waitsForSome(list)
	}
	if d.bit(21) {
		d.in.aux |= multiWriteback
		d.op.O2 = rn
	}
	if special && !returns {
		d.in.aux |= multiUser
	}
	if loads && list>>pcNumber != 0 {
		d.multiplePC(rn, returns)
	}
	return true
}

// waitsForSome waits for three of the registers that are stored, of which compilers compute the highest last.
func (d *decoder) waitsForSome(list uint32) {
	for list &^= 1 << pcNumber; list != 0 && d.op.S3 == rZero; {
		r := bits.Len32(list) - 1
		d.waits(uint8(r))
		list &^= 1 << r
	}
}

// multiplePC binds a load of the program counter among others.
func (d *decoder) multiplePC(rn uint8, returns bool) {
	if returns {
		d.in.aux |= multiReturn
		d.op.Class, d.op.Flags = clRfe, d.op.Flags|engine.Ends
		return
	}
	if rn == rSP && d.in.aux&multiWriteback != 0 {
		d.in.aux |= multiStack
	}
	d.branch = true
	d.op.Flags |= endsBranch
}

// formExclusiveLoad and formExclusiveStore have the size in the row's imm-free form: bits 21 and 22.
func formExclusiveLoad(d *decoder, _ *row) bool {
	d.in.aux, d.in.a, d.in.dst = d.exclusiveSize(), d.r16(), d.r12()
	d.op.Base, d.op.O1 = d.in.a, d.in.dst
	if d.in.aux == 8 {
		d.op.O2 = d.in.dst + 1
		if d.in.dst&1 != 0 || d.in.dst == rLR {
			return false
		}
	}
	return general(d.in.a, d.in.dst)
}

func (d *decoder) exclusiveSize() uint8 { return [4]uint8{4, 8, 1, 2}[d.field(21, 2)] }

func formExclusiveStore(d *decoder, _ *row) bool {
	d.in.aux, d.in.a, d.in.dst, d.in.s = d.exclusiveSize(), d.r16(), d.r12(), d.r0()
	d.op.Base, d.op.O1, d.op.S1 = d.in.a, d.in.dst, d.in.s
	last := d.in.s
	if d.in.aux == 8 {
		last++
		d.op.S2 = last
		if d.in.s&1 != 0 || d.in.s == rLR {
			return false
		}
	}
	return general(d.in.a, d.in.dst, d.in.s) && d.in.dst != d.in.a && d.in.dst != d.in.s && d.in.dst != last
}

func formSwap(d *decoder, _ *row) bool {
	d.in.a, d.in.dst, d.in.s = d.r16(), d.r12(), d.r0()
	d.op.Base, d.op.O1, d.op.S1 = d.in.a, d.in.dst, d.in.s
	return general(d.in.a, d.in.dst, d.in.s) && d.in.a != d.in.dst && d.in.a != d.in.s
}
