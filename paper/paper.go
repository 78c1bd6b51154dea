package paper

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"strings"
	"text/template"

	"kprobesim/experiments/reports"
	"kprobesim/experiments/schema"
	"kprobesim/results"
	"kprobesim/results/tables"
)

// files has the template and what LaTeX reads beside it.
//
//go:embed paper.tex paper.bib
var files embed.FS

// TexName is the template, and the file made from it. BibName has the references for BibTeX.
const (
	TexName = "paper.tex"
	BibName = "paper.bib"
)

// Search is the outcome of a search for races: schedules of a variant of a scenario, or how many it took until
// a mistake that the kernel makes on purpose was noticed.
type Search struct {
	Scenario, Variant string
	Mutant            string // "" for a kernel without mistakes
	Schedules         uint64
	Violations        uint64
	Cells             int // pairs of a step of a protocol and a position of another CPU that some schedule had
	Stores, Orders    int // kinds of stores into code that other CPUs fetch, and how many of them were seen in both orders
}

// Input is the material of a paper.
type Input struct {
	// Set returns the results of an experiment, with their sources.
	Set func(experiment string) (*results.Set, error)
	// Plan returns an experiment as it is run.
	Plan func(experiment string) (*schema.Plan, error)
	// Searches runs the searches for races. It is called when the template asks for one of their numbers.
	Searches func() ([]Search, error)
	Artifact *Artifact
	From     string // where the results are from, as the appendix says it
	// Template and Name are another template than that of this program, and how errors name it. "" is the program's.
	Template, Name string
}

// Paper is one that is being made.
type Paper struct {
	Input
	ran    []Search
	out    map[string][]byte // files for LaTeX
	untrue []error
	sets   map[string]*results.Set
}

// Make returns the files of the paper: paper.tex and its figures. The error names every sentence that is no longer
// true, and every result that there is not.
func Make(in Input) (map[string][]byte, error) {
	if in.Template == "" {
		b, err := files.ReadFile(TexName)
		if err != nil {
			return nil, err
		}
		in.Template, in.Name = string(b), TexName
	}
	p := &Paper{Input: in, out: map[string][]byte{}, sets: map[string]*results.Set{}}
	t, err := template.New(in.Name).Delims("<<", ">>").Funcs(p.functions()).Parse(in.Template)
	if err != nil {
		return nil, err
	}
	var tex bytes.Buffer
	tex.WriteString("% Written by kprobesim paper from the results. Change the template or the results.\n")
	if err := t.Execute(&tex, nil); err != nil {
		return nil, errors.Join(append(p.untrue, err)...)
	}
	if err := errors.Join(p.untrue...); err != nil {
		return nil, err
	}
	p.out[TexName] = tex.Bytes()
	p.out[BibName], err = files.ReadFile(BibName)
	return p.out, err
}

// functions are the functions of the template.
func (p *Paper) functions() template.FuncMap {
	return template.FuncMap{
		// Numbers: of an experiment, a point and a metric; the last two of cycles and microseconds per hit.
		"val": p.value, "cycles": p.cycles, "us": p.micros, "errors": p.errors, "sisters": p.sisters, "repeats": p.repeats,
		"over": over, "minus": minus, "most": p.most, "distinct": p.distinct, "mean": mean, "largest": largest, "count": count, "tens": tens,
		"num":        number,
		"schedules":  p.sum("schedules", false, func(s Search) uint64 { return s.Schedules }),
		"violations": p.sum("violations", false, func(s Search) uint64 { return s.Violations }),
		"cells":      p.sum("cells", false, func(s Search) uint64 { return uint64(s.Cells) }),
		"stores":     p.sum("kinds of stores", false, func(s Search) uint64 { return uint64(s.Stores) }),
		"orders":     p.sum("kinds of stores in both orders", false, func(s Search) uint64 { return uint64(s.Orders) }),
		"caught":     p.sum("mistakes found", true, func(s Search) uint64 { return min(1, s.Violations) }),
		"mutants":    p.sum("mistakes made", true, func(Search) uint64 { return 1 }),
		// Comparisons, and the sentence that one carries.
		"below": below, "above": above, "near": near, "under": under, "none": none, "some": some, "all": all, "claim": p.claim,
		// Tables, figures and texts.
		"published": p.publishedTable, "setups": p.setupTable, "machines": p.machineTable, "races": p.raceTable,
		"users": p.userTable, "watches": p.watchTable, "sources": p.sources, "figure": p.figure, "from": func() string { return tables.TeXEscape(p.From) },
		"today": p.todayTable, "todayCount": p.todayCount, "artifact": p.artifactTable, "host": p.host, "sums": p.sums,
	}
}

// claim writes a sentence that a comparison makes true, with %s in it for numbers. When the comparison does not hold,
// or the sentence does not say its limit or has another count of numbers, the sentence is an error of the build.
func (p *Paper) claim(v Verdict, sentence string, numbers ...any) string {
	for i, n := range numbers {
		if q, ok := n.(Quantity); ok {
			numbers[i] = number(q)
		}
	}
	bad := func(format string, args ...any) {
		p.untrue = append(p.untrue, fmt.Errorf("%s:%d: "+format, append([]any{p.Name, p.line(sentence)}, args...)...))
	}
	plain := strings.ReplaceAll(sentence, "%%", "")
	if places := strings.Count(plain, "%s"); places != len(numbers) || places != strings.Count(plain, "%") {
		bad("%q has %d places %%s and is given %d numbers; a percent sign is %%%%", sentence, places, len(numbers))
		return ""
	}
	for _, limit := range v.Says {
		if !strings.Contains(sentence, limit) {
			bad("%q does not say the limit of its comparison, %s", sentence, limit)
		}
	}
	text := fmt.Sprintf(sentence, numbers...)
	if !v.Holds {
		bad("no longer true: %q: %s", text, v.Text)
	}
	return text
}

// line finds a sentence in the template, where each backslash of it is two, 0 when it is not there.
func (p *Paper) line(sentence string) int {
	before, _, found := strings.Cut(p.Template, strings.ReplaceAll(sentence, `\`, `\\`))
	if !found {
		return 0
	}
	return 1 + strings.Count(before, "\n")
}

// set returns the results of an experiment, read once.
func (p *Paper) set(experiment string) (*results.Set, error) {
	if s := p.sets[experiment]; s != nil {
		return s, nil
	}
	s, err := p.Set(experiment)
	if err != nil {
		return nil, err
	}
	p.sets[experiment] = results.Means(s)
	return p.sets[experiment], nil
}

// value returns a number of the results. The point is its probe with what was swept.
func (p *Paper) value(experiment, probe, metric string) (Quantity, error) {
	s, err := p.set(experiment)
	if err != nil {
		return Quantity{}, err
	}
	var known []string
	for _, at := range s.Points() {
		if at.Probe != probe {
			known = append(known, at.Probe)
			continue
		}
		if r, ok := s.Get(at, metric); ok {
			q := Quantity{V: r.Value.Float(), From: fmt.Sprintf("%s of %s, %s", probe, experiment, metric)}
			if r.Role == results.Measured {
				q.Text = r.Value.String()
			}
			return q, nil
		}
	}
	return Quantity{}, fmt.Errorf("%s has no %s of a point %q: other points are %s", experiment, metric, probe, strings.Join(known, ", "))
}

func (p *Paper) cycles(experiment, probe string) (Quantity, error) {
	return p.value(experiment, probe, results.MetricCycles)
}

func (p *Paper) micros(experiment, probe string) (Quantity, error) {
	return p.value(experiment, probe, results.MetricMicros)
}

// errors returns the errors of an experiment's figures of a role, in percent.
func (p *Paper) errors(experiment, role string) (all []Quantity, err error) {
	s, err := p.set(experiment)
	if err != nil {
		return nil, err
	}
	for r := range s.All() {
		if r.Metric == results.MetricError && string(r.Role) == role {
			all = append(all, Quantity{V: r.Value.Float(), From: fmt.Sprintf("error of %s of %s", r.Probe, r.Experiment)})
		}
	}
	return all, nil
}

// sisters returns the errors of the null model of a collection, in percent: ratios of a sister machine, nothing simulated.
func (p *Paper) sisters(experiment string) (all []Quantity, err error) {
	plan, err := p.Plan(experiment)
	if err != nil {
		return nil, err
	}
	for _, e := range reports.SisterErrors(plan) {
		all = append(all, Quantity{V: e.Percent, From: fmt.Sprintf("null model of %s of %s", e.Point.Label, e.Point.Experiment)})
	}
	return all, nil
}

// repeats returns by how many percent the published figures of an experiment differ when they are measured again.
func (p *Paper) repeats(experiment string) (all []Quantity, err error) {
	s, err := p.set(experiment)
	if err != nil {
		return nil, err
	}
	for _, at := range s.Points() {
		again, ok := s.Get(at, results.MetricRepeats)
		published, too := s.Get(at, results.MetricPublished)
		if ok && too && !published.Value.IsZero() {
			all = append(all, Quantity{
				V: 100 * again.Value.Float() / published.Value.Float(), From: "repeats of " + at.Probe + " of " + at.Experiment,
			})
		}
	}
	return all, nil
}

// most returns the largest value of a swept number of an experiment.
func (p *Paper) most(experiment, key string) (Quantity, error) {
	s, err := p.set(experiment)
	if err != nil {
		return Quantity{}, err
	}
	q := Quantity{From: key + " of " + experiment}
	for _, at := range s.Points() {
		if v, err := results.ParseValue(at.Swept(key)); err == nil {
			q.V = max(q.V, v.Float())
		}
	}
	if q.V == 0 {
		return q, fmt.Errorf("%s does not sweep %s", experiment, key)
	}
	return q, nil
}

// distinct counts the machines or the instruction sets (isa) of an experiment.
func (p *Paper) distinct(experiment, what string) (Quantity, error) {
	s, err := p.set(experiment)
	if err != nil {
		return Quantity{}, err
	}
	seen := map[string]bool{}
	for _, at := range s.Points() {
		switch what {
		case "machine":
			seen[at.Machine] = true
		case "isa":
			seen[at.ISA] = true
		default:
			return Quantity{}, fmt.Errorf("%q is neither machine nor isa", what)
		}
	}
	return Quantity{V: float64(len(seen)), From: what + "s of " + experiment}, nil
}

// columnWidth is that of a column of the paper, in millimetres, and pageWidth that of both.
const (
	columnWidth = 84
	pageWidth   = 176
)

// figure writes a figure of an experiment as a float with a label. Its caption is made from the data. Wide ones span both
// columns.
func (p *Paper) figure(experiment, name, span string) (string, error) {
	s, err := p.set(experiment)
	if err != nil {
		return "", err
	}
	width, env := columnWidth, "figure"
	if span == "wide" {
		width, env = pageWidth, "figure*"
	}
	drawn := map[string][]byte{}
	if err := reports.Draw(drawn, s, []string{name}, reports.Look{Width: float64(width), Bare: true}); err != nil {
		return "", err
	}
	file := experiment + "-" + name
	p.out[file+".pdf"] = drawn[name+".pdf"]
	caption, _, _ := strings.Cut(string(drawn[name+".txt"]), "\n\n")
	return fmt.Sprintf("\\begin{%s}\n\\centering\n\\includegraphics{%s.pdf}\n\\caption{%s.}\n\\label{fig:%s}\n\\end{%s}",
		env, file, tables.TeXEscape(caption), file, env), nil
}
