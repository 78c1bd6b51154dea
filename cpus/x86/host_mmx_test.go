//go:build linux && amd64

package x86

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// mmxModRM are the operands that are compared: registers, the same one twice, and memory by rax.
var mmxModRM = []byte{0xc1, 0xca, 0xe3, 0xff, 0x00, 0x38}

// eachMMX calls f with every instruction of MMX that the model has, and one more byte as an immediate.
func eachMMX(rng *rand.Rand, f func(code []byte, in x86asm.Inst)) {
	all := ofMMX()
	for _, prefix := range [][]byte{{}, {0x66}, {0xf2}, {0xf3}, {0x48}, {0x45}} {
		for opcode := range 3 * 256 {
			escape := [][]byte{{0x0f}, {0x0f, 0x38}, {0x0f, 0x3a}}[opcode>>8]
			for _, modrm := range append(mmxModRM, 0xd1, 0xe1, 0xf1) {
				code := append(append(slices.Clone(prefix), escape...), byte(opcode), modrm, byte(rng.Uint32()))
				code = append(code, make([]byte, 12)...) // for longer forms
				in, known := disassemble(code, 64)
				d := decoder{x: in}
				if known && slices.Contains(all, in.Op) && (d.namesMMX() || in.Op == x86asm.EMMS || in.Op == x86asm.CVTPI2PD) {
					f(code[:in.Len], in)
				}
			}
		}
	}
}

// ofMMX are the operations that have a form with registers of MMX.
func ofMMX() []x86asm.Op {
	all := append(slices.Collect(maps.Keys(mmxFuncs())), slices.Collect(maps.Keys(mmxConversions()))...)
	all = slices.DeleteFunc(all, func(op x86asm.Op) bool { return vectorsAlone[op] })
	return append(all, x86asm.EMMS, x86asm.MASKMOVQ)
}

// TestMMXAgainstHost steps every instruction of MMX that the model has from random states of x87, and compares all of the
// unit: registers, tags and the top.
func TestMMXAgainstHost(t *testing.T) {
	h, err := newStepped(t, 64)
	if err != nil {
		hosttools.Unable(t, "comparing MMX with the host's processor", err.Error())
	}
	sim, rng := newStepSim(t, 64), rand.New(rand.NewPCG(57, 1997))
	missing, departing := ofMMX(), departuresOf(t)
	rounds := 6
	if hosttools.Whole(t, "20 operands of each form of MMX beside the host", "six") {
		rounds = 20
	}
	eachMMX(rng, func(code []byte, in x86asm.Inst) {
		missing = slices.DeleteFunc(missing, func(op x86asm.Op) bool { return op == in.Op })
		for range rounds {
			from := x87Step(rng)
			if rng.IntN(2) == 0 {
				from.x87.st[rng.IntN(8)][0] = rng.Uint64N(70)
			}
			if rng.IntN(2) == 0 {
				from.regs[rdi] = from.regs[rax] + rng.Uint64N(16)
			}
			want := require.Must(h.step(code, from))(t)
			got := sim.step(code, from)
			for _, d := range departing.adapting(code, 64) {
				differed := stepDifference(want, got, 0) != ""
				d.adapt(from, want, got)
				departing.note(d, differed)
			}
			if d := stepDifference(want, got, 0); d != "" {
				t.Errorf("% x (%v) of\n    %x:\n%s", code, in, from.x87, d)
				return
			}
		}
	})
	departing.check(t)
	for _, op := range missing {
		t.Errorf("%v: no encoding was compared", op)
	}
}

// vectorsAlone are the operations that registers of MMX have no form of.
var vectorsAlone = map[x86asm.Op]bool{
	x86asm.ANDPS: true, x86asm.ANDPD: true, x86asm.ANDNPS: true, x86asm.ANDNPD: true, x86asm.ORPS: true, x86asm.ORPD: true,
	x86asm.XORPS: true, x86asm.XORPD: true, x86asm.PUNPCKLQDQ: true, x86asm.PUNPCKHQDQ: true, x86asm.UNPCKLPS: true,
	x86asm.UNPCKHPS: true, x86asm.UNPCKLPD: true, x86asm.UNPCKHPD: true, x86asm.PSLLDQ: true, x86asm.PSRLDQ: true,
}
