package planning_test

import (
	"path/filepath"
	"strings"
	"testing"

	"kprobesim/experiments"
	"kprobesim/experiments/exptest"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
)

// A plan names its inputs whatever its loader has read before.
func TestInputsOfASecondPlan(t *testing.T) {
	file := exptest.ToyFiles(t)
	l := exptest.ToyLoader()
	for range 2 {
		p := require.Must(l.Plan(file, nil))(t)
		require.That(t, len(p.Inputs) == 3, "inputs %v, want experiment, machine and image", p.Inputs)
	}
}

// badCollections are changes to the toy collection and what must be said about them.
var badCollections = []struct{ name, old, new string }{
	{"unknown-experiment", `"./slow.toml"`, `"overhead-opteron-247"`},
	{"missing-file", `"./slow.toml"`, `"./none.toml"`},
	{"itself", `"./slow.toml"`, `"./both.toml"`},
	{"twice", `"./slow.toml"`, `"./toy.toml"`},
	{"nothing", `["./toy.toml", "./slow.toml"]`, `[]`},
	{"no-list", `["./toy.toml", "./slow.toml"]`, `"./toy.toml"`},
	{"no-name", `"./slow.toml"]`, `3]`},
	{"points-of-its-own", "figures =", "seed = 3\nfigures ="},
	{"calls", `["overhead"]`, `["calls"]`},
	{"difference-without-figures", `less = "b"`, `less = "x"`},
	{"difference-of-no-era", `era = "2010"`, `era = "2005"`},
	{"difference-twice", "means = \"the step\"\n", "means = \"the step\"\n[[differences]]\nof = \"k\"\nless = \"b\"\nmeans = \"again\"\n"},
	{"difference-key", `means =`, `meaning =`},
}

func TestBadCollections(t *testing.T) {
	var got strings.Builder
	for _, c := range badCollections {
		file := exptest.CollectionFiles(t)
		dir := filepath.Dir(file)
		text := strings.Replace(exptest.ToyCollection, c.old, c.new, 1)
		require.Need(t, text != exptest.ToyCollection, "%s changes nothing", c.name)
		_, err := exptest.ToyLoader().Plan(exptest.Write(t, dir, "both.toml", text), nil)
		require.Need(t, err != nil, "%s: no error", c.name)
		got.WriteString("## " + c.name + "\n" + strings.ReplaceAll(err.Error(), dir+"/", "") + "\n")
	}
	all := strings.Join(experiments.Names(), ", ")
	exptest.Golden(t, "bad_collections.txt", strings.ReplaceAll(got.String(), "known are "+all, "known are (experiments)"))
}

// A mistake in a collected file is reported once, at its own place.
func TestMistakeInACollectedFile(t *testing.T) {
	file := exptest.CollectionFiles(t)
	exptest.Write(t, filepath.Dir(file), "slow.toml", "base = \"toy.toml\"\nname = \"slow\"\n[workload]\nhits = 0\n")
	_, err := exptest.ToyLoader().Plan(file, nil)
	require.That(t, err != nil && strings.Count(err.Error(), "\n") == 0 && strings.Contains(err.Error(), "slow.toml:4:8: workload.hits"), "got %v", err)
}

// A collection takes every kind. A figure needs an experiment of its kind, and but for overheads exactly one.
func TestCollectedKinds(t *testing.T) {
	const head = "name = \"both\"\ntitle = \"Both\"\ncollect = "
	for _, c := range []struct{ text, kind, want string }{
		{`["overhead-pentium-m", "irq-off"]` + "\nfigures = [\"irq-off\", \"phases\"]\n[figure]\nx = \"probe\"\n", schema.KindCollected, ""},
		{`["user-probes", "user-probes-power5"]`, schema.KindUserProbes, ""},
		{`["overhead-pentium-m", "eras"]`, "", "eras collects experiments itself"},
		{`["user-probes", "user-probes-power5"]` + "\nfigures = [\"user-probes\"]", "", "draw them together by a table [figure]"},
		{`["irq-off"]` + "\nfigures = [\"overhead\"]", "", `"overhead" is of kind overhead: no such experiment is collected`},
	} {
		l := planning.NewLoader()
		p, err := l.Plan(exptest.Write(t, t.TempDir(), "both.toml", head+c.text), nil)
		if c.want != "" {
			require.Error(t, err, c.want, "%s", c.text)
			continue
		}
		require.NoError(t, err)
		require.That(t, p.Kind == c.kind && p.Wish.Title == "Both", "%s: kind %q, title of figures %q", c.text, p.Kind, p.Wish.Title)
	}
}
