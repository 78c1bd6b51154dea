package experiments

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprobesim/results"
)

const toyCollection = `name = "both"
title = "Two toys"
collect = ["./toy.toml", "./slow.toml"]
figures = ["overhead"]

[[differences]]
of = "k"
less = "b"
era = "2010"
means = "the step"
`

// collectionFiles writes a collection of the toy experiment and of the same on a slower machine, and
// returns its path.
func collectionFiles(t testing.TB) string {
	dir := filepath.Dir(toyFiles(t))
	write(t, dir, "slow.toml", `base = "toy.toml"
name = "slow"
machine = "./slower.toml"
`)
	write(t, dir, "slower.toml", `base = "machine.toml"
name = "toy-2"
[event]
trap = { cycles = 200, source = "book: 7" }
`)
	return write(t, dir, "both.toml", toyCollection)
}

func collectionReport(t *testing.T, workers int, sets ...string) *Report {
	t.Helper()
	p, err := toyLoader().Plan(collectionFiles(t), sets)
	if err != nil {
		t.Fatal(err)
	}
	r := NewReport(p, (&Runner{Measure: toyMeasure, Workers: workers}).Run(p))
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return r
}

// A collection has the points of its experiments under names of their own, with everything they depend
// on among the inputs, and settings reach every one of them.
func TestCollection(t *testing.T) {
	r := collectionReport(t, 1, "workload.hits=7", "title=Both")
	var names []string
	for _, pt := range r.Plan.Points {
		names = append(names, pt.Name)
		if pt.Workload.Hits != 7 {
			t.Errorf("%s has %d hits: the setting did not arrive", pt.Name, pt.Workload.Hits)
		}
	}
	if want := []string{"toy:k", "toy:b", "slow:k", "slow:b"}; !slices.Equal(names, want) {
		t.Errorf("points %v, want %v", names, want)
	}
	if len(r.Plan.Inputs) != 6 || r.Plan.Title != "Both" {
		t.Errorf("title %q, inputs %v", r.Plan.Title, r.Plan.Inputs)
	}
	if pt, err := r.Plan.Point("slow:b"); err != nil || pt.Machine.Name != "toy-2" {
		t.Errorf("point slow:b is %v, %v", pt, err)
	}
}

// The records of a collection are those of its experiments.
func TestCollectionHasTheRecordsOfItsExperiments(t *testing.T) {
	both := string(collectionReport(t, 2).Set.CSV())
	l := toyLoader()
	file := collectionFiles(t)
	for _, name := range []string{"toy.toml", "slow.toml"} {
		p, err := l.Plan(filepath.Join(filepath.Dir(file), name), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, own, _ := strings.Cut(string(NewReport(p, (&Runner{Measure: toyMeasure}).Run(p)).Set.CSV()), "\n")
		if own == "" || !strings.Contains(both, own) {
			t.Errorf("the collection has other records than %s alone:\n%.300s", name, own)
		}
	}
}

// A difference is a record of its first point: the exact difference of two other records.
func TestDifferencesAreRecords(t *testing.T) {
	r := collectionReport(t, 1)
	for _, experiment := range []string{"toy", "slow"} {
		k, err := r.Plan.Point(experiment + ":k")
		if err != nil {
			t.Fatal(err)
		}
		b, err := r.Plan.Point(experiment + ":b")
		if err != nil {
			t.Fatal(err)
		}
		for _, metric := range []string{results.MetricCycles, results.MetricMicros, results.MetricPublished} {
			of, _ := r.Set.Get(k.at(), metric)
			less, _ := r.Set.Get(b.at(), metric)
			more, ok := r.Set.Get(k.at(), metric+"_more_than_b")
			if !ok || more.Value.Cmp(of.Value.Sub(less.Value)) != 0 || more.Value.IsZero() || more.Unit != of.Unit {
				t.Errorf("%s: %s more than b is %v %s, of %v and %v", experiment, metric, more.Value, more.Unit,
					of.Value, less.Value)
			}
		}
	}
}

func TestCollectionTables(t *testing.T) {
	var text strings.Builder
	for _, table := range collectionReport(t, 1).Tables() {
		text.WriteString(table.Text() + "\n")
	}
	golden(t, "collection.txt", text.String())
}

func TestCollectionDoesNotDependOnWorkers(t *testing.T) {
	want, err := collectionReport(t, 1).Files()
	if err != nil {
		t.Fatal(err)
	}
	got, err := collectionReport(t, 3).Files()
	if err != nil {
		t.Fatal(err)
	}
	if want["overhead.svg"] == nil || len(got) != len(want) {
		t.Errorf("files are %d and %d, want figures among them", len(want), len(got))
	}
	for name := range want {
		if !bytes.Equal(got[name], want[name]) {
			t.Errorf("%s differs between one and three workers", name)
		}
	}
}

// A plan names its inputs whatever its loader has read before.
func TestInputsOfASecondPlan(t *testing.T) {
	file := toyFiles(t)
	l := toyLoader()
	for range 2 {
		p, err := l.Plan(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Inputs) != 3 {
			t.Errorf("inputs %v, want experiment, machine and image", p.Inputs)
		}
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
	{"phases", `["overhead"]`, `["phases"]`},
	{"difference-without-figures", `less = "b"`, `less = "x"`},
	{"difference-of-no-era", `era = "2010"`, `era = "2005"`},
	{"difference-twice", "means = \"the step\"\n", "means = \"the step\"\n[[differences]]\nof = \"k\"\nless = \"b\"\nmeans = \"again\"\n"},
	{"difference-key", `means =`, `meaning =`},
}

func TestBadCollections(t *testing.T) {
	var got strings.Builder
	for _, c := range badCollections {
		file := collectionFiles(t)
		dir := filepath.Dir(file)
		text := strings.Replace(toyCollection, c.old, c.new, 1)
		if text == toyCollection {
			t.Fatalf("%s changes nothing", c.name)
		}
		_, err := toyLoader().Plan(write(t, dir, "both.toml", text), nil)
		if err == nil {
			t.Errorf("%s: no error", c.name)
			continue
		}
		got.WriteString("## " + c.name + "\n" + strings.ReplaceAll(err.Error(), dir+"/", "") + "\n")
	}
	all := strings.Join(Experiments(), ", ")
	golden(t, "bad_collections.txt", strings.ReplaceAll(got.String(), "known are "+all, "known are (experiments)"))
}

// A mistake in a collected file is reported once, at its own place.
func TestMistakeInACollectedFile(t *testing.T) {
	file := collectionFiles(t)
	write(t, filepath.Dir(file), "slow.toml", "base = \"toy.toml\"\nname = \"slow\"\n[workload]\nhits = 0\n")
	_, err := toyLoader().Plan(file, nil)
	if err == nil || strings.Count(err.Error(), "\n") != 0 || !strings.Contains(err.Error(), "slow.toml:4:8: workload.hits") {
		t.Errorf("got %v", err)
	}
}
