package x86

import (
	"slices"
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"kprobesim/internal/require"
	"kprobesim/kprobes"
)

// conditional are the jumps under a condition, by its number (SDM vol. 2, appendix B.1.4.7).
var conditional = []x86asm.Op{
	x86asm.JO, x86asm.JNO, x86asm.JB, x86asm.JAE, x86asm.JE, x86asm.JNE, x86asm.JBE, x86asm.JA,
	x86asm.JS, x86asm.JNS, x86asm.JP, x86asm.JNP, x86asm.JL, x86asm.JGE, x86asm.JLE, x86asm.JG,
}

// TestLater holds what a later kernel refuses, and what it emulates and how, against the library's decoder, for every opcode.
func TestLater(t *testing.T) {
	emulated := 0
	for _, mode := range []int{32, 64} {
		for _, prefix := range map[int][]string{32: {"", "\x67"}, 64: {"", "\x41", "\x48", "\x67"}}[mode] {
			for op := range 1 << 16 {
				code := slices.Concat([]byte(prefix), []byte{byte(op >> 8), byte(op), 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0})
				in, err := decode(code, 0x1000, mode)
				lib, libErr := x86asm.Decode(code, mode)
				if err != nil || libErr != nil || lib.Len != len(in.Code) {
					continue
				}
				name, values := emulation(lib, mode)
				got, ok := emulationOf(in)
				require.Need(t, refusedLater(in) == (name == "refused"), "% x, %v: refused %v", in.Code, lib, refusedLater(in))
				if name == "refused" {
					continue
				}
				require.Need(t, ok == (name != "") && got[0].Func == name, "% x, %v: %s, want %s", in.Code, lib, got[0].Func, name)
				for _, v := range values {
					require.Need(t, slices.Contains(got, v), "% x, %v: %+v, want %+v", in.Code, lib, got, v)
				}
				if ok {
					emulated++
				}
			}
		}
	}
	require.That(t, emulated > 20_000, "only %d were emulated", emulated)
	for code, want := range map[string]bool{"\x0f\x01\xc0": false, "\x0f\x01\xc1": true, "\x0f\x01\xc4": true, "\x0f\x01\xca": false, "\x0f\x01\xd9": false} {
		require.Equal(t, refusedLater(insn{Opcode: []byte(code)}), want, "% x, which enters or leaves a virtual machine", code)
	}
}

// emulation says by what function an instruction is emulated, "" for none or "refused", and some of what it asks for.
func emulation(in x86asm.Inst, mode int) (name string, values []kprobes.Value) {
	condition := func(n int) kprobes.Value { return kprobes.Value{Member: conditionMember, Number: uint64(n)} }
	operand := func(n uint64) kprobes.Value { return kprobes.Value{Member: operandMember, Number: n} }
	displacement := func(n int64) kprobes.Value {
		return kprobes.Value{Member: displacementMember, Number: uint64(uint32(n))}
	}
	rel, _ := in.Args[0].(x86asm.Rel)
	imm, _ := in.Args[0].(x86asm.Imm)
	reg, through := in.Args[0].(x86asm.Reg)
	first := map[int]x86asm.Reg{32: x86asm.EAX, 64: x86asm.RAX}[mode]
	if i := slices.Index(conditional, in.Op); i >= 0 {
		return "emulate_jcc", []kprobes.Value{condition(i), displacement(int64(rel))}
	}
	switch in.Op {
	case x86asm.LCALL, x86asm.LJMP, x86asm.IRET, x86asm.IRETD, x86asm.IRETQ:
		return "refused", nil
	case x86asm.CALL, x86asm.JMP:
		word := map[x86asm.Op]string{x86asm.CALL: "emulate_call", x86asm.JMP: "emulate_jmp"}[in.Op]
		switch {
		case through:
			return word + "_reg", []kprobes.Value{operand(uint64(reg - first))}
		case pcMemory(in) || in.PCRel == 0:
			return "refused", nil
		}
		return word, []kprobes.Value{displacement(int64(rel))}
	case x86asm.RET:
		return "emulate_ret", []kprobes.Value{displacement(int64(imm))}
	case x86asm.LRET:
		word := map[bool]int64{false: 4, true: 8}[prefixed(in, x86asm.PrefixREX|x86asm.PrefixREXW)]
		return "emulate_ret", []kprobes.Value{displacement(int64(imm) + word)}
	case x86asm.LOOPNE, x86asm.LOOPE, x86asm.LOOP, x86asm.JCXZ, x86asm.JECXZ, x86asm.JRCXZ:
		narrow := map[bool]uint64{true: 1}[prefixed(in, x86asm.PrefixAddrSize&0xff)]
		return "emulate_loop", []kprobes.Value{displacement(int64(rel)), operand(narrow)}
	case x86asm.CLI:
		return "emulate_cli", nil
	case x86asm.STI:
		return "emulate_sti", nil
	case x86asm.PUSHF, x86asm.PUSHFD, x86asm.PUSHFQ:
		return "emulate_pushf", nil
	case x86asm.POPF, x86asm.POPFD, x86asm.POPFQ:
		return "emulate_popf", nil
	}
	return "", nil
}

// prefixed tells whether one of an instruction's prefixes has all bits of another.
func prefixed(in x86asm.Inst, bits x86asm.Prefix) bool {
	return slices.ContainsFunc(in.Prefix[:], func(p x86asm.Prefix) bool { return p&bits == bits })
}
