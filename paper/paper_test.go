package paper

import (
	"errors"
	"maps"
	"regexp"
	"testing"

	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
	"kprobesim/results"
)

// TestMissingMaterial has each function of the template ask for what there is not. The paper fails with the reason.
func TestMissingMaterial(t *testing.T) {
	reason := errors.New("nobody has run it")
	in := Input{
		Set:      func(string) (*results.Set, error) { return nil, reason },
		Plan:     func(string) (*schema.Plan, error) { return nil, reason },
		Searches: func() ([]Search, error) { return nil, reason },
		Name:     "x",
	}
	for _, call := range []string{
		`num (val "x" "k" "cycles_per_hit")`, `num (cycles "x" "k")`, `num (us "x" "k")`, `errors "x" "predicted"`, `sisters "x"`, `repeats "x"`,
		`num (most "x" "kernel.cpus")`, `num (distinct "x" "machine")`, `figure "x" "phases" ""`, `published "x"`, `setups "x"`, `machines "x"`,
		`users "x"`, `watches "x"`, `sources "x"`, `races`, `num schedules`, `num violations`, `num caught`, `num mutants`,
	} {
		in.Template = "<<" + call + ">>"
		files, err := Make(in)
		require.That(t, errors.Is(err, reason) && files == nil, "%s: %v", call, err)
	}
	in.Template, in.Set = `<<val "x" "k" "cycles_per_hit">>`, func(string) (*results.Set, error) { return &results.Set{}, nil }
	require.Error(t, require.Err(Make(in)), `x has no cycles_per_hit of a point "k"`, "an empty set")
}

// TestReferences wants an entry of the bibliography for each citation, and a citation for each entry.
func TestReferences(t *testing.T) {
	text := map[string]string{}
	for _, name := range []string{TexName, BibName} {
		b := require.Must(files.ReadFile(name))(t)
		text[name] = string(b)
	}
	entries := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^@\w+\{(\w+),`).FindAllStringSubmatch(text[BibName], -1) {
		entries[m[1]] = true
	}
	cited := map[string]bool{}
	for _, m := range regexp.MustCompile(`\\cite\{([^}]*)\}`).FindAllStringSubmatch(text[TexName], -1) {
		cited[m[1]] = true
	}
	require.That(t, len(cited) != 0 && maps.Equal(entries, cited), "references %v, cited are %v", entries, cited)
}

// TestRowsSince2014 leaves the simulated figures of a row out, and asks for a count that there is not.
func TestRowsSince2014(t *testing.T) {
	in := Input{Set: func(string) (*results.Set, error) { return nil, errors.New("nobody has run it") }, Name: "x"}
	for _, call := range []string{"today", `num (todayCount "cheaper")`} {
		in.Template = "<<" + call + ">>"
		require.Error(t, require.Err(Make(in)), "nobody has run it", "%s", call)
	}
}
