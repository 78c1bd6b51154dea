package x86

import (
	"encoding/binary"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
)

// TestStoresIntoCode executes the bytes that were stored, wherever they lie.
func TestStoresIntoCode(t *testing.T) {
	for _, x := range []struct {
		name string
		at   uint64 // of the code below from a page boundary
		code []byte
		want uint64 // rax
	}{
		// movb $0x42,1f+1(%rip); 1: mov $1,%al (as b0 01); hlt
		{"next instruction", 0, []byte{0xc6, 0x05, 1, 0, 0, 0, 0x42, 0xb0, 1, 0xf4}, 0x42},
		{"next instruction in the next line", 57, []byte{0xc6, 0x05, 1, 0, 0, 0, 0x42, 0xb0, 1, 0xf4}, 0x42},
		{"tail in the next line", 56, []byte{0xc6, 0x05, 1, 0, 0, 0, 0x42, 0xb0, 1, 0xf4}, 0x42},
		{"store across lines", 48, []byte{0x66, 0xc7, 0x05, 4, 0, 0, 0, 0xb0, 0x43, 0x90, 0x90, 0x90, 0x90, 0xb0, 1, 0xf4}, 0x43},
		{"opcode", 0, []byte{0xc6, 0x05, 0, 0, 0, 0, 0xb4, 0xb0, 1, 0xf4}, 0x100},
		{"next page", 0xff9, []byte{0xc6, 0x05, 1, 0, 0, 0, 0x42, 0xb0, 1, 0xf4}, 0x42},
		{"tail in the next page", 0xff8, []byte{0xc6, 0x05, 1, 0, 0, 0, 0x42, 0xb0, 1, 0xf4}, 0x42},
		// mov $2,%ecx; 1: mov $1,%al; movb $0x42,1b+1(%rip); loop 1b; hlt
		{"earlier instruction", 0, []byte{0xb9, 2, 0, 0, 0, 0xb0, 1, 0xc6, 0x05, 0xf8, 0xff, 0xff, 0xff, 0x42, 0xe2, 0xf5, 0xf4}, 0x42},
		{"earlier instruction across pages", 0xffa, []byte{0xb9, 2, 0, 0, 0, 0xb0, 1, 0xc6, 0x05, 0xf8, 0xff, 0xff, 0xff, 0x42, 0xe2, 0xf5, 0xf4}, 0x42},
	} {
		w, c := start(t)
		base := w.scattered()
		w.place(base+x.at, x.code)
		c.R[rRIP] = base + x.at
		if halt(t, c); c.R[rax] != x.want {
			t.Errorf("%s: rax %#x; want %#x", x.name, c.R[rax], x.want)
		}
	}
}

// scattered maps two executable pages whose frames are apart.
func (w *world) scattered() uint64 {
	const va = 0x40000000
	w.mapPage(va, 0x800000|ptePresent|pteWrite)
	w.mapPage(va+0x1000, 0x700000|ptePresent|pteWrite)
	return va
}

// place writes code through the tables.
func (w *world) place(va uint64, code []byte) {
	for i, b := range code {
		at := va + uint64(i)
		w.mem.Write(w.mem.Load(binary.LittleEndian, w.pte(at), 8)&0xffffff000|at&0xfff, []byte{b})
	}
}

// TestTailFromOutside changes the second page of an instruction that lies in two: by a store of the
// machine, and by another mapping.
func TestTailFromOutside(t *testing.T) {
	w, c := start(t)
	base := w.scattered()
	at := base + 0xffe
	w.place(at, []byte{0xb8, 1, 0, 0, 0, 0xf4}) // mov $1,%eax; hlt
	run := func(want uint64) {
		t.Helper()
		c.R[rRIP], c.Halted = at, false
		if halt(t, c); c.R[rax] != want {
			t.Errorf("rax %#x; want %#x", c.R[rax], want)
		}
	}
	run(1)
	w.mem.Store(binary.LittleEndian, 0x700000, 1, 3)
	run(0x301)
	run(0x301)
	w.mem.Write(0x704000, []byte{4, 0, 0, 0xf4})
	w.mapPage(base+0x1000, 0x704000|ptePresent)
	c.flushTLB(true)
	run(0x401)
}

// TestFetchAhead keeps what lies behind the executed instructions out of sight: a block that could
// reach into an absent page changes nothing by it.
func TestFetchAhead(t *testing.T) {
	w, c := start(t)
	base := w.scattered()
	w.mapPage(base+0x1000, 0)
	w.place(base+0xffc, []byte{0x90, 0xf7, 0xf1, 0xb8}) // nop; div %ecx; head of a mov
	c.cr2 = 0x1111
	c.R[rRIP] = base + 0xffc
	if tr := w.trapped(c); tr.vector != vecDE || c.cr2 != 0x1111 {
		t.Errorf("%+v, cr2 %#x; want a division error that leaves cr2", tr, c.cr2)
	}
	// a division that succeeds: executing the head faults at the page behind
	c.R[rRIP], c.R[rcx], c.Halted = base+0xffc, 1, false
	if tr := w.trapped(c); tr.vector != vecPF || tr.code != pfFetch || tr.rip != base+0xfff || c.cr2 != base+0x1000 {
		t.Errorf("%+v, cr2 %#x; want a fetch fault at the second page", tr, c.cr2)
	}
}

// TestLimitStops returns to the machine from an endless loop and from endless repetition.
func TestLimitStops(t *testing.T) {
	for _, code := range [][]byte{{0xeb, 0xfe}, {0xf3, 0xac}} {
		_, c := start(t, code...)
		c.R[rcx], c.R[rsi] = ^uint64(0), testData
		e := c.Run(c.Now() + 60000)
		require.That(t, e.Reason == cpus.Limit, "% x: %+v", code, e)
	}
}
