package x86

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
	"kprobesim/internal/require"
)

// seeds are encodings that once needed thought: prefixes in odd places, forms that are not modelled,
// instructions that end the block, and truncated ones.
var seeds = codesOf("seeds")

// FuzzDecode sends bytes through the decoder and the block builder.
func FuzzDecode(f *testing.F) {
	for _, s := range seeds {
		f.Add(s, uint16(0))
		f.Add(s, uint16(0xffd))
	}
	var cs []*CPU
	for _, isa := range modes() {
		cs = append(cs, newWorld(f, isa, cpus.Window, nil).cpu())
	}
	f.Fuzz(func(t *testing.T, code []byte, at uint16) {
		for _, c := range cs {
			fuzzBlock(t, c, code[:min(len(code), 4096)], uint64(at&0xfff))
		}
	})
}

// fuzzBlock decodes code at an offset from where a CPU begins.
func fuzzBlock(t *testing.T, c *CPU, code []byte, off uint64) {
	pc, pa := c.PC()+off, testCode-kernelMap+off
	c.Memory.Write(pa, code)
	for at := 0; at < len(code); {
		in, op := c.Decode(code[at:], pc+uint64(at))
		require.Need(t, in.Exec != nil && op.Len != 0 && op.Len <= maxInsn && op.Len == in.Operands.len && int(op.Class) < classes+len(priceForms), "%+v %+v", in, op)
		at += int(op.Len)
	}
	c.R[rRIP] = pc
	c.Steps(1, 1<<60)
	if text, n := disasm(c.mode())(code, pc, nil); len(code) > 0 && (text == "" || n < 1) {
		t.Fatalf("disassembled as %q of %d bytes", text, n)
	}
}

// FuzzRun executes bytes as code with registers drawn from seed, in kernel or user mode, among mapped,
// read-only and absent pages.
func FuzzRun(f *testing.F) {
	for i, s := range seeds {
		f.Add(s, uint64(i))
		f.Add(append([]byte{0x68, 2, 1, 0, 0, 0x9d}, s...), uint64(i)<<8|3)
	}
	f.Fuzz(func(t *testing.T, code []byte, seed uint64) {
		for _, isa := range modes() {
			w := newWorld(t, isa, []string{cpus.Window, cpus.Throughput}[seed&1], nil)
			fuzzPages(w, code[:min(len(code), 0x1800)])
			c := w.cpu()
			fuzzState(w, c, seed)
			fuzzRun(t, c)
		}
	})
}

func fuzzRun(t *testing.T, c *CPU) {
	cpustest.RunOn(t, c)
	if n := c.Counts.Instructions; n > 4*60*2000 {
		t.Fatalf("%d instructions in so little time", n)
	}
	for i, v := range c.R[:r15+1] {
		require.Need(t, v&^c.AddrMask == 0, "register %d holds %#x", i, v)
	}
}

const fuzzVA = 0x40000000

// fuzzPages maps code twice, data, and a stack, with gaps.
func fuzzPages(w *world, code []byte) {
	w.gates(func(v int) (uint64, uint8) { return fuzzVA + uint64(v)*16, uint8(v & 1) })
	w.mem.Write(0x800000, code)
	rights := uint64(ptePresent | pteUser)
	w.mapPage(fuzzVA, 0x800000|rights|pteWrite)
	w.mapPage(fuzzVA+0x1000, 0x801000|rights)
	w.mapPage(fuzzVA+0x3000, 0x800000|rights|pteWrite|pteNX)
	w.mapPage(fuzzVA+0x4000, 0x805000|rights|pteWrite)
	w.mapPage(fuzzVA+0x5000, 0xf00000000|rights|pteWrite) // nobody answers there
}

// fuzzState draws registers, many of them addresses of mapped pages.
func fuzzState(w *world, c *CPU, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range 16 {
		c.R[i] = value(r)
		if r.IntN(2) == 0 {
			c.R[i] = fuzzVA + r.Uint64N(0x6000)
		}
		if c.R[i] &= c.AddrMask; i >= w.isa.Bits/4&^7 {
			c.R[i] = 0
		}
	}
	if seed&2 != 0 {
		w.user(c)
	}
	c.segBase[segGS] = fuzzVA
	c.setFlags(r.Uint64()&(arith|flagDF|flagIF)|flagOne, ^uint64(0))
	c.R[rsp] = fuzzVA + 0x4800
	c.R[rRIP] = fuzzVA + binary.LittleEndian.Uint64(le64(seed))>>2&0xf
	if seed&4 != 0 {
		w.irq.queue = []uint8{0x30, 0x31}
		c.Interrupt()
	}
}
