package explaining

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/internal/require"
	"kprobesim/kprobes"
)

// TestResolve finds places by name, offset and address, and says how one is written that is none.
func TestResolve(t *testing.T) {
	k := require.Must(Open("i386-2010", ""))(t)
	f, _ := k.point.Image.Func("bench_target")
	for _, x := range []struct {
		place string
		want  uint64
		said  string
	}{
		{"bench_target", f.Entry, ""},
		{"bench_target+0x2", f.Entry + 2, ""},
		{"bench_target+010", f.Entry + 8, ""},
		{fmt.Sprint("bench_target+", f.Size-1), f.Entry + f.Size - 1, ""},
		{fmt.Sprint("bench_target+", f.Size), 0, fmt.Sprintf("bench_target is %#x bytes long", f.Size)},
		{"bench_target+", 0, "write the offset as a number, such as bench_target+0x10"},
		{"bench_target+x", 0, "write the offset as a number"},
		{"bench_target+0x100000000", 0, "write the offset as a number"},
		{"0x1234", 0x1234, ""},
		{"0xc0100000000000000", 0, fmt.Sprintf("write an address as %#x", k.functions[0].Start)},
		{"0xyz", 0, "write an address as 0x"},
		{"bench_tarket", 0, "image i386-2010 has no symbol bench_tarket (see `kprobesim list symbols --image i386-2010`)"},
		{"", 0, "has no symbol"},
	} {
		got, err := k.Resolve(x.place)
		require.That(t, got == x.want && (err == nil) == (x.said == "") && strings.Contains(fmt.Sprint(err), x.said), "%s: %#x, %v; want %#x, %q", x.place, got, err, x.want, x.said)
	}
	all := k.All()
	require.That(t, slices.IsSorted(all) && len(slices.Compact(slices.Clone(all))) == len(all), "instructions are not in order, or there twice")
	for _, fn := range k.functions {
		require.That(t, slices.Contains(all, fn.Start), "%s does not begin among all instructions", fn.Name)
	}
	require.Error(t, require.Err(Open("i386-1999", "")), "no image \"i386-1999\": known are ", "no image")
	require.Error(t, require.Err(Open("i386-2010", "nothing")), "nothing", "no machine")
	require.Error(t, require.Err(Open("i386-2010", "power5-1656")), "the kernel is i386, machine power5-1656 is ppc64", "a machine of another instruction set")
}

// TestWords says each verdict and each answer in words, and compares all answers with all verdicts.
func TestWords(t *testing.T) {
	denied := Verdict{Rule: kprobes.RuleBlacklist, Errno: 22, Why: "it is listed"}
	taken := func(first, then kprobes.Mode, kept kprobes.Rule, retried bool) Verdict {
		var v Verdict
		j := kprobes.Verdict{First: first, Then: then, Retried: retried}
		if kept != "" {
			j.Kept = &kprobes.Refusal{Rule: kept, Text: "because"}
		}
		v.fill(j)
		return v
	}
	stepped, boosted, emulated, ftrace := kprobes.Stepped, kprobes.Boosted, kprobes.Emulated, kprobes.Ftrace
	var said []string
	verdicts := []Verdict{
		denied, taken(stepped, stepped, kprobes.RuleBoundary, false), taken(stepped, boosted, "", false), taken(stepped, boosted, kprobes.RulePreempt, true),
		taken(stepped, emulated, kprobes.RuleBoundary, false), taken(emulated, emulated, "", true), taken(ftrace, ftrace, kprobes.RuleNotCopied, false),
	}
	answers := []Answer{
		{Errno: 22},
		{Errno: 16},
		{Mode: "stepped", Kept: kprobes.RuleBoundary},
		{Mode: "optimized"},
		{Mode: "optimized", Pending: true},
		{Mode: "boosted", Kept: kprobes.RulePreempt},
		{Mode: "stepped", Kept: kprobes.RulePreempt},
		{Mode: "emulated", Kept: kprobes.RuleBoundary},
		{Mode: "ftrace", Kept: kprobes.RuleNotCopied},
		{Mode: "stepped"},
		{Mode: "boosted"},
	}
	for _, v := range verdicts {
		text := strings.Join(v.Sentences(), "; ") + " (" + v.Mode().String() + ")"
		for _, a := range answers {
			if a.Agrees(&v) {
				text += ", as " + a.String()
			}
		}
		said = append(said, text)
	}
	exptest.Golden(t, "words.txt", strings.Join(said, "\n")+"\n")
	require.Equal(t, answers[8].String()+", "+answers[9].String(), "a probe that is ftrace (neither-copied-nor-emulated), a probe that is stepped", "answers in words")
}
