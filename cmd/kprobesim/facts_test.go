package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// facts holds the output of the module of facts in a kernel: names in their order, and values by name.
type facts struct {
	names  []string
	values map[string]string
}

// readFacts reads the facts of a kernel, which tests of modules and distro hold.
func readFacts(t *testing.T, kernel string) facts {
	t.Helper()
	b := require.Must(os.ReadFile(filepath.Join("..", "..", "modules", "testdata", "facts", kernel+".txt")))(t)
	f := facts{values: map[string]string{}}
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		f.names = append(f.names, name)
		f.values[name] = value
	}
	return f
}

// why explains facts that are not the same in all years. The first reason that matches an instruction set and a name counts.
type why struct{ names, reason string }

func reasons() []why {
	return []why{
		{` (return-)?place\.(unknown|unknown-with-offset|empty-name|symbol-of-nobody)$|-fails$| gone\.by-name$| jprobe\.unknown$`, "no such symbol: `-ENOENT` from 3.1 on"},
		{` place\.(low|low-page|last|heap|stack|negative-offset)$| return-place\.low$| gone\.by-address$`, "nothing lies at the address: `-ENOENT` from 5.18 on"},
		{`quiet$`, "`NOKPROBE_SYMBOL` of a module counts from 5.8 on"},
		{`place\.switch$`, "the switch of tasks, see the eras above"},
		{` place\.own-registration$`, "registering is a call out of the simulated machine"},
		{` return-place\.(middle|plain-8)$`, "return probes stand where functions begin, from 4.12 on"},
		{` instruction\.(return_interrupt|call_.*|jump_.*|virtual_.*)$`, "without steps, what cannot be emulated is refused"},
		{` instruction\.breakpoint$`, "nobody copies a breakpoint of somebody else any more"},
		{` instruction\.behind-breakpoint$`, "a breakpoint on the way ends the look for instructions in 2010 alone"},
		{` instruction\.(inside|last-byte|behind-prefix)$`, "the start of an instruction is looked for from 2010 on"},
		{` nested\.`, "a probe that is hit during another hit was taken away in 2005, and is counted later"},
		{`^(x86_64|i386) .*(traced|first-nop)$`, "a probe at a function's entry is a call"},
		{`flags`, "disabled (2), gone (1); a function's entry (16) and its call (8) from 5.18 on"},
		{` switch\.(registered-)?disabled$`, "`kprobe_disabled` is a bool from 5.16 on"},
		{` handler\.interrupts-off-after-`, "an emulated hit is one exception, and its post handler runs in it"},
		{` return\.interrupts-off$`, "the handler of a return holds a lock, comes by a trap, or neither"},
		{` return\.(maxactive|calls|missed)-(default|negative)$`, "instances of a return probe that names no number"},
		{` return\.size-`, "at most 4096 bytes of data, from 5.16 on"},
		{` return\.(refused|.*behind-refusals)$`, "an entry handler that refused a call lost its instance"},
		{` life\.hits-again$`, "a structure that is used again is still disabled, from 2010 on"},
		{` jump\.interrupts-off$`, "a detour leaves interrupts as the code had them"},
		{` jump\.probe-behind-left$`, "the jump comes back when the other probe goes; 6.1 looks too early"},
		{` jump\.`, "first byte of the text: a breakpoint or a jump"},
		{` exit\.own-`, "a module that goes takes no probes"},
	}
}

// factRow is a row of the table: facts with one reason and the same values.
type factRow struct {
	names, values []string
	reason        string
}

// factRows are the facts that differ between kernels, in the order of the last one's.
func factRows(t *testing.T, kernels []string, used map[string]bool) (rows []factRow) {
	t.Helper()
	all := make([]facts, len(kernels))
	for i, k := range kernels {
		all[i] = readFacts(t, k)
	}
	for _, name := range namesOf(all) {
		values, distinct := make([]string, len(all)), map[string]bool{}
		for i, f := range all {
			if v := f.values[name]; v != "" && v != "absent" {
				values[i], distinct[v] = v, true
			}
		}
		if len(distinct) < 2 {
			continue
		}
		isa, _, _ := strings.Cut(kernels[0], "-")
		reason := reasonOf(t, isa+" "+name, used)
		i := slices.IndexFunc(rows, func(r factRow) bool { return r.reason == reason && slices.Equal(r.values, values) })
		if i < 0 {
			i, rows = len(rows), append(rows, factRow{values: values, reason: reason})
		}
		rows[i].names = append(rows[i].names, name)
	}
	return rows
}

// namesOf returns the names of all facts, beginning with the newest kernel.
func namesOf(all []facts) (names []string) {
	seen := map[string]bool{}
	for _, f := range slices.Backward(all) {
		for _, n := range f.names {
			if !seen[n] {
				names = append(names, n)
			}
			seen[n] = true
		}
	}
	return names
}

func reasonOf(t *testing.T, name string, used map[string]bool) string {
	t.Helper()
	for _, w := range reasons() {
		if regexp.MustCompile(w.names).MatchString(name) {
			used[w.names] = true
			return w.reason
		}
	}
	t.Errorf("nobody says why %s differs between years", name)
	return ""
}

// factsTable has a table for each family of instruction sets. Kernels of i386 share the rows of x86-64, and add some of their own.
func factsTable(t *testing.T) string {
	t.Helper()
	used, out := map[string]bool{}, ""
	for _, isa := range []struct {
		title string
		years []string
		more  string
	}{
		{"x86_64", []string{"2005", "2006", "2010", "2020"}, "linux-6.1-amd64"},
		{"i386", []string{"2005", "2006", "2010", "2020"}, "linux-6.1-686"},
		{"ppc64", []string{"2005", "2010", "2011", "2017"}, ""},
		{"arm", []string{"2010", "2014"}, ""},
	} {
		var kernels []string
		for _, year := range isa.years {
			kernels = append(kernels, isa.title+"-"+year)
		}
		heads := isa.years
		if isa.more != "" {
			kernels, heads = append(kernels, isa.more), append(heads, "Linux 6.1")
		}
		rows := factRows(t, kernels, used)
		if isa.title == "i386" {
			rows = exceptFor(rows, factRows(t, []string{"x86_64-2005", "x86_64-2006", "x86_64-2010", "x86_64-2020", "linux-6.1-amd64"}, used))
		}
		out += fmt.Sprintf("\n| %s | %s | why |\n|---|%s---|\n", strings.Replace(isa.title, "i386", "i386, where it differs from x86_64", 1),
			strings.Join(heads, " | "), strings.Repeat("---|", len(heads)))
		for _, r := range joined(rows) {
			out += fmt.Sprintf("| `%s` | %s | %s |\n", strings.Join(r.names, "` `"), strings.Join(r.values, " | "), r.reason)
		}
	}
	for _, w := range reasons() {
		require.That(t, used[w.names], "no fact differs any more because of %q", w.reason)
	}
	return strings.TrimPrefix(out, "\n")
}

// joined makes one row of the facts with one reason that change between the same years. It has the values of the first.
func joined(rows []factRow) (out []factRow) {
	for _, r := range rows {
		i := slices.IndexFunc(out, func(o factRow) bool { return o.reason == r.reason && changeTogether(o.values, r.values) })
		if i < 0 {
			i, out = len(out), append(out, factRow{values: r.values, reason: r.reason})
		}
		out[i].names = append(out[i].names, r.names...)
	}
	return out
}

// changeTogether says whether two facts change between the same years, as far as both have values.
func changeTogether(a, b []string) bool {
	for i := range len(a) - 1 {
		known := a[i] != "" && a[i+1] != "" && b[i] != "" && b[i+1] != ""
		if known && (a[i] == a[i+1]) != (b[i] == b[i+1]) {
			return false
		}
	}
	return true
}

// exceptFor leaves out of rows the facts that others have with the same values.
func exceptFor(rows, others []factRow) (out []factRow) {
	known := map[string]bool{}
	for _, r := range others {
		for _, n := range r.names {
			known[n+"|"+strings.Join(r.values, "|")] = true
		}
	}
	for _, r := range rows {
		r.names = slices.DeleteFunc(r.names, func(n string) bool { return known[n+"|"+strings.Join(r.values, "|")] })
		if len(r.names) > 0 {
			out = append(out, r)
		}
	}
	return out
}
