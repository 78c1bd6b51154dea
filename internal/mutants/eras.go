package mutants

import (
	"fmt"
	"slices"
	"strings"
)

// Era is a way in which kernels of some years changed text, and the variants of scenarios that have it.
type Era struct {
	Name  string
	By    []string
	Lacks []string // steps that only other eras have: files, folders, and beginnings of the names of mutants
}

// Eras lists them by instruction set and year.
func Eras() []Era {
	const (
		one         = "each-"
		stop        = "stop- smp/stop.go workloads/kernel/core/stop.c"
		breakpoints = "bp- no-notifier workloads/kernel/arch/x86/patch.c"
		vectors     = "batch- kprobes/batch.go workloads/kernel/arch/x86/patch_batch.c"
		single      = "tail-in-front first-in-front"
		caches      = "skip-"
		x86, arm    = "workloads/kernel/arch/x86/", "workloads/kernel/arch/arm/"
		ppc64       = "workloads/kernel/arch/ppc64/"
	)
	era := func(name, scenarios, variant string, lacks ...string) Era {
		e := Era{Name: name, Lacks: strings.Fields(strings.Join(lacks, " "))}
		for _, s := range strings.Fields(scenarios) {
			e.By = append(e.By, s+"/"+variant)
		}
		return e
	}
	const long, short = "optimize batch disable", "optimize several disable" // by the instructions that a jump replaces
	return []Era{
		era("2.6.34", long, "stop_machine-each", breakpoints, vectors, caches, arm, ppc64),
		era("2.6.38", long, "stop_machine", one, breakpoints, vectors, caches, arm, ppc64),
		era("3.12", long, "breakpoint", one, stop, vectors, caches, arm, ppc64),
		era("5.x", long, "2020", one, stop, single, caches, arm, ppc64),
		era("ARM, 3.18", short, "arm", one, breakpoints, vectors, x86, ppc64),
		era("ppc64, 4.11", short, "ppc64-store", one, stop, breakpoints, vectors, x86, arm),
	}
}

// has reports whether the era has the step that the mutant spoils.
func (e *Era) has(m *Mutant) bool {
	return !slices.ContainsFunc(e.Lacks, func(l string) bool { return strings.HasPrefix(m.File, l) || strings.HasPrefix(m.Title, l) })
}

// OfEras gives each era the mutants of the code that changes text, with its variants: of that in Go all, of switches of the program and
// of the guest those that are named. None is set where the era has no such step.
func OfEras(all []Mutant) (of []Mutant) {
	files := []string{"kprobes/patch.go", "kprobes/batch.go", "smp/stop.go"}
	named := []string{
		"no-quiesce", "free-early", "bare-jump", "no-notifier", "bp-skip-sync-1", "bp-skip-sync-2", "bp-skip-sync-3", "batch-no-wait",
		"flag-early", "skip-clean", "skip-invalidate", "skip-refetch", "stop-left-unsynced", "stop-runs-on-arrival",
		"stop-left-by-the-last", "tail-in-front", "first-in-front", "synced-here-alone", "batch-tails-unsynced", "stop-forgets-what-it-stored",
	}
	for _, e := range Eras() {
		for _, m := range all {
			if m.Title == "tasks-by-sched" || m.Title == "entry-calls-again" || !slices.Contains(files, m.File) && !slices.Contains(named, m.Title) {
				continue
			}
			if m.By = e.By; !e.has(&m) {
				m.None = "the era has no such step"
			}
			of = append(of, m)
		}
	}
	return of
}

// EraTable is a table for documents: what becomes of each mistake in each era. Mistakes of one class with the same outcomes share a row.
func EraTable(of []Mutant, list []Found) string {
	eras := Eras()
	n := len(of) / len(eras)
	head, line := "| class | mistake |", "|---|---|"
	for _, e := range eras {
		head, line = head+" "+e.Name+" |", line+"---|"
	}
	classes, rows, mistakes := []string{}, map[string][]string{}, map[string]string{}
	for i, m := range of[:n] {
		key := m.Class + " |"
		for j := range eras {
			key += " " + outcome(&of[j*n+i], list) + " |"
		}
		if rows[m.Class] == nil {
			classes = append(classes, m.Class)
		}
		if mistakes[key] == "" {
			rows[m.Class] = append(rows[m.Class], key)
		} else {
			mistakes[key] += "<br>"
		}
		mistakes[key] += fmt.Sprintf("`%s`: %s", m.Title, m.Effect)
	}
	out := head + "\n" + line + "\n"
	for _, c := range classes {
		for _, key := range rows[c] {
			out += "| " + c + " | " + mistakes[key] + " |" + strings.TrimPrefix(key, c+" |") + "\n"
		}
	}
	return out
}

// What becomes of a mistake in an era: it has no such step, no schedule shows it, every one does, or some do.
const excluded, unseen, always, timing = "excluded", "unseen", "always", "timing"

// outcome tells what becomes of one mutant, with the schedules to the first violation where the timing decides.
func outcome(m *Mutant, list []Found) string {
	switch f := At(list, m); {
	case m.None != "":
		return excluded
	case f == nil || !f.Caught():
		return unseen
	case f.InTurns != "-":
		return always
	default:
		return fmt.Sprintf("%s, %d", timing, f.Schedules)
	}
}
