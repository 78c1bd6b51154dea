package arm

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	cpu "kprobesim/cpus/arm"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/kprobes"
)

// refusals are the instructions that no kernel probes, as the processor's table names them. Of "ldm" and others that
// begin so, some are refused.
const refusals = `msr,msr spsr,msr constant,msr spsr constant,mrs spsr,bkpt,svc,udf,mcr,mrc,mcr debug,mrc debug,mcrr,mrrc,
	cps,setend le,srs,rfe,blx constant,clrex,dsb,dmb,isb,bxj,
	strex,ldrex,strexd,ldrexd,strexb,ldrexb,strexh,ldrexh`

// neverProbed says by the processor's name of an instruction whether it must be refused.
func neverProbed(name string, w word) bool {
	first, _, _ := strings.Cut(name, " ")
	switch {
	case slices.ContainsFunc(strings.Split(refusals, ","), func(n string) bool { return strings.TrimSpace(n) == name }):
		return true
	case strings.HasPrefix(name, "ldm"), strings.HasPrefix(name, "stm"):
		return strings.HasSuffix(name, " user") || strings.HasSuffix(name, " return")
	}
	// A data-processing instruction that sets flags and writes the program counter returns from an exception.
	return strings.HasSuffix(first, "s") && w.field(26, 2) == 0 && w.bit(20) && w.d() == pc
}

// holdWord holds one word against the processor's table: what it does not know is refused, what it knows is
// refused by name alone.
func holdWord(t *testing.T, w uint32) {
	t.Helper()
	name := cpu.Named(w)
	for _, year := range []int{2010, conditionsFrom} {
		how := decide(word(w), year)
		want := name != "" && !neverProbed(name, word(w))
		require.Equal(t, how.kind != refused, want, "%d, %08x %q: probed", year, w, name)
		if how.kind == emulated {
			holdCopy(t, word(w), how, year)
		}
	}
	holdConsistent(t, word(w))
}

// holdCopy wants a copy to be the same instruction with other registers.
func holdCopy(t *testing.T, w word, how way, year int) {
	t.Helper()
	got, want := cpu.Named(uint32(how.copy)), cpu.Named(uint32(w))
	require.That(t, got == want, "%d, %08x %q: the copy %08x is %q", year, w, want, how.copy, got)
	cond := how.copy & condition
	require.That(t, cond == always || year < conditionsFrom && cond == w&condition, "%d, %08x: the copy %08x has another condition", year, w, how.copy)
	if regs := find(w).regs; regs != "" {
		for _, f := range fields {
			require.That(t, !strings.ContainsRune(strings.ToLower(regs), f.name) || how.copy.field(f.at, 4) <= pairAt, "%d, %08x: the copy %08x has a register that nobody passes", year, w, how.copy)
		}
	}
}

// site is a function of three instructions, of which the second is to be replaced.
func site(w word) kprobes.Site {
	code := slices.Concat(bytesOf(0xe1a00000), bytesOf(w), bytesOf(0xe12fff1e))
	return kprobes.Site{Fn: kprobes.Text{Name: "f", Start: 0x1000, Code: code}, Addr: 0x1004}
}

// testTemplate is a detour template without what saves registers: room, the stack pointer, and two literals.
func testTemplate() kprobes.Template {
	var code []byte
	for _, w := range []word{0xe24dd048, 0xe28d3048, 0xe8ddffff, 0, 0} {
		code = append(code, bytesOf(w)...)
	}
	return kprobes.Template{Code: code, Marks: []int{0, 4, 12, 16}}
}

func detourAt() kprobes.DetourAt {
	return kprobes.DetourAt{Addr: 0xc0020000, Probe: 0xc0345678, Calls: []uint64{0xc0030000}}
}

// holdConsistent wants what may be optimized to be prepared, a breakpoint to be refused, and each of them to
// be read back.
func holdConsistent(t *testing.T, w word) {
	t.Helper()
	c := classify(bytesOf(w), 0x1004)
	r, refusal := region(site(w))
	require.That(t, (c.Kind == kprobes.ClassBreakpoint) == (refusal != nil && refusal.Rule == kprobes.RuleForeign), "%08x is %+v and refused by %v", w, c, refusal)
	if refusal != nil {
		return
	}
	_, err := prepare(kprobes.Insn{Code: r.Code, Slot: 0x4000, Year: conditionsFrom})
	require.That(t, err == nil || w.below() > keptFree, "%08x may be optimized and not be probed: %v", w, err)
	if _, refusal := detour(testTemplate(), r, detourAt()); refusal != nil {
		t.Errorf("%08x may be optimized and has no detour buffer: %v", w, refusal)
	}
	for _, code := range [][]byte{Arch().Conditional(r.Code), jumpFrom(r)} {
		if got := wordOf(code) & condition; got != w&condition && (w.conditional() || got != always) {
			t.Errorf("%08x: %08x in its place has another condition", w, wordOf(code))
		}
	}
}

// TestSpins knows the hint of a thread that waits, on any condition.
func TestSpins(t *testing.T) {
	for w, spins := range map[word]bool{0xe320f001: true, 0x0320f001: true, 0xe320f000: false, 0xe320f002: false, 0xf320f001: false} {
		require.Equal(t, classify(bytesOf(w), 0x1004).Kind == kprobes.ClassSpin, spins, "%08x spins", w)
	}
}

func jumpFrom(r kprobes.Region) []byte {
	code, _ := jump(r, r.Addr+0x100)
	return code
}

// Words of every encoding of the processor's table, and words of no special kind.
func TestEveryEncoding(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, e := range cpu.Encodings() {
		for range 300 {
			w := r.Uint32()&^e.Mask | e.Value
			if e.Conditional {
				w = w&^uint32(condition) | r.Uint32N(15)<<28
			}
			holdWord(t, w)
			holdWord(t, w^1<<r.Uint32N(28)) // a neighbour of it
		}
		if t.Failed() {
			return
		}
	}
	for range hosttools.Part(t, "random words", 200_000, 50_000) {
		holdWord(t, r.Uint32())
		if t.Failed() {
			return
		}
	}
}

// Every row decides about some word: none is hidden by the ones before it. Every function that the rows name is
// reached.
func TestEveryRowDecides(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range rows {
		if !slices.ContainsFunc(make([]int, 20_000), func(int) bool {
			w := word(r.Uint32())&^rows[i].mask | rows[i].value
			if rows[i].mask&condition == 0 {
				w = w.like(always)
			}
			return find(w) == &rows[i]
		}) {
			t.Errorf("row %q decides about nothing", rows[i].bits)
		}
	}
}

func FuzzRules(f *testing.F) {
	for _, w := range []uint32{undefined, 0xe1a0c00d, 0xe92d4ff8, 0xea000010, 0xe12fff1e, 0xe8bd8010, 0x15832004, 0xf1080080} {
		f.Add(w)
	}
	f.Fuzz(holdWord)
}
