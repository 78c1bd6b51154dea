package races

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/kprobes"
)

var update = flag.Bool("update", false, "rewrite testdata/reports")

// holdReport compares a report with the one that there was, and a long one by its sum. It shows that something else is found or said
// than before. Other tests say what is right.
func holdReport(t *testing.T, name, text string) {
	t.Helper()
	if n := strings.Count(text, "\n"); n > 60 {
		text = fmt.Sprintf("%d lines, %.6x\n", n, sha256.Sum256([]byte(text)))
	}
	require.Lines(t, "testdata/reports/"+name+".txt", text, *update)
}

// TestViolationsAreTold searches for the first mistake that a scenario catches, and has the first violation minimized and replayed.
func TestViolationsAreTold(t *testing.T) {
	names := []string{"jump-into", "icache", "free", "user", "rmmod", "watch", "stacks"}
	if !*update {
		names = hosttools.Share(t, "violations", 3, names)
	}
	for _, name := range names {
		s := require.Must(Load(name))(t)
		v := &s.Variants[slices.IndexFunc(s.Variants, func(v Variant) bool { return len(v.Catches) > 0 })]
		opt := Default()
		opt.Schedules, opt.Mutant, opt.Enough, opt.Workers = 600, v.Catches[0], 1, 1
		tally := require.Must(Search(s, v, opt))(t)
		require.Need(t, len(tally.Found) > 0, "%s/%s does not catch %s", name, v.Name, opt.Mutant)
		tried, on := 0, sha256.New() // the way there
		told := require.Must(Tell(s, v, opt, &tally.Found[0], 60, func(left, choices int) { tried++; fmt.Fprintln(on, left, choices) }))(t)
		text := fmt.Sprintf("%d stories tried, %.6x\n", tried, on.Sum(nil))
		if told != nil {
			text += fmt.Sprintf("%s\n%d preemptions: %s\n%s\n", told.Violation, told.Preemptions, told.Choices, strings.Join(told.Lines, "\n"))
		}
		holdReport(t, name, text)
		var replayed strings.Builder
		_ = require.Must(Replay(s, v, opt, tally.Found[0].N, Shown{Lines: 200}, &replayed))(t)
		holdReport(t, name+"-replay", replayed.String())
	}
}

// TestRowsOfASchedule holds what is told of a schedule without choices, in the first variant of scenarios of all sorts: of each kind of
// row how many there are, and the first.
func TestRowsOfASchedule(t *testing.T) {
	var out strings.Builder
	for _, name := range []string{"optimize", "free", "pool", "kretprobe", "nmi", "watch", "user-pages", "rmmod", "entry", "refuse"} {
		s := require.Must(Load(name))(t)
		r := &recorder{l: require.Must(newLab(s, &s.Variants[0], ""))(t), lines: 1}
		o := require.Must(r.follow(nil))(t)
		fmt.Fprintf(&out, "%s: %d instructions, %d rows, violation %v\n", name, o.Steps, len(r.tell.rows), o.Violation != nil)
		count, arrows, first := map[string]int{}, map[string]int{}, map[string]row{}
		for _, row := range r.tell.rows {
			kind, _, _ := strings.Cut(row.text, " ")
			if row.instructions > 0 {
				kind = "instructions"
			}
			arrows[kind] += len(row.ends)
			if count[kind]++; count[kind] == 1 {
				first[kind] = row
			}
		}
		for _, kind := range slices.Sorted(maps.Keys(count)) {
			x := first[kind]
			fmt.Fprintf(&out, "\t%d %s with %d arrows, the first by cpu %d at %d, weight %d, %x: %s\n", count[kind], kind, arrows[kind], x.cpu, x.step, x.weight, x.addr, x.text)
		}
	}
	require.Lines(t, "testdata/rows.txt", out.String(), *update)
}

// TestReportMutants writes a table of what has caught mutants.
func TestReportMutants(t *testing.T) {
	var b strings.Builder
	require.NoError(t, ReportMutants(&b, []Caught{{Mistake{Name: "m", Class: "order", Effect: "wrong"}, "x/2010", 12}, {Mistake{Name: "longer", Class: "lost", Effect: "none"}, "", 0}}))
	require.Equal(t, b.String(), "mutant  class  effect  caught by  schedules\nm       order  wrong   x/2010     12\nlonger  lost   none    nothing    0\n", "the table")
}

// TestSpoilWantsItsInstruction fails where the guest's code has no instruction that a mistake is made in.
func TestSpoilWantsItsInstruction(t *testing.T) {
	l := labOf(t, "icache", "2010", Options{})
	arch := *l.target.Probes
	arch.CodeMutants = []kprobes.CodeMutant{{Name: "m", Function: "find_probe", Insn: "^no such instruction$"}}
	l.target.Probes, l.mutant = &arch, "m"
	_, err := l.run(roundRobin{}, 0, 1)
	require.Error(t, err, "no instruction of find_probe", "a mistake in an instruction that is not there")
}

// TestTextEndsWhereNothingIsRead knows no start of an instruction behind bytes that are none, or behind one that is cut off.
func TestTextEndsWhereNothingIsRead(t *testing.T) {
	for code, want := range map[string]string{"\x20\x00\x10\x00\x10": "[2 0 1 0 0]", "\x20\x00\x30\x00": "[2 0 0 0]", "\x10\x20\x00": "[1 2 0]"} {
		arch := toyArch()
		if want == "[2 0 0 0]" {
			arch.Classify = func(code []byte, _ uint64) kprobes.Class { return kprobes.Class{Len: int(code[0] >> 4)} }
		}
		text := newText("f", 0x100, []byte(code), &forms{arch: arch})
		require.Equal(t, fmt.Sprint(text.length), want, "% x has instructions of bytes", code)
	}
}

// TestLeaksAreNoticed takes memory in each schedule that nobody gives back.
func TestLeaksAreNoticed(t *testing.T) {
	for leak, want := range map[int]bool{0: false, 1: true} {
		l := labOf(t, "optimize", "breakpoint", Options{})
		l.watch = func(x *trial) {
			x.e.started = func(uint64) {
				for range leak {
					_, _ = x.m.Alloc(64, 16)
				}
			}
		}
		out := require.Must(l.run(newRandom(1), 0, 2))(t)
		v := out[len(out)-1].Violation
		require.That(t, (v != nil) == want && (v == nil || v.Kind == Leaked && strings.Contains(v.String(), "pieces of memory are taken")), "%d pieces leak: %v", leak, v)
	}
}

// TestTextThatIsNotMapped ends a machine whose text cannot be read.
func TestTextThatIsNotMapped(t *testing.T) {
	for name, look := range map[string]func(g guest){
		"to read":    func(g guest) { g.Text(16, 4) },
		"to compare": func(g guest) { g.TextIs(16, []byte{1}) },
	} {
		l := labOf(t, "optimize", "breakpoint", Options{})
		l.watch = func(x *trial) { look(guest{x.m}) }
		_, err := l.run(newRandom(1), 0, 1)
		require.Error(t, err, "not mapped", "text %s", name)
	}
}
