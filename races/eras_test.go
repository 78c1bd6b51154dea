package races

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kprobesim/cpus"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/mutants"
	"kprobesim/internal/require"
)

// erasFound holds what searches have made of mistakes in the eras of changing text.
const erasFound = "eras.found"

// mistakesOfEras are the mutants that each era is asked for: the program's switches, and the list of other mutants.
func mistakesOfEras(t *testing.T) (all, of []mutants.Mutant) {
	t.Helper()
	all = protocolMutants(t)
	for _, m := range Mistakes() {
		all = append(all, mutants.Mutant{Title: m.Name, Class: m.Class, Effect: m.Effect})
	}
	return all, mutants.OfEras(all)
}

// TestErasAreSearched wants each mistake to have been searched for in each era that has its step.
func TestErasAreSearched(t *testing.T) {
	_, of := mistakesOfEras(t)
	found := require.Must(mutants.ReadFound(erasFound))(t)
	searched := 0
	for i := range of {
		m := &of[i]
		if m.None == "" {
			searched++
		}
		require.That(t, (mutants.At(found, m) == nil) == (m.None != ""), "%s of %s is not in %s: run make eras PROTOCOLS=new", m, m.By[0], erasFound)
	}
	require.Equal(t, len(found), searched, "lines of %s", erasFound)
}

// TestErasAgree searches again for those switches of the program that an era notices at once, and wants the same to be found.
func TestErasAgree(t *testing.T) {
	const quick = 3
	_, of := mistakesOfEras(t)
	found := require.Must(mutants.ReadFound(erasFound))(t)
	for _, m := range hosttools.Share(t, "mistakes of eras", 4, of) {
		f := mutants.At(found, &m)
		if m.File != "" || f == nil || !f.Caught() || f.Schedules > quick {
			continue
		}
		require.Equal(t, searchSwitch(t, &m, quick), *f, "%s, %s", f.Title, f.By)
	}
}

// TestErasExclude wants a mistake in a step that an era does not have to change nothing that its kernels execute. Of the guest's sources no
// line is executed then, and of a step that an era has some is. A switch leaves every instruction the same.
func TestErasExclude(t *testing.T) {
	_, of := mistakesOfEras(t)
	of = hosttools.Share(t, "mistakes in the protocols of eras", 3, of)
	plain, changed := map[string]*eraRun{}, 0
	for _, m := range of {
		executed := false
		for _, by := range m.By {
			if plain[by] == nil {
				plain[by] = runEra(t, by, "")
			}
			switch {
			case m.Guest():
				executed = executed || plain[by].executes(t, &m)
			case m.File == "":
				same := runEra(t, by, m.Title).sum == plain[by].sum
				require.That(t, same || m.None == "", "%s of %s executes something else, though %s", &m, by, m.None)
				if !same {
					changed++
				}
			}
		}
		require.That(t, !m.Guest() || executed == (m.None == ""), "%s of %s: its lines are executed %v; the table says %q", &m, m.By[0], executed, m.None)
	}
	require.That(t, 4*changed > len(of), "switches of the program change %d runs, with %d mistakes", changed, len(of))
}

// TestErasExcludeGo is TestErasExclude of mistakes in the program's own code.
func TestErasExcludeGo(t *testing.T) {
	hosttools.Long(t, "mutants of the protocols, which take a build", "TestErasExclude runs those of the guest's sources and the program's switches")
	all, of := mistakesOfEras(t)
	protocols := slices.DeleteFunc(all, func(m mutants.Mutant) bool { return m.File == "" })
	b := require.Must(mutants.NewBench(require.Must(filepath.Abs(".."))(t), t.TempDir(), protocols))(t)
	plain := map[string]uint64{}
	for _, m := range of {
		if m.None == "" || m.Guest() || m.File == "" {
			continue
		}
		i := slices.IndexFunc(protocols, func(p mutants.Mutant) bool { return p.Title == m.Title })
		out := require.Must(b.Output(t.Context(), i, "races.TestEraRuns", 10*time.Minute, erasEnvironment+"="+strings.Join(m.By, " ")))(t)
		for _, by := range m.By {
			if plain[by] == 0 {
				plain[by] = runEra(t, by, "").sum
			}
			require.That(t, strings.Contains(out, fmt.Sprintf("%s %s %#x\n", erasEnvironment, by, plain[by])), "%s of %s executes something else, though %s:\n%s", &m, by, m.None, out)
		}
	}
}

// erasEnvironment has variants for TestEraRuns.
const erasEnvironment = "KPROBESIM_ERAS"

// TestEraRuns tells what variants execute in the binary that it is in, which has mutants in it.
func TestEraRuns(t *testing.T) {
	for _, by := range strings.Fields(os.Getenv(erasEnvironment)) {
		fmt.Printf("%s %s %#x\n", erasEnvironment, by, runEra(t, by, "").sum)
	}
}

// eraRun has the instructions that a few schedules of a variant execute.
type eraRun struct {
	l    *lab
	sum  uint64 // of all instructions in their order, with their CPUs and times
	at   map[uint64]bool
	seen cpus.Observer
}

func runEra(t *testing.T, by, mutant string) *eraRun {
	t.Helper()
	s, v := variantOf(t, by, map[string]*Scenario{})
	r := &eraRun{l: require.Must(newLab(s, v, mutant))(t), at: map[uint64]bool{}}
	r.l.watch = func(t *trial) {
		r.seen = t.checker
		t.watch(r, true)
	}
	const schedules = 3
	_, err := r.l.run(newRandom(1), 0, schedules)
	if mutant != "" && err != nil && strings.Contains(err.Error(), "is a mistake in code that") {
		return runEra(t, by, "") // of another instruction set
	}
	require.NoError(t, err)
	return r
}

// Step implements cpus.Observer.
func (r *eraRun) Step(s *cpus.Step) {
	for _, v := range [...]uint64{uint64(s.CPU), s.PC, uint64(s.End)} {
		r.sum = (r.sum ^ v) * 1099511628211 // as FNV-1a does by bytes
	}
	r.at[s.PC] = true
	r.seen.Step(s)
}

// executes reports whether a line of the mutant's old text is executed.
func (r *eraRun) executes(t *testing.T, m *mutants.Mutant) bool {
	t.Helper()
	text := string(require.Must(os.ReadFile(filepath.Join("..", m.File)))(t))
	before, _, ok := strings.Cut(text, m.Old)
	require.Need(t, ok, "%s is not in its file", m)
	first := strings.Count(before, "\n") + 1
	for pc := range r.at {
		file, line, ok := r.l.im.Line(pc)
		if ok && strings.HasSuffix(m.File, file) && line >= first && line <= first+strings.Count(m.Old, "\n") {
			return true
		}
	}
	return false
}

// TestErasNotice searches by hand, and writes down what was found.
func TestErasNotice(t *testing.T) {
	if *protocolFlag == "" {
		t.Skip("on demand: make eras searches for all mistakes in all eras, for half an hour")
	}
	all, of := mistakesOfEras(t)
	for i := range all {
		all[i].Images = nil
	}
	for i := range of {
		at := slices.IndexFunc(all, func(m mutants.Mutant) bool { return m.Title == of[i].Title })
		for _, by := range of[i].By {
			_, v := variantOf(t, by, map[string]*Scenario{})
			if of[i].None == "" && of[i].Guest() && !slices.Contains(all[at].Images, v.Image()) {
				all[at].Images = append(all[at].Images, v.Image())
			}
		}
	}
	protocols := slices.DeleteFunc(slices.Clone(all), func(m mutants.Mutant) bool { return m.File == "" })
	b := require.Must(mutants.NewBench(require.Must(filepath.Abs(".."))(t), t.TempDir(), protocols))(t)
	for i := range of {
		found := require.Must(mutants.ReadFound(erasFound))(t)
		m := &of[i]
		if m.None != "" || !protocolWanted(m, found) {
			continue
		}
		f, err := searchEra(t, b, slices.IndexFunc(protocols, func(p mutants.Mutant) bool { return p.Title == m.Title }), m)
		if err != nil {
			t.Error(err)
			continue
		}
		found = slices.DeleteFunc(found, func(o mutants.Found) bool { return o.Title == f.Title && o.Sum == f.Sum })
		require.NoError(t, mutants.WriteFound(erasFound, of, append(found, f)))
	}
}

// searchEra searches for one mistake in one era. It is in a binary of its own where it is the mutant at a place of the list.
func searchEra(t *testing.T, b *mutants.Bench, at int, m *mutants.Mutant) (mutants.Found, error) {
	t.Helper()
	if at >= 0 {
		return searchWoven(t, b, at, m, *scheduleFlag)
	}
	return searchSwitch(t, m, *scheduleFlag), nil
}

// searchSwitch searches for a mistake that the program has a switch for.
func searchSwitch(t *testing.T, m *mutants.Mutant, schedules uint64) mutants.Found {
	t.Helper()
	f := searchVariants(t, m.Title, m.By, schedules).Found
	f.Title, f.Sum = m.Title, m.Sum()
	t.Logf("%s, %s: %s, %s, in turns %s, %d schedules", m.Title, m.By[0], f.By, f.Kind, f.InTurns, f.Schedules)
	return f
}
