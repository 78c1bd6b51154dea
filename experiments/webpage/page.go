package webpage

import (
	"bytes"
	"cmp"
	_ "embed" // the page's template, style and script
	"errors"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"kprobesim/experiments/reports"
	"kprobesim/internal/distinct"
	"kprobesim/results"
	"kprobesim/results/compare"
	"kprobesim/results/outdir"
)

var (
	//go:embed page.html
	pageText string
	//go:embed page.css
	style string
	//go:embed page.js
	script string
)

// page is the input of the template.
type page struct {
	Title  string
	Style  template.CSS
	Script template.JS
	Runs   []run
	Index  *grid // of the runs, where there are several
	Moved  []difference
}

// run is one results directory.
type run struct {
	ID, Dir, Title string
	Facts          []fact
	Main           *grid
	Figures        []figure
	Numbers        *grid
	Origins        []string
	Inputs         *grid
	Keys           *grid
	CPUs           *grid
	Failed         *grid
}

// fact is a line of a run's summary.
type fact struct{ Name, Text string }

// Write returns the page of results directories, of which there must be one. It is a function of their files and the
// given names alone.
func Write(dirs []string) ([]byte, error) {
	if len(dirs) == 0 {
		return nil, errors.New("name a results directory, such as out/NAME: a page of nothing has no title")
	}
	p := page{Style: template.CSS(style), Script: template.JS(script)} //nolint:gosec // both are our own files
	var all []*reports.Kept
	for i, dir := range dirs {
		k, err := reports.Load(dir)
		if err != nil {
			return nil, err
		}
		r, err := newRun(k, i)
		if err != nil {
			return nil, err
		}
		all, p.Runs = append(all, k), append(p.Runs, r)
	}
	p.Title = p.Runs[0].Title
	if len(p.Runs) > 1 {
		p.Title = fmt.Sprintf("%d runs: %s", len(p.Runs), strings.Join(titles(all), "; "))
		p.Index = index(p.Runs)
	}
	p.Moved = differences(all)
	t, err := template.New("page").Parse(pageText)
	if err != nil {
		return nil, fmt.Errorf("template of the page: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	return b.Bytes(), nil
}

// mostTitles bounds the experiments that the title of a page names.
const mostTitles = 3

// titles lists the experiments of several runs, the first few when there are many.
func titles(all []*reports.Kept) (names []string) {
	for _, k := range all {
		names = distinct.Append(names, cmp.Or(k.About.Title, k.About.Name))
	}
	if n := len(names); n > mostTitles {
		names = append(names[:mostTitles], fmt.Sprintf("%d more", n-mostTitles))
	}
	return names
}

// newRun gathers what the page says of a directory, which is number i.
func newRun(k *reports.Kept, i int) (r run, err error) {
	main := k.Table()
	r = run{
		ID: fmt.Sprintf("run-%d", i+1), Dir: k.Dir, Title: main.Title, Facts: facts(k), Main: tableGrid(main),
		Numbers: numbers(k), Origins: origins(k), Inputs: inputs(k.Manifest), Keys: keys(k.Keys), Failed: failed(k.Manifest),
	}
	if r.Figures, err = figures(k); err != nil {
		return r, err
	}
	r.Main.Caption = "What was measured"
	r.CPUs, err = accounts(k)
	return r, err
}

// facts sum a run up.
func facts(k *reports.Kept) []fact {
	n := 0
	for _, p := range k.Manifest.Points {
		if p.Status == outdir.StatusOK {
			n++
		}
	}
	replicates := 1
	for _, p := range k.Set.Points() {
		replicates = max(replicates, p.Replicate+1)
	}
	all := []fact{
		{"Directory", k.Dir},
		{"Experiment", k.About.Name},
		{"Measures", k.About.Kind},
		{"Machines", strings.Join(k.Machines(), ", ")},
		{"Points", fmt.Sprintf("%d of %d ended well", n, len(k.Manifest.Points))},
		{"Settings", strings.Join(k.Set.Overrides, ", ")},
		{"Program", program(k.Manifest.Program)},
		{"Seed", fmt.Sprint(k.Manifest.Seed)},
	}
	if k.Set.Replicated() {
		all = append(all, fact{"Replicates", fmt.Sprint(replicates)})
	}
	return slices.DeleteFunc(all, func(f fact) bool { return f.Text == "" })
}

// program names the build that made a run, "" where it did not note itself.
func program(p outdir.Program) string {
	if p == (outdir.Program{}) {
		return ""
	}
	return p.String()
}

// index lists the runs of a page.
func index(runs []run) *grid {
	g := newGrid("The runs of this page", "run", "experiment", "settings", "points")
	for _, r := range runs {
		of := func(name string) string {
			i := slices.IndexFunc(r.Facts, func(f fact) bool { return f.Name == name })
			if i < 0 {
				return ""
			}
			return r.Facts[i].Text
		}
		g.Rows = append(g.Rows, []cell{{Text: r.Dir, Link: "#" + r.ID}, {Text: of("Experiment")}, {Text: of("Settings")}, {Text: of("Points")}})
	}
	return g
}

// difference lists the figures that moved between two runs of one experiment.
type difference struct {
	Name, Old, New string
	Records        int
	Grid           *grid // nil when nothing moved
	Causes         []string
}

// differences compares each run with the first one of its experiment.
func differences(all []*reports.Kept) (out []difference) {
	first := map[string]*reports.Kept{}
	for _, k := range all {
		old := first[k.About.Name]
		if old == nil {
			first[k.About.Name] = k
			continue
		}
		// Replicates are compared by their means: pair by pair they are other layouts.
		rules := &compare.Rules{Means: old.Set.Replicated() || k.Set.Replicated()}
		c := compare.Compare(compare.Sides{
			Name: k.About.Name, OldName: old.Dir, NewName: k.Dir, Old: old.Set, New: k.Set, OldKeys: old.Keys, NewKeys: k.Keys,
		}, rules)
		out = append(out, difference{Name: c.Name, Old: c.Old, New: c.New, Records: c.Records, Grid: movedGrid(c), Causes: c.Causes})
	}
	return out
}

// movedGrid has a row for each figure that differs, and for each that is on one side alone.
func movedGrid(c *compare.Comparison) *grid {
	if len(c.Places) == 0 {
		return nil
	}
	g := newGrid("What moved from "+c.Old+" to "+c.New, "point", "metric", "+was", "+is", "+change", "+%", "unit", "origin", "moved with it")
	for _, p := range c.Places {
		at := compare.PointName(p.Point)
		for _, f := range p.Findings {
			g.Rows = append(g.Rows, movedRow(at, f.Change, append([]string{f.Why}, f.Follow...)))
			for _, part := range f.Parts {
				g.Rows = append(g.Rows, movedRow(at, part, []string{"part of " + f.Old.Metric}))
			}
		}
		for _, r := range p.Missing {
			g.Rows = append(g.Rows, []cell{{Text: at}, {Text: r.Metric}, number(r.Value.String()), {}, {}, {}, {Text: r.Unit}, originCell(r.Role), {Text: "missing now"}})
		}
		for _, r := range p.Added {
			g.Rows = append(g.Rows, []cell{{Text: at}, {Text: r.Metric}, {}, number(r.Value.String()), {}, {}, {Text: r.Unit}, originCell(r.Role), {Text: "new"}})
		}
	}
	return g
}

// movedRow is the row of one change.
func movedRow(at string, c compare.Change, with []string) []cell {
	percent := ""
	if c.HasPercent {
		percent = results.Signed(c.Percent.Round(3))
		if c.Percent.Round(3).IsZero() {
			percent = results.Signed(c.Percent) // small is not nothing
		}
	}
	with = slices.DeleteFunc(with, func(s string) bool { return s == "" })
	origin := originCell(c.New.Role)
	if c.Old.Role != c.New.Role {
		with = append(with, fmt.Sprintf("origin was %s", originCell(c.Old.Role).Text))
	}
	if c.Old.Unit != c.New.Unit {
		with = append(with, "unit was "+c.Old.Unit)
	}
	return []cell{
		{Text: at},
		{Text: c.New.Metric},
		number(c.Old.Value.String()), number(c.New.Value.String()), number(results.Signed(c.Delta)), number(percent),
		{Text: c.New.Unit},
		origin,
		{Text: strings.Join(with, ", ")},
	}
}
