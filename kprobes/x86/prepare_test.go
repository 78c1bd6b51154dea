package x86

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"kprobesim/internal/require"
	"kprobesim/kprobes"
)

// operands returns the arguments with a memory operand relative to rip made absolute.
func operands(in x86asm.Inst, at uint64) []x86asm.Arg {
	args := make([]x86asm.Arg, 0, len(in.Args))
	for _, a := range in.Args {
		if m, ok := a.(x86asm.Mem); ok && m.Base == x86asm.RIP {
			m.Disp = int64(int32(m.Disp)) + int64(at) + int64(in.Len) // x86asm does not extend the sign
			a = m
		}
		args = append(args, a)
	}
	return args
}

// A moved instruction is the same instruction with the same absolute operand.
func TestMovedCopyMeansTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	moved, relative := 0, 0
	for range 200_000 {
		code := randomInsn(rng)
		at, slot := rng.Uint64N(1<<40)+1<<41, uint64(0)
		slot = at + rng.Uint64N(1<<28)
		c, err := prepare(kprobes.Insn{Code: code, Addr: at, Slot: slot}, 64)
		if err != nil {
			continue
		}
		was, _ := x86asm.Decode(code, 64)
		is, err := x86asm.Decode(c.Code, 64)
		if supplement(code) != 0 {
			continue
		}
		if err != nil || is.Op != was.Op || is.Len != was.Len {
			t.Fatalf("%s became %s", hex(code), hex(c.Code))
		}
		require.Need(t, reflect.DeepEqual(operands(was, at), operands(is, slot)), "%v at %#x became %v at %#x", was, at, is, slot)
		moved++
		if in, _ := decode(code, at, 64); in.Memory {
			relative++
		}
	}
	require.That(t, moved >= 10_000 && relative >= 500, "only %d of the random bytes were instructions, %d of them relative", moved, relative)
}

// randomInsn makes bytes of which many are instructions and some are relative to rip.
func randomInsn(rng *rand.Rand) []byte {
	b := make([]byte, 16)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	switch rng.IntN(4) {
	case 0:
		b[0], b[1], b[2] = 0x48|b[0]&7, 0x8b, b[2]&0x38|0x05
	case 1:
		b[0], b[1] = 0x80|b[0]&0x13, b[1]&0x38|0x05
	}
	return b
}

// testTemplate is a detour template as short as can be: movabs $0, %rdi; call; nop.
func testTemplate(t testing.TB) kprobes.Template {
	return kprobes.Template{Code: unhex(t, "48bf0000000000000000 e800000000 90"), Marks: []int{2, 10}}
}

func FuzzRules(f *testing.F) {
	f.Add([]byte("\x48\x8b\x05\x00\x00\x00\x00\xc3\x90\x90"), uint64(0))
	f.Add([]byte("\xf3\x0f\x1e\xfa\xff\xe0\xcc\x74\xfe\x0f\x85"), uint64(4))
	f.Fuzz(func(t *testing.T, code []byte, off uint64) {
		for _, mode := range []int{64, 32} {
			a := arch(mode)
			fn := kprobes.Text{Name: "f", Start: 0x1000, Code: code}
			addr := fn.Start + off%64
			at := a.Boundary(fn, addr)
			region, refused := a.Optimizer.Region(kprobes.Site{Fn: fn, Addr: addr})
			if refused != nil {
				continue
			}
			require.That(t, at != nil || len(region.Code) <= a.Optimizer.MaxRegion, "region of %d bytes, at most %d", len(region.Code), a.Optimizer.MaxRegion)
			_, refused = a.Optimizer.Detour(testTemplate(t), region, kprobes.DetourAt{Addr: 0x4000, Calls: []uint64{0}})
			if refused != nil && refused.Rule == kprobes.RuleDisplacement {
				continue // an operand two gigabytes away, out of reach by the distance of the copy
			}
			if refused != nil {
				t.Errorf("region %s cannot be copied: %v", hex(region.Code), refused)
			}
			if _, err := a.Prepare(kprobes.Insn{Code: code[addr-fn.Start:], Addr: addr, Slot: 0x4000}); err != nil {
				t.Errorf("first instruction of region %s cannot be copied: %v", hex(region.Code), err)
			}
		}
	})
}

// TestLegacyPrefixes: these and no other bytes stand in front of an opcode (SDM vol. 2, 2.1.1).
func TestLegacyPrefixes(t *testing.T) {
	for b := range 256 {
		want := bytes.IndexByte([]byte("\x26\x2e\x36\x3e\x64\x65\x66\x67\xf0\xf2\xf3"), byte(b)) >= 0
		require.Equal(t, len(opcodeOf([]byte{byte(b), 0x90}, 32)) == 1, want, "%#x is a prefix", b)
	}
}
