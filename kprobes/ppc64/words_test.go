package ppc64

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/arch/ppc64/ppc64asm"

	"kprobesim/internal/require"
	"kprobesim/kprobes"
)

// registerOnly names the instructions that a detour buffer may have emulated, as the manual names them. A record
// form has a dot. Moves of special registers are judged by the register.
const registerOnly = ` mulli subfic cmplwi cmpldi cmpwi cmpdi addic addic. addi li addis lis b ba bl bla
	rlwimi rlwinm rlwnm ori nop xnop oris xori xoris andi. andis. rldicl rldicr rldic rldimi rldcl rldcr
	mcrf crnor crandc crxor crnand crand creqv crorc cror isync
	cmpw cmpd cmplw cmpld subfc addc subf neg subfe adde subfze addze subfme addme add
	mulhdu mulhwu mulhd mulhw mulld mullw
	mfcr mfocrf mtcrf mtocrf cntlzw cntlzd extsh extsb extsw
	and andc nor eqv xor orc or nand slw sld srw srd sraw srad srawi sradi sync lwsync ptesync
	mfxer mflr mfctr mtxer mtlr mtctr `

// conditionals names the branches of the B form and to registers.
const conditionals = "bc bca bcl bcla bclr bclrl bcctr bcctrl"

// expected says what the second opinion on an instruction is about emulating it.
func expected(in ppc64asm.Inst) bool {
	name := in.Op.String()
	if name == "mfspr" || name == "mtspr" {
		return slices.ContainsFunc(in.Args[:], func(a ppc64asm.Arg) bool {
			spr, ok := a.(ppc64asm.SpReg)
			return ok && (spr == sprXER || spr == sprLR || spr == sprCTR)
		})
	}
	for _, n := range []string{name, strings.TrimSuffix(name, ".")} {
		if slices.Contains(strings.Fields(registerOnly), n) {
			return true
		}
	}
	return false
}

// reserved reports whether a bit is set that the manual wants zero and the decoder passes over: bit 21 of the
// multiplications that return the upper half.
func reserved(w uint32, name string) bool { return strings.HasPrefix(name, "mulh") && w&0x400 != 0 }

// holdWord holds one word against the second opinion and the rules against one another.
func holdWord(t *testing.T, w uint32) {
	t.Helper()
	in := decoded(w)
	name := in.Op.String()
	x := word(w)
	if in.Op != 0 && in.Len == wordSize {
		got, want := x.conditional(), slices.Contains(strings.Fields(conditionals), name)
		require.That(t, got == want, "%08x %s: conditional %v", w, name, got)
		if got, want := x.changesState(), slices.Contains([]string{"mtmsr", "mtmsrd", "rfi", "rfid"}, name); got != want {
			t.Errorf("%08x %s: changes the state %v", w, name, got)
		}
		if got, want := x.emulated(), expected(in); got != want && !reserved(w, name) {
			t.Errorf("%08x %s: emulated %v", w, in, got)
		}
	}
	holdConsistent(t, w)
}

// holdConsistent wants a word that may be optimized to be copied and to fit into a detour buffer.
func holdConsistent(t *testing.T, w uint32) {
	t.Helper()
	c := classify(bytesOf(w), 0x1004)
	r, refused := region(site(w))
	require.That(t, (c.Kind == kprobes.ClassBreakpoint) == (refused != nil && refused.Rule == kprobes.RuleForeign), "%08x is %+v and refused by %v", w, c, refused)
	if refused != nil {
		return
	}
	_, err := prepare(kprobes.Insn{Code: r.Code, Slot: 0x4000})
	require.That(t, err == nil, "%08x may be optimized and not be probed: %v", w, err)
	if _, refused := detour(testTemplate(), r, detourAt()); refused != nil && (word(w).opcode() != opBranch || refused.Rule != kprobes.RuleOutOfRange) {
		t.Errorf("%08x may be optimized and has no detour buffer: %v", w, refused)
	}
}

// The rules agree with a decoder that is not ours on every word that it knows. Extended opcodes are drawn as
// often as primary ones.
func TestRandomWords(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 30_000 {
		holdWord(t, r.Uint32())
		holdWord(t, opX<<26|r.Uint32()&0x3ffffff)
		holdWord(t, opXL<<26|r.Uint32()&0x3ffffff)
		if t.Failed() {
			return
		}
	}
}

func FuzzRules(f *testing.F) {
	for _, w := range []uint32{trap, 0x7c0802a6, 0x48000010, 0x4e800020, 0x7c610164, 0x4c000024, 0xe8610028} {
		f.Add(w)
	}
	f.Fuzz(holdWord)
}
