package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprobesim/experiments/keeping"
	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
	"kprobesim/machines"
	"kprobesim/targets"
)

// TestExplainOptions checks every two options with a place and without, each with --verify and with --cost too. The golden file has what
// is said of how many of them, and the sum of their names.
func TestExplainOptions(t *testing.T) {
	type options = explainOptions
	changes := []struct {
		name string
		set  func(o *options)
	}{
		{"", func(*options) {}},
		{"--format x", func(o *options) { o.format = "x" }},
		{"--image", func(o *options) { o.image = "i" }},
		{"--kernel", func(o *options) { o.boot.kernel = "k" }},
		{"--file", func(o *options) { o.file = true }},
		{"--sample -1", func(o *options) { o.sample = -1 }},
		{"--sample 1", func(o *options) { o.sample = 1 }},
		{"--all", func(o *options) { o.all = true }},
		{"--answers", func(o *options) { o.answers = "a" }},
		{"--rounds -1", func(o *options) { o.rounds = -1 }},
		{"--rounds 1", func(o *options) { o.rounds = 1 }},
		{"--shard", func(o *options) { o.sharing.text = "1/2" }},
		{"--module", func(o *options) { o.module = "m" }},
		{"--returns", func(o *options) { o.returns = true }},
		{"--user", func(o *options) { o.user = true }},
	}
	all := map[string][]string{}
	for _, more := range []string{"", "--verify", "--cost"} {
		for i, a := range changes {
			for _, b := range changes[:i] {
				for _, places := range [][]string{nil, {"PLACE"}} {
					o := options{format: "text", verify: more == "--verify", cost: more == "--cost", sharing: &sharing{}}
					a.set(&o)
					b.set(&o)
					said := fmt.Sprint(o.check(places))
					all[said] = append(all[said], fmt.Sprint(more, a.name, b.name, places))
				}
			}
		}
	}
	var out strings.Builder
	for _, said := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&out, "%d combinations, sum %.4x: %s\n", len(all[said]), sha256.Sum256([]byte(strings.Join(all[said], "\n"))), said)
	}
	require.Lines(t, filepath.Join("testdata", "explain-options.txt"), out.String(), *update)
}

// TestForecastInWords prints what points of a kind take that nobody has measured.
func TestForecastInWords(t *testing.T) {
	var out bytes.Buffer
	p := &schema.Plan{Name: "made-up"}
	for range 300 {
		p.Points = append(p.Points, schema.Point{Target: &targets.Target{}, Machine: &machines.Machine{}, Workload: schema.Workload{Hits: 5000}})
	}
	(&app{out: &sticky{w: &out}}).printForecast(p, nil, keeping.NewCosts(nil), 2)
	require.Equal(t, out.String(), `made-up: 300 points, 0 of them kept from earlier runs
  time of a core   about 36s, give or take 0s
  by the clock     about 18s with 2 at a time
  memory           about 204 MiB
  results          about 1.2 MiB
  shards           1
`, "")
}
