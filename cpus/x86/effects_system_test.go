package x86

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
)

// systemCode lists the instructions that systemEffects executes. They read descriptors, gates, stacks, control and model-specific
// registers. Random bytes follow each.
var systemCode = []struct {
	name string
	code []string // they take turns; memory operands are at (%rbx), numbers are in %eax and %ecx
}{
	{"iret", []string{"\xcf", "\x48\xcf", "\x66\xcf"}},
	{"far returns", []string{"\xcb", "\x48\xcb", "\x66\xcb", "\xca\x08\x00", "\x48\xca\x10\x00"}},
	{"far jumps and calls", []string{"\xff\x2b", "\xff\x1b", "\x48\xff\x2b", "\x48\xff\x1b", "\x66\xff\x2b", "\xea\x40\x00\x00\x40", "\x9a\x40\x00\x00\x40"}},
	{"interrupts", []string{"\xcd\x20", "\xcd\x03", "\xcc", "\xce", "\xf1", "\x0f\x0b", "\x0f\xff", "\xf4"}},
	{"system calls", []string{"\x0f\x34", "\x0f\x35", "\x48\x0f\x35", "\x0f\x05", "\x0f\x07", "\x48\x0f\x07"}},
	{"control registers", []string{"\x0f\x22\xc0", "\x0f\x22\xd8", "\x0f\x22\xe0", "\x0f\x20\xc0", "\x0f\x20\xd0", "\x0f\x20\xe0", "\x44\x0f\x22\xc0", "\x0f\x06", "\x0f\x01\xe0", "\x0f\x01\xf0"}},
	{"debug registers", []string{"\x0f\x23\xf8", "\x0f\x23\xc0", "\x0f\x23\xe0", "\x0f\x21\xf0", "\x0f\x21\xf8"}},
	{"registers by number", []string{"\x0f\x30", "\x0f\x30", "\x0f\x30", "\x0f\x32", "\x0f\x32", "\x0f\xa2", "\x0f\xa2", "\x0f\x33", "\x0f\x01\xd0", "\x0f\x01\xd1"}},
	{"tables", []string{"\x0f\x01\x13", "\x0f\x01\x1b", "\x0f\x01\x03", "\x0f\x01\x0b", "\x0f\x00\xd0", "\x0f\x00\xd8", "\x0f\x00\xc8", "\x0f\x00\x03"}},
	{"questions about selectors", []string{"\x0f\x02\xd1", "\x0f\x03\xd1", "\x48\x0f\x03\xd1", "\x0f\x00\xe1", "\x0f\x00\xe9", "\x63\xc8"}},
	{"segment registers", []string{"\x8e\xd8", "\x8e\xc0", "\x8e\xe0", "\x8e\xe8", "\x8e\xd0", "\x8c\xd8", "\x0f\xa1", "\x0f\xa9", "\x1f", "\x07", "\x17", "\x0f\xb2\x13", "\x0f\xb4\x13", "\xc5\x13"}},
	{"flags and ports", []string{"\x9c", "\x9d", "\x66\x9d", "\xfa", "\xfb", "\xe4\x20", "\xec", "\xee", "\x6c", "\x0f\x01\xf8", "\x0f\x31", "\x0f\x01\xf9", "\x0f\x01\xca", "\x0f\x01\xcb", "\x0f\x09", "\x0f\xae\xf0"}},
	{"states of units", []string{"\x0f\xae\x03", "\x0f\xae\x0b", "\xdd\x33", "\xdd\x23", "\xd9\x23", "\xd9\x33", "\x66\xdd\x23", "\x66\xdd\x33", "\x0f\xae\x13", "\x0f\xae\x1b", "\x9b", "\x0f\x77"}},
}

// systemNumbers are operands: numbers of leaves and of model-specific registers, and values of control registers.
var systemNumbers = []uint64{
	0, 1, 2, 3, 4, 7, 0xb, 0xd, 0x80000000, 0x80000001, 0x80000007, 0x80000008, 0x10, 0x1b, 0x174, 0x175, 0x176, 0x277, 0x1d9, 0x1db, eferSCE | eferLME | eferNXE, eferNXE, 0xfee00900,
	msrEFER, 0xc0000081, 0xc0000082, 0xc0000083, 0xc0000084, 0xc0000100, 0xc0000101, 0xc0000102, 0xc0000103,
	cr0PG | cr0PE, cr0PG | cr0PE | cr0TS | cr0WP, cr0PG | cr0PE | cr0AM | cr0NE | cr0MP, cr0PE, cr0PG | cr0NW | cr0PE, cr4PAE, cr4PAE | cr4OSFXSR | cr4PGE | cr4TSD,
	cr4PSE, 0x400, 0x155, 0xf0000000, 0x10101, 0xffff0ff0,
}

// systemEffects executes instructions of the system among descriptors, gates, stacks and registers that are seldom as kernels
// set them, in each mode, and takes what they leave of it all.
func systemEffects(t *testing.T, e *cpustest.Effects) {
	for _, isa := range modes() {
		for _, x := range systemCode {
			e.Group(isa.Name + " " + x.name)
			r := rand.New(rand.NewPCG(uint64(len(x.name)), uint64(isa.Bits)))
			w := newWorld(t, isa, cpus.Throughput, nil)
			fuzzPages(w, bytes.Repeat([]byte{0x90}, 0x1800))
			c := w.cpu()
			begin := again(c)
			for n := range 32 * len(x.code) {
				begin()
				w.unusual(c, r, n%3 == 0)
				code := append([]byte(x.code[n%len(x.code)]), le64(r.Uint64())...)
				w.mem.Write(0x800000, code)
				_, exit := c.Steps(1+r.IntN(3), 1<<60)
				e.Note([]any{
					x.name, exit.Reason, c.seg, c.segBase, c.ctl, c.cpl, c.cr0, c.cr2, c.cr3, c.cr4, c.xcr0, c.dreg, c.gdt, c.idt, c.ldt, c.tr, c.msr, c.fpu,
					c.Counts.Exceptions, c.Counts.Unmodelled, len(c.Refusals()),
				})
				e.Add(c, w.mem, 0x805000)
				for _, at := range []uint64{0x10000, 0x20000 - 0x80, 0x28000 - 0x80} { // descriptors, the stack of the TSS, and the other one
					e.Note(crc32.ChecksumIEEE(w.mem.Bytes(at, 0x80)))
				}
			}
		}
	}
}

// decimalEffects adjusts every number of a byte with every carry.
func decimalEffects(t *testing.T, e *cpustest.Effects) {
	w := newWorld(t, ISA32(), cpus.Throughput, nil)
	fuzzPages(w, nil)
	c := w.cpu()
	for _, op := range []byte{0x27, 0x2f, 0x37, 0x3f} {
		e.Group(fmt.Sprintf("decimal %02x", op))
		w.mem.Write(0x800000, []byte{op})
		e.Of(c)
		for n := range uint64(4 * 256) {
			c.setFlags(n>>8&1*flagCF|n>>9*flagAF, arith)
			c.R[rax], c.R[rRIP] = 0x1200|n&0xff, fuzzVA
			c.Steps(1, 1<<60)
			e.Note([]uint64{c.R[rax], c.flags()})
		}
	}
}

// again returns a function that has a CPU begin again.
func again(c *CPU) func() {
	begun, fpu, msr, dreg, xcr0 := c.saveForDelivery(), c.fpu, c.msr, c.dreg, c.xcr0
	tables, segments, control := [2]table{c.gdt, c.idt}, [2]segment{c.ldt, c.tr}, [4]uint64{c.cr0, c.cr2, c.cr3, c.cr4}
	return func() {
		c.fpu, c.msr, c.dreg, c.xcr0 = fpu, msr, dreg, xcr0
		c.gdt, c.idt, c.ldt, c.tr = tables[0], tables[1], segments[0], segments[1]
		c.cr0, c.cr2, c.cr3, c.cr4 = control[0], control[1], control[2], control[3]
		c.setTables()
		c.restoreAfter(&begun)
		c.fault, c.Halted, c.Stop, c.Single = fault{}, false, 0, 0
		c.holdTraps, c.nmi, c.nmiBlocked = false, false, false
		c.ForgetTranslations()
	}
}

// unusual draws descriptors, gates, a stack and registers, half of which are as usual.
func (w *world) unusual(c *CPU, r *rand.Rand, user bool) {
	one := func(of ...uint64) uint64 { return of[r.IntN(len(of))] }
	sel := func() uint64 {
		return one(0, kernelCS, kernelDS, userDS, userCS, userCS32, tssSel, 0x48, 0x50, 0x58, 0x60, 0x68, 0x70, 0x7c, 0x80, 0xfffc)&^3 | r.Uint64N(4)
	}
	w.descriptors()
	for at := uint64(0x48); at < 0x80; at += 8 {
		kind := one(0x9b, 0xfb, 0xbb, 0x9f, 0xff, 0x99, 0x93, 0xf3, 0xb3, 0x91, 0xf1, 0x97, 0x1b, 0x13, 0x82, 0x89, 0x8b, 0x8c, 0x85, 0x8e, 0x92, 0xfa)
		w.store(w.at(worldGDT)+at, describe(kind, one(0xc, 0xa, 0xe, 4, 0, 8), one(0, 0, fuzzVA), one(0xfffff, 0xfffff, 0x67, 0x20, 0)))
	}
	w.gates(func(v int) (uint64, uint8) { return fuzzVA + 0x80 + uint64(v)*16, uint8(v & 1) })
	for range 24 {
		v := one(3, 4, 6, 8, 0xa, 0xb, 0xc, 0xd, 0xe, 0x20)
		w.gate(int(v), fuzzVA+0x80+v*16, uint8(one(0, 0, 1, 2)), uint8(one(0x8e, 0xee, 0x8f, 0xef, 0xce, 0x0e, 0x85, 0x8c, 0x86)))
		if at := w.at(worldIDT) + v*uint64(w.isa.Bits/4); r.IntN(2) == 0 {
			w.store(at, w.load(at)&^0xffff0000|sel()<<16)
		}
	}
	stack := w.load(w.at(worldTSS) + 4)
	if w.isa.Bits == 32 && r.IntN(2) == 0 {
		w.store(w.at(worldTSS)+4, stack&0xffffffff|sel()<<32)
	}
	fuzzState(w, c, r.Uint64()&^7)
	if user {
		w.user(c)
	}
	c.cr0 ^= one(0, 0, 0, cr0TS, cr0EM, cr0MP|cr0TS, cr0AM, cr0NE, cr0WP)
	c.cr4 ^= one(0, 0, cr4SMAP|cr4SMEP, cr4TSD, cr4DE, cr4OSFXSR, cr4PCE|cr4OSXSAVE)
	c.setFlags(r.Uint64()&one(arith, arith|flagIF, arith|flagDF|flagIOPL, arith|flagTF, arith|flagNT, arith|flagAC|flagIOPL, flagID|flagRF), ^uint64(0))
	c.msr.sysenter = [3]uint64{sel(), w.at(worldStack), fuzzVA + 0x100}
	c.msr.star, c.msr.lstar, c.msr.fmask = sel()<<48|sel()<<32|fuzzVA+0x100, fuzzVA+0x110, r.Uint64N(1<<22)
	for i := range c.fpu.st {
		c.fpu.st[i] = vec{r.Uint64(), r.Uint64N(1 << 16)}
	}
	c.fpu.control, c.fpu.status, c.fpu.tags = uint16(r.Uint32()&0x1f3f|0x40), uint16(one(0, r.Uint64()))&^fswSummary, uint8(r.Uint32())
	c.fpu.opcode, c.fpu.ip, c.fpu.dp, c.fpu.mxcsr = uint16(r.Uint32()&0x7ff), r.Uint64(), r.Uint64(), uint32(r.Uint64()&mxcsrKnown)
	cs, ss := sel(), sel()
	if r.IntN(2) == 0 {
		pair := [][2]uint64{{userCS, userDS}, {userCS32, userDS}, {kernelCS, kernelDS}}[r.IntN(3)]
		cs, ss = pair[0], pair[1]
	}
	words := []uint64{fuzzVA + 0x40 + r.Uint64N(64), cs, r.Uint64() & (flagVM - 1), fuzzVA + 0x4700, ss, sel(), sel(), sel(), sel()}
	if r.IntN(3) == 0 { // of a far return to an outer level, which may take as much as it pops from the stack
		words = []uint64{words[0], cs, fuzzVA + 0x4700, ss, fuzzVA + 0x4700, ss, sel(), sel(), sel()}
	}
	size := one(2, 4, uint64(w.isa.Bits/8))
	for i, v := range words {
		w.mem.Write(0x805800+uint64(i)*size, le64(v)[:size]) // the stack
	}
	far := binary.LittleEndian.AppendUint64(nil, fuzzVA+0x40+r.Uint64N(64))[:size]
	w.mem.Write(0x805400, append(binary.LittleEndian.AppendUint16(far, uint16(sel())), le64(r.Uint64())...))
	for i := range uint64(0x10) {
		w.mem.Write(0x805420+8*i, le64(value(r)))
	}
	c.R[rbx], c.R[rRIP] = fuzzVA+0x4400, fuzzVA
	c.R[rax], c.R[rcx], c.R[rdx] = one(systemNumbers...), one(systemNumbers...), one(0, 0, 1, value(r)&c.AddrMask)
	if r.IntN(3) == 0 {
		c.R[rax], c.R[rcx] = sel(), sel()
	}
}
