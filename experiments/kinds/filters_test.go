package kinds

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/experiments/schema"
	"kprobesim/image"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// A letters is an observer that keeps what it is told of, a letter for an instruction.
type letters struct{ strings.Builder }

func (l *letters) Step(s *cpus.Step) { l.WriteByte(s.Code[0]) }

// A loop of two instructions, l and m, stands between k and n, and a target of two is t and u.
const places = "...klmntu"

var loopOfLetters, targetOfLetters = image.Func{Entry: 4, Size: 2}, image.Func{Entry: 7, Size: 2}

// tellOf tells an observer of instructions of two CPUs in turn. Each takes a tick more than the one before it. Capital letters are in user
// mode, or keep interrupts out.
func tellOf(o cpus.Observer, text string) {
	code, now := []byte{0}, clock.Ticks(0)
	for i := range text {
		code[0] = text[i]
		begin := now
		now += clock.Ticks(i + 1)
		o.Step(&cpus.Step{PC: uint64(strings.IndexByte(places, text[i]|0x20)), User: text[i] < 'a', Masked: text[i] < 'a', CPU: i % 2, Code: code, Start: begin, End: now})
	}
}

// TestFilters tells what passes on some calls, and what measures them, of a few.
func TestFilters(t *testing.T) {
	for of, want := range map[string][]string{
		"lmtulmtum":     {"tutu", "tu", ""},
		"mnktunlkntkl":  {"nktunkntk", "kntk", ""}, // what is in front of a call and behind it is its own
		"nlkmtulmknlkt": {"tukt", "kt", ""},        // what interrupts the loop is not
	} {
		for skip, want := range want {
			out := &letters{}
			tellOf(&callFilter{to: out, target: targetOfLetters, loop: loopOfLetters, skip: int64(skip)}, of)
			require.Equal(t, out.String(), want, "%s, of which %d calls are skipped", of, skip)
		}
	}
	for of, want := range map[string][]string{
		"LMtutLMtuM": {"MtutL", "MtuM", ""}, // a call begins with the last instruction in user mode, and ends with the next
		"LkLtuLMktL": {"LtuL", "MtL", ""},   // not every way into the kernel is a call
	} {
		for skip, want := range want {
			out := &letters{}
			tellOf(&userFilter{to: out, entry: targetOfLetters.Entry, skip: int64(skip)}, of)
			require.Equal(t, out.String(), want, "%s, of which %d calls are skipped", of, skip)
		}
	}
	for of, want := range map[string]string{
		"lmtulm":      "[7]",
		"ltultktum":   "[5 26]", // the second begins with the first of its entries
		"tutlmknktnm": "[6 19]", // of a call that had begun, all that is seen
	} {
		a, b := &letters{}, &letters{}
		w := &callWatch{next: &twoObservers{a, b}, target: targetOfLetters, loop: loopOfLetters}
		tellOf(w, of)
		require.That(t, a.String() == of && b.String() == of, "%s is told on as %s and %s", of, a, b)
		require.Equal(t, fmt.Sprint(w.taken), want, "what calls of %s take", of)
	}
	for of, want := range map[string]string{"lMTul": "9 [0]", "LltNMn": "15 [0]", "tLkMNtkt": "15 [0 5 8]"} {
		w := &irqWatch{timer: targetOfLetters.Entry, period: 10}
		tellOf(w, of)
		require.Equal(t, fmt.Sprint(w.longest, w.taken), want, "the longest stretch without interrupts and how late they are in %s", of)
	}
	each := ofCPUs{&letters{}, &letters{}}
	tellOf(each, "lmtunk")
	require.Equal(t, fmt.Sprint(each), "[ltn muk]", "what two CPUs are told")
}

// TestSums adds samples, and takes one away again.
func TestSums(t *testing.T) {
	a := Sample{1, 2, []clock.Ticks{3, 4}, 5, Counts{6, 7, 8, 9}}
	b := Sample{10, 20, []clock.Ticks{30, 40}, 50, Counts{60, 70, 80, 90}}
	sum := a.Add(b)
	require.Equal(t, fmt.Sprint(sum, sum.Sub(a), a), "{11 22 [33 44] 55 {66 77 88 99}} {10 20 [30 40] 50 {60 70 80 90}} {1 2 [3 4] 5 {6 7 8 9}}", "a sum, a difference and what they are of")
}

// TestPercentile takes the smallest time that at least 99 of a hundred do not exceed: of fewer than a hundred the largest.
func TestPercentile(t *testing.T) {
	s := &session{p: pointOf(schema.LinuxProbe{})}
	for n, want := range map[int]int64{1: 1, 2: 2, 99: 99, 100: 99, 101: 100, 199: 198, 200: 198} {
		m, late := &Measurement{}, []clock.Ticks{}
		for i := range n {
			late = append(late, clock.FromCycles(int64(i+1)*2000)) // a microsecond each
		}
		s.noteLate(m, "", late)
		i := slices.IndexFunc(m.Quantities, func(q Quantity) bool { return q.Metric == metricLate99 })
		require.Equal(t, m.Quantities[i].Num/m.Quantities[i].Den, want, "of %d", n)
	}
}
