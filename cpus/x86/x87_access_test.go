package x86

import (
	"bytes"
	"testing"

	"kprobesim/cpus/float"
	"kprobesim/internal/require"
)

// x87Accesses are the instructions of x87 whose operands have sizes of their own, and two with ordinary ones. An address
// follows each.
var x87Accesses = []struct {
	name   string
	code   []byte
	size   uint64
	stores bool
	waits  bool // delivers the exception of an instruction before it
}{
	{"fstp m80", []byte{0xdb, 0x3d}, 10, true, true},
	{"fld m80", []byte{0xdb, 0x2d}, 10, false, true},
	{"fbstp", []byte{0xdf, 0x35}, 10, true, true},
	{"fbld", []byte{0xdf, 0x25}, 10, false, true},
	{"fnstenv", []byte{0xd9, 0x35}, 28, true, false},
	{"fldenv", []byte{0xd9, 0x25}, 28, false, true},
	{"fnsave", []byte{0xdd, 0x35}, 108, true, false},
	{"frstor", []byte{0xdd, 0x25}, 108, false, true},
	{"fnstenv of 16 bits", []byte{0x66, 0xd9, 0x35}, 14, true, false},
	{"frstor of 16 bits", []byte{0x66, 0xdd, 0x25}, 94, false, true},
	{"fistp m16", []byte{0xdf, 0x1d}, 2, true, true},
	{"fldcw", []byte{0xd9, 0x2d}, 2, false, true},
	{"fxsave", []byte{0x0f, 0xae, 0x05}, 512, true, false},
	{"fxrstor", []byte{0x0f, 0xae, 0x0d}, 512, false, false},
	{"xsave", []byte{0x0f, 0xae, 0x25}, areaSize, true, false},
	{"xrstor", []byte{0x0f, 0xae, 0x2d}, areaSize, false, false},
}

// TestX87AccessIsRefused has operands that a segment or a page does not allow, in every state of the unit that makes a
// difference. The exception of the access comes before one of a number and behind #NM and any that waits, and neither the
// unit nor memory has changed. An EPYC answers alike in code of 32 bits, but for CR2, which is the last byte of an image there.
func TestX87AccessIsRefused(t *testing.T) {
	const user, none = 0x40000000, -1
	invalid := uint16(float.Invalid)
	for _, x := range x87Accesses {
		for _, unit := range []struct {
			name    string
			change  func(c *CPU)
			pending bool
		}{
			{"one number", func(c *CPU) { c.fpu.push(vec{1 << 63, 0x3fff}) }, false},
			{"empty", func(*CPU) {}, false},
			{"empty, which is delivered", func(c *CPU) { c.fpu.control &^= invalid }, false},
			{"too large for an integer, which is delivered", func(c *CPU) {
				c.fpu.control &^= invalid
				c.fpu.push(vec{1 << 63, 0x4100})
			}, false},
			{"an exception waits", func(c *CPU) {
				c.fpu.control &^= invalid
				c.fpu.status |= invalid
			}, true},
			{"of another task", func(c *CPU) { c.cr0 |= cr0TS }, false},
		} {
			for _, place := range []struct {
				name   string
				sel    uint64
				kind   uint64
				limit  uint64 // of the segment
				page   bool   // the second half of the operand has no page
				vector int
			}{
				{"null segment", 0, 0, 0, false, vecGP},
				{"a byte less", freeSel, 0x93, x.size - 2, false, vecGP},
				{"all of it", freeSel, 0x93, x.size - 1, false, none},
				{"read-only", freeSel, 0x91, x.size - 1, false, map[bool]int{true: vecGP, false: none}[x.stores]},
				{"the end of a page", freeSel, 0x93, 0x1000, false, none},
				{"two pages", freeSel, 0x93, 0xfff, true, vecPF},
			} {
				at := uint64(0)
				if place.limit == 0x1000 {
					at = 0x1000 - x.size
				}
				if place.page {
					at = (0x1000 - x.size/2) &^ 63 // an image of fxsave is aligned, and an area of xsave
					if x.size/2 < 16 {
						at = 0x1000 - x.size/2
					}
					place.limit = 0xffff
				}
				// mov %eax,%fs; the instruction; hlt
				w, c := startIn(t, ISA32(), join([]byte{0x8e, 0xe0, 0x64}, x.code, le32(uint32(at)), []byte{0xf4})...)
				w.mapUser(user, 0x400000, 0x1000, pteWrite)
				w.store(w.at(worldGDT)+freeSel, describe(place.kind, 4, user, place.limit))
				c.managesState()
				c.fpu.reset()
				unit.change(c)
				c.R[rax] = place.sel
				before, memory := c.fpu, bytes.Clone(w.mem.Bytes(0x400000, 0x1000))
				want := place.vector
				switch {
				case c.cr0&cr0TS != 0:
					want = vecNMx87
				case unit.pending && x.waits:
					want = vecMF
				}
				halt(t, c)
				got := int(c.PC() - 1 - w.code(handlers))
				if got < 0 || got >= 64 {
					got = none
				}
				require.That(t, got == want, "%s, %s, %s: vector %d, want %d", x.name, unit.name, place.name, got, want)
				if want != none {
					require.That(t, c.fpu == before && bytes.Equal(memory, w.mem.Bytes(0x400000, 0x1000)), "%s, %s, %s: something has changed: %+v, was %+v",
						x.name, unit.name, place.name, c.fpu, before)
				}
			}
		}
	}
}

// TestRegistersStayBehindEnvironments loads images whose stack begins at each register. Registers stay where they are behind
// fldenv, and come in the order of the stack with frstor (SDM vol. 1, 8.1.10 and figure 8-9).
func TestRegistersStayBehindEnvironments(t *testing.T) {
	for _, x := range []struct {
		code []byte
		word uint64
		all  bool
	}{{[]byte{0xd9, 0x25}, 4, false}, {[]byte{0x66, 0xd9, 0x25}, 2, false}, {[]byte{0xdd, 0x25}, 4, true}, {[]byte{0x66, 0xdd, 0x25}, 2, true}} {
		for was := range uint16(8) {
			for top := range uint16(8) {
				w, c := startIn(t, ISA32(), join(x.code, le32(0x40000000), []byte{0xf4})...)
				w.mapUser(0x40000000, 0x400000, 0x1000, pteWrite)
				c.managesState()
				c.fpu.reset()
				c.fpu.setTop(was)
				for i := range uint16(8) {
					c.fpu.st[i] = vec{uint64((was + i) & 7), 0x3fff} // by its place
				}
				m := w.mem.Raw()[0x400000:]
				for i := range m[:108] {
					m[i] = 0xa5
				}
				m[x.word], m[x.word+1], m[2*x.word], m[2*x.word+1] = 0, uint8(top<<3), 0, 0
				for i := range uint64(8) {
					m[7*x.word+10*i] = uint8(i)
				}
				halt(t, c)
				for i := range uint16(8) {
					want := vec{uint64((top + i) & 7), 0x3fff}
					if x.all {
						want = vec{uint64(i) | 0xa5a5a5a5a5a5a500, 0xa5a5}
					}
					require.That(t, c.fpu.top() == top && c.fpu.tags == 0xff && c.fpu.st[i] == want, "%x from top %d to %d: register %d is %x at top %d, tags %x",
						x.code, was, top, i, c.fpu.st[i], c.fpu.top(), c.fpu.tags)
				}
			}
		}
	}
}
