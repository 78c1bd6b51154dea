package races

import (
	"path/filepath"
	"slices"
	"testing"

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
