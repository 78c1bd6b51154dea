package x86

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// form is an encoding under test with what is needed to make vectors for it.
type form struct {
	name    string
	code    []byte // continues behind its last byte
	at      uint64
	undef   uint64                 // flags that the manual leaves undefined
	undefOf func(v *vector) uint64 // the same where it depends on the vector
	n       int                    // vectors
	fix     []func(v *vector)
}

// vector is the state that a form starts from.
type vector struct {
	regs  [16]uint64
	flags uint64
	mem   [sandboxSize]byte
	mask  uint64 // of addresses
	rng   *rand.Rand
}

// outcome is the state that it ends in. signal is zero or that of the fault.
type outcome struct {
	regs   [16]uint64
	flags  uint64
	signal uint64
	mem    [sandboxSize]byte
	// of a fault: the vector, the error code, CR2 and the address of the instruction
	trap, code, address, rip uint64
}

// gen collects forms; everything it draws comes from its own seeded source. In 32-bit mode forms that
// need REX are left out.
type gen struct {
	bits  int
	regs  int // general registers
	rng   *rand.Rand
	forms []*form
	next  uint64 // address of the next form
	scale int    // vectors of a usual form
	shape int
	wide  bool // the host executes no programs of 32 bits, and so has no segment for their code
	// canonical says that the host's stack pointers must be addresses in canonical form.
	canonical bool
}

func newGen(bits int, seed uint64, scale int) *gen {
	return &gen{bits: bits, regs: bits / 4 &^ 7, rng: rand.New(rand.NewPCG(seed, 0x6b70)), next: hostText + 0x2000, scale: scale}
}

// add appends a form of instructions that follow each other.
func (g *gen) add(name string, undef uint64, xs ...insn) *form {
	f := &form{name: name, at: g.next, undef: undef, n: g.scale}
	for _, x := range xs {
		if g.bits == 32 && x.rex() != 0 {
			return f
		}
		f.code = append(f.code, x.encode(f.at+uint64(len(f.code)))...)
	}
	return g.append(f)
}

// raw appends a form given as bytes.
func (g *gen) raw(name string, undef uint64, code ...byte) *form {
	f := &form{name: name, at: g.next, undef: undef, n: g.scale, code: code}
	for _, b := range code {
		if g.bits == 32 && b&0xf0 == 0x40 {
			return f
		}
		if !isPrefix(b, 32) {
			break
		}
	}
	return g.append(f)
}

func (g *gen) append(f *form) *form {
	g.forms = append(g.forms, f)
	g.next += uint64(len(f.code)) + 5 // with the jump behind it
	return f
}

func (f *form) also(fix func(v *vector)) *form {
	f.fix = append(f.fix, fix)
	return f
}

// with is the form with other code of the same length.
func (f *form) with(code []byte) *form {
	other := *f
	other.code = code
	return &other
}

// first puts a fix before the others, so that those that make addresses have the last word.
func (f *form) first(fix func(v *vector)) *form {
	f.fix = append([]func(*vector){fix}, f.fix...)
	return f
}

// times multiplies the number of vectors.
func (f *form) times(n int) *form { f.n *= n; return f }

// reg draws a register for a width; one of four byte registers is a high one when that can be encoded.
func (g *gen) reg(width int, high bool) gpr {
	if width == 1 && high && g.rng.IntN(4) == 0 {
		return gpr{n: 4 + g.rng.IntN(4), hi: true}
	}
	n := g.rng.IntN(g.regs)
	return gpr{n: n, hi: g.bits == 32 && width == 1 && n >= 4}
}

// pair draws two registers that can be encoded together: a high byte excludes REX.
func (g *gen) pair(width int) (a, b gpr) {
	a, b = g.reg(width, true), g.reg(width, true)
	if a.hi || b.hi {
		for _, r := range []*gpr{&a, &b} {
			if !r.hi {
				r.n &= 3
			}
		}
	}
	return a, b
}

const shapes = 13

// mem draws a memory operand of the next shape and the fix that points it into the sandbox, size
// bytes of which it covers. Registers in avoid are not used in it.
func (g *gen) mem(size int, avoid ...int) (*memop, func(*vector)) {
	g.shape = (g.shape + 1) % shapes
	m := &memop{base: g.other(avoid), index: -1}
	if m.base == 4 || g.shape == 3 {
		avoid = append(avoid, 4)
	}
	idx := g.other(append(avoid, m.base, 4))
	switch g.shape {
	case 1:
		m.dispBytes = 1
	case 2:
		m.dispBytes = 4
	case 3, 4, 5, 6:
		m.index, m.scale, m.dispBytes = idx, g.shape-3, []int{0, 1, 4, 1}[g.shape-3]
	case 7:
		m.base, m.index, m.scale = -1, idx, g.rng.IntN(4)
	case 8:
		m.base = -1
	case 9:
		m.base, m.rip, m.plain = -1, g.bits == 64, g.bits == 32
	case 10:
		m.base, m.seg = -1, 0x64
	case 11:
		m.seg, m.dispBytes = 0x65, 1
	case 12:
		m.seg = 0x2e // ignored in 64-bit mode, not writable in 32-bit mode
	}
	return m, g.point(m, size)
}

// other draws a register that is not in avoid.
func (g *gen) other(avoid []int) int {
	for {
		r := g.rng.IntN(g.regs)
		ok := true
		for _, a := range avoid {
			ok = ok && a != r
		}
		if ok {
			return r
		}
	}
}

// point chooses the displacement of m and returns the fix that sets its registers.
func (g *gen) point(m *memop, size int) func(*vector) {
	room := func(r *rand.Rand) uint64 { return sandboxMid - 64 + r.Uint64N(uint64(129-min(size, 64))) }
	segBase := map[byte]uint64{0x64: fsBase, 0x65: gsBase}[m.seg]
	switch {
	case m.base < 0 && m.index < 0:
		m.disp = int32(room(g.rng) - segBase)
		return func(*vector) {}
	case m.base < 0:
		// index*scale + disp: the low bits of the index are lost in the scale, so the displacement has them
		m.disp = int32(sandboxMid + uint64(g.rng.IntN(8)))
		return func(v *vector) { v.regs[m.index] = uint64(v.rng.Int64N(2*40>>m.scale) - 40>>m.scale) }
	case m.dispBytes == 1 || m.dispBytes == 0 && m.base&7 == 5:
		if m.dispBytes == 1 {
			m.disp = int32(int8(g.rng.Uint32()))
		}
	case m.dispBytes == 4:
		m.disp = int32(g.rng.Uint32())
	}
	return func(v *vector) {
		at := room(v.rng) - segBase - uint64(int64(m.disp))
		if m.index >= 0 {
			at -= v.regs[m.index] << m.scale
		}
		v.regs[m.base] = at
	}
}

// edge values that arithmetic likes to get wrong.
var edges = []uint64{
	0, 1, 2, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff,
	0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff, 0xfffffffffffffffe, 0xffffffffffffff80,
	0xffffffffffff8000, 0xffffffff80000000, 0x0f, 0x10, 0x1f, 0x20, 0x3f, 0x40,
}

func value(r *rand.Rand) uint64 {
	switch r.IntN(4) {
	case 0:
		return edges[r.IntN(len(edges))]
	case 1:
		return uint64(int64(r.Uint64()) >> r.IntN(64))
	}
	return r.Uint64()
}

// vector draws a starting state for f.
func (g *gen) vector(f *form) *vector {
	v := &vector{rng: g.rng}
	for i := range v.regs {
		v.regs[i] = value(g.rng)
	}
	v.flags = g.rng.Uint64()&arith | flagOne | flagIF
	mask := byte(0xff)
	if g.rng.IntN(3) == 0 {
		mask = 1 // many equal bytes
	}
	for i := 0; i < sandboxSize; i += 8 {
		binary.LittleEndian.PutUint64(v.mem[i:], value(g.rng))
		for j := range 8 {
			v.mem[i+j] &= mask
		}
	}
	v.mask = ^uint64(0) >> (64 - g.bits)
	for _, fix := range f.fix {
		fix(v)
	}
	for i := range v.regs {
		v.regs[i] &= v.mask
		if i >= g.regs {
			v.regs[i] = 0
		}
	}
	if g.canonical {
		v.regs[rsp] = signed48(v.regs[rsp])
	}
	return v
}

// signed48 makes an address in canonical form of any number.
func signed48(va uint64) uint64 { return uint64(int64(va<<16) >> 16) }

func (v *vector) String() string {
	s := fmt.Sprintf("flags %#x", v.flags)
	for i, r := range v.regs {
		s += fmt.Sprintf(" %s=%#x", regNames[i], r)
	}
	return s + fmt.Sprintf("\n  memory %x", v.mem)
}

// bytes is the vector as the harness reads it.
func (v *vector) bytes(target uint64) []byte {
	b := make([]byte, 0, vectorBytes)
	for _, r := range v.regs {
		b = binary.LittleEndian.AppendUint64(b, r)
	}
	b = binary.LittleEndian.AppendUint64(b, v.flags)
	b = binary.LittleEndian.AppendUint64(b, target)
	return append(b, v.mem[:]...)
}

func parseOutcome(b []byte) *outcome {
	o := &outcome{}
	for i := range o.regs {
		o.regs[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	o.flags = binary.LittleEndian.Uint64(b[128:])
	o.signal = binary.LittleEndian.Uint64(b[136:])
	for i, to := range []*uint64{&o.trap, &o.code, &o.address, &o.rip} {
		*to = binary.LittleEndian.Uint64(b[144+8*i:])
	}
	copy(o.mem[:], b[8*outcomeWords:])
	return o
}
