package x86

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
	settings "kprobesim/internal/host"
)

var update = flag.Bool("update", false, "rewrite testdata/effects.txt")

// TestEffects decodes and executes instructions of each opcode of one and of two bytes, with and without prefixes, in each mode,
// as a user and in the kernel. Each is executed by its function, and again by code of the host where that has any.
func TestEffects(t *testing.T) {
	defer func(was bool) { settings.Code.Off = was }(settings.Code.Off)
	for _, off := range []bool{true, false} {
		settings.Code.Off = off
		effectsOf(t)
	}
}

func effectsOf(t *testing.T) {
	e, r := &cpustest.Effects{}, rand.New(rand.NewPCG(3, 1))
	for _, isa := range modes() {
		var w *world
		var c *CPU
		var begin func() // for an instruction that ends all, such as hlt
		for opcode := range 512 {
			if opcode%16 == 0 {
				w = newWorld(t, isa, cpus.Throughput, nil)
				fuzzPages(w, nil)
				c = w.cpu()
				begin = again(c)
			}
			if opcode%4 == 0 {
				e.Group(fmt.Sprintf("%s %03x", isa.Name, opcode))
			}
			for n := range uint64(48) {
				code := effectCode(r, isa.Bits, opcode)
				w.mem.Write(0x800000, code)
				begin()
				fuzzState(w, c, r.Uint64()&^7|min(n/36^1, 1)<<1)
				c.R[rRIP] = fuzzVA
				in, op := c.Decode(code, fuzzVA)
				text, _ := disasm(c.mode())(code, fuzzVA, nil)
				_, exit := c.Steps(1, 1<<60)
				e.Add(c, w.mem, 0x805000, in.Operands, op, text, exit.Reason)
			}
		}
	}
	for opcode := range byte(8) { // x87 on registers, as not every host is one to compare with
		e.Group(fmt.Sprintf("x87 %02x", 0xd8+opcode))
		w := newWorld(t, ISA64(), cpus.Throughput, nil)
		fuzzPages(w, nil)
		c := w.cpu()
		e.Of(c)
		for modrm := range 8 * 64 {
			w.mem.Write(0x800000, []byte{0xd8 + opcode, 0xc0 | byte(modrm)})
			fuzzState(w, c, 0)
			c.managesState()
			c.fpu.reset()
			c.fpu.tags, c.fpu.status = 0xff, uint16(r.Uint32())&0x7f00
			for i := range c.fpu.st {
				c.fpu.st[i] = vec{r.Uint64() | 1<<63, 0x3ff0 + uint64(r.IntN(32))<<uint(r.IntN(3)) | uint64(r.IntN(2))<<15}
			}
			c.R[rRIP] = fuzzVA
			c.Steps(1, 1<<60)
			e.Note(c.fpu)
		}
	}
	systemEffects(t, e)
	decimalEffects(t, e)
	cpustest.Machines(t, e, func(t *testing.T, n int, seed uint64) *cpustest.Rig[*CPU] { return newChurn(t, n, seed).rig })
	e.Compare(t, *update && settings.Code.Off)
}

// effectCode is an instruction of an opcode, with prefixes in a third of the cases.
func effectCode(r *rand.Rand, bits, opcode int) (code []byte) {
	if r.IntN(3) == 0 {
		code = append(code, []byte{0x66, 0xf2, 0xf3, 0xf0, 0x67, 0x65}[r.IntN(6)])
	}
	if bits == 64 && r.IntN(3) == 0 {
		code = append(code, 0x40|byte(r.IntN(16)))
	}
	if opcode >= 256 {
		code = append(code, 0x0f)
	}
	code = append(code, byte(opcode))
	for range 12 {
		code = append(code, byte(r.IntN(256)))
	}
	if r.IntN(2) == 0 { // a displacement of a byte
		code[len(code)-12] = code[len(code)-12]&^0xc0 | 0x40
	}
	return code
}
