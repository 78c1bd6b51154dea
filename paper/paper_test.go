package paper

import (
	"errors"
	"maps"
	"os"
	"regexp"
	"strings"
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

// TestRefusals has each function of the template ask for what results of one point do not have.
func TestRefusals(t *testing.T) {
	s := &results.Set{}
	at := results.Point{Experiment: "x", Machine: "m", ISA: "i386", Era: "2005", CPUs: 1, Probe: "k"}
	require.NoError(t, s.Add(results.Record{Point: at, Metric: results.MetricCycles, Unit: "cycles", Role: results.Simulated}))
	in := Input{Set: func(string) (*results.Set, error) { return s, nil }, Name: "x"}
	for call, want := range map[string]string{
		`sources "x"`:                                  "x has no sources of published figures",
		`num (most "x" "kernel.hz")`:                   "x does not sweep kernel.hz",
		`num (distinct "x" "probe")`:                   `"probe" is neither machine nor isa`,
		`num (over (cycles "x" "k") (cycles "x" "k"))`: "a share of nothing: 0 (k of x, cycles_per_hit)",
		`artifact`:             "no measurements of the artifact's commands",
		`host`:                 "no measurements of the artifact's commands",
		`figure "x" "none" ""`: "none",
		`claim (below (cycles "x" "k") (cycles "x" "k")) "never %s" (cycles "x" "k")`: `x:1: no longer true: "never 0": 0`,
		`claim (none (cycles "x" "k")) "two %s of %d" 7`:                              `x:1: "two %s of %d" has 1 places %s and is given 1 numbers`,
	} {
		in.Template = "<<" + call + ">>"
		require.Error(t, require.Err(Make(in)), want, "%s", call)
	}
	in.Artifact = &Artifact{Host: "a host"}
	in.Template = `<<num (distinct "x" "isa")>> <<num (distinct "x" "machine")>> <<host>>`
	made := require.Must(Make(in))(t)
	require.That(t, strings.HasSuffix(string(made[TexName]), "\n1 1 a host"), "made is\n%s", made[TexName])
}

// TestArtifact holds the commands of the appendix to the file of what they took, which is written as it was read.
func TestArtifact(t *testing.T) {
	b := require.Must(os.ReadFile("artifact.json"))(t)
	a := require.Must(ReadArtifact("artifact.json", b))(t)
	require.Equal(t, string(require.Must(a.Bytes())(t)), string(b), "written again")
	require.Need(t, len(a.Commands) == len(Steps()), "%d commands were measured", len(a.Commands))
	for i, c := range Steps() {
		require.That(t, c.Command == a.Commands[i].Command && c.Shows == a.Commands[i].Shows, "command %d is %+v, and measured %+v", i, c, a.Commands[i])
	}
	for _, text := range []string{"{", `{"Hosts": ""}`, `{"Host": "h", "Commands": []}`, `{"Commands": [{}]}`} {
		require.Error(t, require.Err(ReadArtifact("file", []byte(text))), "file", "%s", text)
	}
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

// TestRowsSince2014 wants each row to say what predicts it or why nothing does, leaves the simulated figures of a row out, and asks
// for a count that there is not.
func TestRowsSince2014(t *testing.T) {
	for _, r := range require.Must(Today())(t) {
		require.That(t, r.NS > 0 && (len(r.Predicted) == 2 && r.Clock > 0) == (r.Why == ""), "%s, %s: say what predicts it, or why nothing does", r.Probe, r.Setup)
	}
	in := Input{Set: func(string) (*results.Set, error) { return nil, errors.New("nobody has run it") }, Name: "x"}
	for _, call := range []string{"today", `num (todayCount "cheaper")`} {
		in.Template = "<<" + call + ">>"
		require.Error(t, require.Err(Make(in)), "nobody has run it", "%s", call)
	}
}
