package ppc64

import (
	"encoding/binary"
	"slices"
	"testing"

	"golang.org/x/arch/ppc64/ppc64asm"

	"kprobesim/internal/require"
	"kprobesim/kprobes"
)

// decoded returns what the decoder of golang.org/x/arch says of a word, as a second opinion. Words that it does not
// know have operation 0.
func decoded(w uint32) ppc64asm.Inst {
	in, _ := ppc64asm.Decode(bytesOf(w), binary.BigEndian)
	return in
}

// TestClassifyNeedsAWord reads whole words at aligned addresses alone.
func TestClassifyNeedsAWord(t *testing.T) {
	code := bytesOf(trap)
	for n := range wordSize {
		got := classify(code[:n], 0x1000)
		require.That(t, got.Len == 0, "%d bytes: %+v", n, got)
		got = classify(code, 0x1000+uint64(n))
		require.That(t, (got.Len == 0) == (n > 0), "at %#x: %+v", 0x1000+n, got)
	}
}

// The members that are prepared are those that Kprobes looks for, in every era.
func TestArchFitsItself(t *testing.T) {
	a := Arch()
	cp, _ := a.Prepare(kprobes.Insn{Code: bytesOf(0x60000000)})
	for _, v := range cp.Members {
		require.That(t, slices.Contains(a.Members, v.Member), "%s is no member", v.Member)
	}
	require.That(t, slices.Contains(a.Members, a.Learned) && a.Reach() == 4 && a.SlotSize == len(a.Breakpoint), "%+v", a)
	in := decoded(trap)
	require.That(t, in.Op == ppc64asm.TW && in.Args[0] == ppc64asm.Imm(31), "the breakpoint is %s", in)
	require.Equal(t, a.Classify(a.Breakpoint, 0x1000), (kprobes.Class{Kind: kprobes.ClassBreakpoint, Len: 4}), "the breakpoint is classified as")
}

// testTemplate is a detour template without what saves registers: the address of the probe, a call, the
// instruction, another call, and a nop.
func testTemplate() kprobes.Template {
	var code []byte
	for _, w := range []uint32{
		0x3c600000, 0x60630000, 0x786307c6, 0x64630000, 0x60630000, 0x48000001, 0x3c800000, 0x60840000, 0x48000001, 0x60000000,
	} {
		code = append(code, bytesOf(w)...)
	}
	return kprobes.Template{Code: code, Marks: []int{0, 20, 24, 32}}
}

func detourAt() kprobes.DetourAt {
	return kprobes.DetourAt{Addr: 0x20000, Probe: 0xc000000012345678, Calls: []uint64{0x30000, 0x10000}}
}

// site is a function of three instructions, of which the second is to be replaced.
func site(w uint32) kprobes.Site {
	code := slices.Concat(bytesOf(0x7c0802a6), bytesOf(w), bytesOf(0x4e800020))
	return kprobes.Site{Fn: kprobes.Text{Name: "f", Start: 0x1000, Code: code}, Addr: 0x1004}
}
