package x86

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"kprobesim/kprobes"
)

func TestBoundary(t *testing.T) {
	fn := kprobes.Text{Name: "f", Start: 0x1000, Code: unhex(t, "f30f1efa 55 4889e5 48c7c001000000 0f01cb 5d c3")}
	starts := map[uint64]bool{0: true, 4: true, 5: true, 8: true, 15: true, 18: true, 19: true}
	for off := range uint64(24) {
		err := boundary(fn, fn.Start+off, 64)
		if starts[off] != (err == nil) {
			t.Errorf("offset %d: %v", off, err)
		}
		if err != nil && !errors.Is(err, kprobes.EILSEQ) {
			t.Errorf("offset %d: %v, want kprobes.EILSEQ", off, err)
		}
	}
}

func TestBoundaryBehindUndecodable(t *testing.T) {
	fn := kprobes.Text{Name: "f", Start: 0, Code: unhex(t, "90 06 90")} // push es is undefined in 64-bit mode
	if err := boundary(fn, 0, 64); err != nil {
		t.Errorf("in front of the bad byte: %v", err)
	}
	if err := boundary(fn, 2, 64); !errors.Is(err, kprobes.EILSEQ) {
		t.Errorf("behind the bad byte: %v", err)
	}
}

func TestPrepareMovesOperands(t *testing.T) {
	tests := []struct{ name, code, want string }{
		{"load", "48 8b 05 10 00 00 00", "48 8b 05 10 00 f0 ff"},
		{"store immediate", "c7 05 10 00 00 00 78 56 34 12", "c7 05 10 00 f0 ff 78 56 34 12"},
		{"register only", "48 89 e5", "48 89 e5"},
		{"call keeps its bytes", "e8 10 00 00 00", "e8 10 00 00 00"},
		{"jcc keeps its bytes", "74 10", "74 10"},
	}
	for _, tt := range tests {
		c, err := prepare(kprobes.Insn{Code: unhex(t, tt.code), Addr: 0x10000, Slot: 0x110000}, 64)
		if err != nil || hex(c.Code) != tt.want {
			t.Errorf("%s: %s, %v; want %s", tt.name, hex(c.Code), err, tt.want)
		}
	}
}

// TestEmulation: what kernels of 2020 emulate, by the guest's function and what that asks for. Prefixes choose no other one.
func TestEmulation(t *testing.T) {
	for _, x := range []struct {
		code, function               string
		condition, operand, distance uint64
	}{
		{"74 10", "emulate_jcc", 4, 0, 0x10},
		{"0f 85 00 01 00 00", "emulate_jcc", 5, 0, 0x100},
		{"2e 7f fb", "emulate_jcc", 15, 0, 0xfffffffb},
		{"eb fb", "emulate_jmp", 11, 0, 0xfffffffb},
		{"f2 e8 10 00 00 00", "emulate_call", 8, 0, 0x10},
		{"c3", "emulate_ret", 3, 0, 0},
		{"f3 c3", "emulate_ret", 3, 0, 0},
		{"c2 10 01", "emulate_ret", 2, 0, 0x110},
		{"cb", "emulate_ret", 11, 0, 4},
		{"48 cb", "emulate_ret", 11, 0, 8},
		{"ca 08 00", "emulate_ret", 10, 0, 12},
		{"e2 fb", "emulate_loop", 2, 0, 0xfffffffb},
		{"67 e3 fb", "emulate_loop", 3, 1, 0xfffffffb},
		{"3e ff d0", "emulate_call_reg", 15, 0, 0},
		{"41 ff e3", "emulate_jmp_reg", 15, 11, 0},
		{"fb", "emulate_sti", 11, 0, 0},
	} {
		c, err := prepareLater(kprobes.Insn{Code: unhex(t, x.code), Addr: 0x10000, Slot: 0x110000}, 64)
		if err != nil || c.Runs != kprobes.Emulated || len(c.Members) < 6 {
			t.Errorf("%s: %+v, %v", x.code, c, err)
			continue
		}
		want := []kprobes.Value{
			{Member: emulateMember, Func: x.function},
			{Member: conditionMember, Number: x.condition},
			{Member: operandMember, Number: x.operand},
			{Member: displacementMember, Number: x.distance},
		}
		if got := c.Members[2:6]; !slices.Equal(got, want) {
			t.Errorf("%s: %+v, want %+v", x.code, got, want)
		}
	}
}

func TestPrepareRefuses(t *testing.T) {
	if _, err := prepare(kprobes.Insn{Code: unhex(t, "48 8b 05 10 00 00 00"), Addr: 0, Slot: 1 << 40}, 64); !errors.Is(err, kprobes.EINVAL) {
		t.Errorf("operand out of reach: %v, want kprobes.EINVAL", err)
	}
	if _, err := prepare(kprobes.Insn{Code: unhex(t, "06"), Addr: 0, Slot: 0x100}, 64); !errors.Is(err, kprobes.EILSEQ) {
		t.Errorf("undefined instruction: %v, want kprobes.EILSEQ", err)
	}
}

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
		if !reflect.DeepEqual(operands(was, at), operands(is, slot)) {
			t.Fatalf("%v at %#x became %v at %#x", was, at, is, slot)
		}
		moved++
		if in, _ := decode(code, at, 64); in.Memory {
			relative++
		}
	}
	if moved < 10_000 || relative < 500 {
		t.Errorf("only %d of the random bytes were instructions, %d of them relative", moved, relative)
	}
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
			if at == nil && len(region.Code) > a.Optimizer.MaxRegion {
				t.Errorf("region of %d bytes, at most %d", len(region.Code), a.Optimizer.MaxRegion)
			}
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
