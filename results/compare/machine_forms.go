package compare

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"strings"

	"kprobesim/results"
	"kprobesim/results/formats"
)

// jsonComparison is a comparison as programs read it. Numbers are texts with all their decimals.
type jsonComparison struct {
	Experiment string      `json:"experiment"`
	Old        string      `json:"old"`
	New        string      `json:"new"`
	Records    int         `json:"records"`
	Failed     bool        `json:"failed"`
	Inputs     []string    `json:"inputs_that_differ"`
	Points     []jsonPlace `json:"points"`
	Notes      []string    `json:"notes"`
}

type jsonPlace struct {
	formats.PlaceJSON
	Findings []jsonFinding `json:"findings"`
	Missing  []string      `json:"missing"`
	Added    []string      `json:"new"`
}

type jsonFinding struct {
	jsonChange
	Verdict Verdict      `json:"verdict"`
	Why     string       `json:"why,omitempty"`
	Parts   []jsonChange `json:"parts"`
	Follow  []string     `json:"follow"`
}

type jsonChange struct {
	Metric  string `json:"metric"`
	Unit    string `json:"unit"`
	Role    string `json:"role"`
	Old     string `json:"old"`
	New     string `json:"new"`
	Delta   string `json:"delta"`
	Percent string `json:"percent,omitempty"` // absent for a change from zero
}

func writeJSON(all []*Comparison) ([]byte, error) {
	out := make([]jsonComparison, len(all))
	for i, c := range all {
		out[i] = jsonComparison{c.Name, c.Old, c.New, c.Records, c.Failed(), list(c.Causes), []jsonPlace{}, list(c.Notes)}
		for _, p := range c.Places {
			out[i].Points = append(out[i].Points, jsonOf(p))
		}
	}
	b, err := json.MarshalIndent(out, "", "  ")
	return append(b, '\n'), err
}

// list is [] and not null when it is empty.
func list[T any](l []T) []T { return append([]T{}, l...) }

func jsonOf(p Place) jsonPlace {
	out := jsonPlace{
		PlaceJSON: formats.PlaceOf(p.Point), Findings: []jsonFinding{}, Missing: metrics(p.Missing), Added: metrics(p.Added),
	}
	for _, f := range p.Findings {
		x := jsonFinding{changeOf(f.Change), f.Verdict, f.Why, []jsonChange{}, list(f.Follow)}
		for _, part := range f.Parts {
			x.Parts = append(x.Parts, changeOf(part))
		}
		out.Findings = append(out.Findings, x)
	}
	return out
}

func metrics(records []results.Record) []string {
	out := []string{}
	for _, r := range records {
		out = append(out, r.Metric)
	}
	return out
}

func changeOf(c Change) jsonChange {
	out := jsonChange{
		Metric: c.New.Metric, Unit: c.New.Unit, Role: string(c.New.Role), Old: c.Old.Value.String(), New: c.New.Value.String(),
		Delta: c.Delta.String(),
	}
	if c.HasPercent {
		out.Percent = c.Percent.String()
	}
	return out
}

// Suites of JUnit's report form, as servers of continuous integration read it: a suite for each experiment, a case
// for each point that differs, and one for all that do not.
type (
	suites struct {
		XMLName xml.Name `xml:"testsuites"`
		Suites  []suite  `xml:"testsuite"`
	}
	suite struct {
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Skipped  int        `xml:"skipped,attr"`
		Cases    []testCase `xml:"testcase"`
	}
	testCase struct {
		Class   string   `xml:"classname,attr"`
		Name    string   `xml:"name,attr"`
		Failure *message `xml:"failure,omitempty"`
		Skipped *message `xml:"skipped,omitempty"` // within a threshold, or waived
	}
	message struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

func writeJUnit(all []*Comparison) ([]byte, error) {
	var out suites
	for _, c := range all {
		s := suite{Name: c.Name}
		for _, p := range c.Places {
			s.add(caseOf(c, p))
		}
		if len(c.Places) == 0 {
			s.add(testCase{Class: c.Name, Name: fmt.Sprintf("%d records", c.Records)})
		}
		out.Suites = append(out.Suites, s)
	}
	b, err := xml.MarshalIndent(out, "", "  ")
	return append([]byte(xml.Header), append(b, '\n')...), err
}

func (s *suite) add(c testCase) {
	s.Cases = append(s.Cases, c)
	s.Tests++
	if c.Failure != nil {
		s.Failures++
	}
	if c.Skipped != nil {
		s.Skipped++
	}
}

func caseOf(c *Comparison, p Place) testCase {
	var b strings.Builder
	one := &Comparison{Name: c.Name, Old: c.Old, Places: []Place{p}, Causes: c.Causes}
	b.WriteString(one.Text())
	m := &message{Message: one.counts(), Text: b.String()}
	if p.failed() {
		return testCase{Class: c.Name, Name: p.name(), Failure: m}
	}
	return testCase{Class: c.Name, Name: p.name(), Skipped: m}
}
