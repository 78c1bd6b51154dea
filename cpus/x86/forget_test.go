package x86

import (
	"bytes"
	"encoding/binary"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
	"kprobesim/internal/state"
)

// goOn returns a CPU of another world like w that goes on from the state of c.
func goOn(t *testing.T, c *CPU, w *world) *CPU {
	t.Helper()
	d := w.cpu()
	b, err := state.Append(nil, c.State())
	for range 2 {
		if err == nil {
			_, err = state.Read(b, d.State())
		}
		copy(w.mem.Raw(), c.Memory.Raw())
		d.Restored()
	}
	require.NoError(t, err)
	return d
}

// TestStoreIntoOtherCode stores into a line that was executed before. A CPU from a snapshot, which has decoded nothing of it, stops
// where the first one stops.
func TestStoreIntoOtherCode(t *testing.T) {
	code := make([]byte, 0x50)
	copy(code, []byte{0x90, 0xeb, 0x3d}) // nop; jmp 1f
	copy(code[0x40:], []byte{
		0xc6, 0x05, 0xd9, 0xff, 0xff, 0xff, 0x90, // 1: movb $0x90,-0x27(%rip)
		0xff, 0xc0, 0xff, 0xc0, 0xff, 0xc0, 0xff, 0xc0, 0xf4, // inc %eax, four times; hlt
	})
	w := newWorld(t, ISA64(), cpus.Window, code)
	c := w.cpu()
	for c.PC() != testCode+0x40 {
		c.Run(c.Now() + 1)
	}
	d := goOn(t, c, newWorld(t, ISA64(), cpus.Window, code))
	const end = testCode + 0x50
	for _, x := range []*CPU{c, d} {
		if x.Run(x.Now() + 1); x.PC() != end || x.Now() != c.Now() {
			t.Errorf("stopped at %#x after %d ticks, want %#x and %d", x.PC(), x.Now(), uint64(end), c.Now())
		}
	}
}

// TestStoreIntoOwnLine has a store hit an instruction behind it in its block, and one in front of it: the block ends there, whatever
// was decoded before.
func TestStoreIntoOwnLine(t *testing.T) {
	for _, disp := range []int32{0, -16} { // from the instruction behind the store
		code := append(bytes.Repeat([]byte{0x90}, 10), 0xc6, 0x05) // movb $0x40,disp(%rip)
		code = binary.LittleEndian.AppendUint32(code, uint32(disp))
		code = append(code, 0x40, 0x90, 0xff, 0xc0, 0xf4) // nop, which becomes a prefix; inc %eax; hlt
		c := newWorld(t, ISA64(), cpus.Window, code).cpu()
		if c.Run(1); c.PC() != testCode+17 {
			t.Errorf("stopped at %#x, want behind the store", c.PC())
		}
	}
}

// TestTwoAddressesOfCode executes a function by two addresses in turns, and changes it each time.
func TestTwoAddressesOfCode(t *testing.T) {
	w := newWorld(t, ISA64(), cpus.Throughput, []byte{
		0xff, 0xd3, 0x01, 0xc2, // 1: call *%rbx; add %eax,%edx
		0xff, 0xd1, 0xfe, 0x07, // call *%rcx; incb (%rdi)
		0xff, 0xcd, 0x75, 0xf4, 0xf4, // dec %ebp; jnz 1b; hlt
	})
	const first, second, pa, rounds = 0x400000, 0x500000, 0x800000, 20
	w.mapPage(first, pa|ptePresent)
	w.mapPage(second, pa|ptePresent)
	w.mem.Write(pa, []byte{0xb8, 1, 0, 0, 0, 0xc3}) // mov $1,%eax; ret
	c := w.cpu()
	c.R[rbx], c.R[rcx], c.R[rdx], c.R[rdi], c.R[rbp] = first, second, 0, w.at(directMap+pa+1), rounds
	if e := c.Run(1 << 40); e.Reason != cpus.Halted || c.R[rdx] != rounds*(rounds+1)/2 {
		t.Errorf("%v: the sum is %d, want %d: old code was executed", e.Reason, c.R[rdx], rounds*(rounds+1)/2)
	}
}

// TestBranchBeforeSnapshot has a snapshot lie between a branch to an address that is not canonical and its fault, which points at the branch.
func TestBranchBeforeSnapshot(t *testing.T) {
	build := func() *world {
		w := newWorld(t, ISA64(), cpus.Throughput, []byte{0x90, 0xff, 0xe0}) // nop; jmp *%rax
		w.gates(func(int) (uint64, uint8) { return w.code(testCode) + 0x100, 0 })
		w.mem.Write(testCode-kernelMap+0x100, []byte{0xf4})
		return w
	}
	w := build()
	c := w.cpu()
	c.R[rax] = 1 << 63
	if c.Run(1); c.PC() != 1<<63 {
		t.Fatalf("stopped at %#x", c.PC())
	}
	d := goOn(t, c, build())
	e := goOn(t, d, build()) // a snapshot of what has executed nothing
	f := build().cpu()       // forgets what it has executed, and no snapshot knows of it
	f.R[rax] = 1 << 63
	f.Run(1)
	f.ForgetCode()
	for i, x := range []*CPU{c, d, e, f} {
		x.Run(x.Now() + 1e6)
		at := binary.LittleEndian.Uint64(x.Memory.Bytes(x.R[rsp]-w.data+8, 8))
		require.That(t, at == testCode+1, "cpu %d: the fault is at %#x, want at the jump", i, at)
	}
}

// TestInstructionInTwoPages executes an instruction that reaches into a second page, of which the TLB has lost both. What it takes does
// not depend on whether it is decoded.
func TestInstructionInTwoPages(t *testing.T) {
	const pages, pa = 0x400000, 0x800000
	var all [2]*CPU
	for i := range all {
		w := newWorld(t, ISA64(), cpus.Window, nil)
		w.mapUser(pages, pa, 0x2000, 0)
		w.mem.Write(pa+0xffd, []byte{0xb8, 1, 0, 0, 0, 0xf4}) // mov $1,%eax; hlt
		c := w.cpu()
		for round := range 2 {
			c.Halted, c.R[rRIP] = false, pages+0xffd
			c.Run(c.Now() + 1e6)
			c.ITLB.Flush(true)
			if c.ForgetTranslations(); round == 0 && i == 1 {
				c.ForgetCode()
			}
		}
		all[i] = c
	}
	a, b := all[0], all[1]
	require.That(t, a.Now() == b.Now() && a.Counts.ITLBMisses == b.Counts.ITLBMisses && a.R[rax] == 1, "%d misses in %d ticks; decoded anew %d in %d", a.Counts.ITLBMisses, a.Now(), b.Counts.ITLBMisses, b.Now())
}
