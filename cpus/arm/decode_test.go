package arm

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/arch/arm/armasm"

	"kprobesim/internal/armtext"
	"kprobesim/internal/require"
)

// TestRowsAreApart wants no word to have two rows unless one of them is more specific, and names to be names.
func TestRowsAreApart(t *testing.T) {
	seen := map[string]bool{}
	for i, r := range rows {
		require.That(t, !seen[r.name], "two rows are named %s", r.name)
		seen[r.name] = true
		for _, o := range rows[:i] {
			both := r.mask & o.mask
			if r.unconditional() != o.unconditional() || (r.value^o.value)&both != 0 {
				continue
			}
			if bits.OnesCount32(r.mask) == bits.OnesCount32(o.mask) {
				t.Errorf("%s and %s have words in common", r.name, o.name)
			}
		}
	}
}

// word draws a word of a row with a condition. Every fourth one has few bits, as shifts by nothing are forms of their own.
func (r *row) word(n *rand.Rand, cond uint32) uint32 {
	free := n.Uint32()
	if n.IntN(4) == 0 {
		free &= n.Uint32() & n.Uint32()
	}
	w := free&^r.mask | r.value
	if !r.unconditional() {
		w = w&^(15<<28) | cond<<28
	}
	return w
}

// TestAgainstArmasm compares the table with armasm: what it knows has the same name here. Where it knows more
// or less the test says why.
func TestAgainstArmasm(t *testing.T) {
	n := rand.New(rand.NewPCG(1, 2))
	compared := 0
	for _, r := range rows {
		for range 200 {
			w := r.word(n, n.Uint32N(15))
			if find(w) != r {
				continue // a more specific row
			}
			x, err := armtext.Decode(binary.LittleEndian.AppendUint32(nil, w))
			if err != nil || x.Op == 0 {
				continue
			}
			name := strings.ToLower(strings.Split(x.Op.String(), ".")[0])
			if !sameName(r.name, name) {
				t.Errorf("%#x is %s, armasm says %v", w, r.name, x)
				break
			}
			compared++
		}
	}
	require.That(t, compared >= 20000, "only %d words were compared", compared)
	t.Logf("%d words", compared)
}

// sameName compares names, where armasm has others for special cases.
func sameName(row, name string) bool {
	row, _, _ = strings.Cut(row, " ")
	row = strings.TrimRight(row, "!")
	if i := strings.IndexByte(row, '<'); i >= 0 {
		row = row[:i]
	}
	switch {
	case row == name, row == name+"s", strings.HasPrefix(name, row):
		return true
	case strings.HasPrefix(row, "mov"):
		return strings.Contains("lsl lsr asr ror rrx mov", name)
	case strings.HasPrefix(row, "ldm"), strings.HasPrefix(row, "ldr"):
		return name == "pop" || name == "ldm" && row == "ldmia"
	case strings.HasPrefix(row, "stm"), strings.HasPrefix(row, "str"):
		return name == "push" || name == "stm" && row == "stmia"
	case strings.Contains(row, "xta"): // without an addend
		return name == strings.Replace(row, "xta", "xt", 1)
	}
	if row == "nop" { // hints that do nothing
		return name == "dbg" || name == "yield" || name == "sev"
	}
	special := map[string]string{
		"smlad": "smuad", "smlsd": "smusd", "smmla": "smmul", "usada8": "usad8", "bfi": "bfc", "swpb": "swp",
		"svc": "svc", "pli": "pli",
	}
	return special[row] == name
}

// unknownHere are operations of armasm without a row.
func unknownHere(op armasm.Op) bool {
	name := op.String()
	return strings.HasPrefix(name, "V") || strings.HasPrefix(name, "SETEND") || strings.HasPrefix(name, "PLDW")
}

// TestArmasmKnowsNoMore finds words that armasm decodes and the table has not.
func TestArmasmKnowsNoMore(t *testing.T) {
	n := rand.New(rand.NewPCG(3, 4))
	for range 2000000 {
		w := n.Uint32()
		if find(w) != nil {
			continue
		}
		if x, err := armtext.Decode(binary.LittleEndian.AppendUint32(nil, w)); err == nil && x.Op != 0 && !unknownHere(x.Op) && !reservedBits(w, x.Op) {
			t.Errorf("%#x: armasm says %v, the table has no row", w, x)
			return
		}
	}
}

// reservedBits reports that a row has the operation and wants other values in bits 0 to 19: armasm ignores
// many that should be zero or one.
func reservedBits(w uint32, op armasm.Op) bool {
	name := strings.ToLower(strings.Split(op.String(), ".")[0])
	for _, r := range rows {
		if (w^r.value)&r.mask&0x0ff00000 == 0 && sameName(r.name, name) {
			return true
		}
	}
	return false
}

// TestText compares with what GNU objdump prints, but that it leaves "ia" out.
func TestText(t *testing.T) {
	for word, want := range map[uint32]string{
		0xf10c0080: "cpsid i", 0xf1080080: "cpsie i", 0xf10c01c0: "cpsid aif", 0xf1020013: "cps #19", 0xf10e00c0 | 19: "cpsid if, #19",
		0xe8d00006: "ldmia r0, {r1, r2}^", 0xe8d08006: "ldmia r0, {r1, r2, pc}^", 0xe8fd8006: "ldmia sp!, {r1, r2, pc}^",
		0xe9c42080: "stmib r4, {r7, sp}^", 0x08d00006: "ldmiaeq r0, {r1, r2}^", 0xe8c46000: "stmia r4, {sp, lr}^",
	} {
		got, _ := disasm(binary.LittleEndian.AppendUint32(nil, word), 0, nil)
		require.That(t, got == want, "%08x is %q, want %q", word, got, want)
	}
}
