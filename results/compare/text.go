package compare

import (
	"fmt"
	"strings"

	"kprobesim/results"
)

// Format writes comparisons in one of the forms.
type Format struct {
	Name  string
	Write func(all []*Comparison) ([]byte, error)
}

// Formats returns all forms; the first is the one for a terminal.
func Formats() []Format {
	return []Format{
		{"text", func(all []*Comparison) ([]byte, error) { return []byte(joined(all, (*Comparison).Text)), nil }},
		{"markdown", func(all []*Comparison) ([]byte, error) { return []byte(joined(all, (*Comparison).markdown)), nil }},
		{"json", writeJSON},
		{"junit", writeJUnit},
		{"github", func(all []*Comparison) ([]byte, error) { return []byte(joined(all, (*Comparison).github)), nil }},
	}
}

func joined(all []*Comparison, text func(*Comparison) string) string {
	var b strings.Builder
	for _, c := range all {
		b.WriteString(text(c))
	}
	return b.String()
}

// Text returns the comparison for a terminal, within 80 columns where names allow it.
func (c *Comparison) Text() string {
	var b strings.Builder
	fmt.Fprintln(&b, c.headline())
	for i, cause := range c.Causes {
		lead := "  differs: "
		if i > 0 {
			lead = "           "
		}
		fmt.Fprintln(&b, lead+cause)
	}
	for _, p := range c.Places {
		fmt.Fprintf(&b, "  %s\n", p.name())
		for _, f := range p.Findings {
			f.write(&b)
		}
		for _, r := range p.Missing {
			fmt.Fprintf(&b, "    missing  %s: was %s %s\n", r.Metric, r.Value, r.Unit)
		}
		for _, r := range p.Added {
			fmt.Fprintf(&b, "    new      %s: %s %s\n", r.Metric, r.Value, r.Unit)
		}
	}
	for _, n := range c.Notes {
		fmt.Fprintf(&b, "  note: %s\n", n)
	}
	return b.String()
}

// headline is one line that says how the comparison ended.
func (c *Comparison) headline() string {
	if len(c.Places) == 0 {
		return fmt.Sprintf("%s: %d records are as in %s", c.Name, c.Records, c.Old)
	}
	return fmt.Sprintf("%s: %s, against %s", c.Name, c.counts(), c.Old)
}

// counts says how many findings there are of each verdict.
func (c *Comparison) counts() string {
	var said []string
	add := func(n int, what string) {
		if n > 0 {
			said = append(said, fmt.Sprintf("%d %s", n, what))
		}
	}
	missing, added := 0, 0
	for _, p := range c.Places {
		missing, added = missing+len(p.Missing), added+len(p.Added)
	}
	add(c.Count(Moved), "moved")
	add(c.Count(allowed), "within a threshold")
	add(c.Count(waived), "waived")
	add(missing, "missing")
	add(added, "new")
	return strings.Join(said, ", ")
}

// mostNames bounds how many metrics that follow are named.
const mostNames = 4

func (f *Finding) write(b *strings.Builder) {
	fmt.Fprintf(b, "    %-8s %s: %s\n", f.Verdict, f.Old.Metric, f.Change.Text())
	if f.Why != "" {
		fmt.Fprintf(b, "             %s\n", f.Why)
	}
	for _, p := range f.Parts {
		fmt.Fprintf(b, "             %s: %s\n", p.Old.Metric, p.Text())
	}
	if n := len(f.Follow); n > 0 {
		names := f.Follow[:min(n, mostNames)]
		text := strings.Join(names, ", ")
		if n > len(names) {
			text += fmt.Sprintf(" and %d more", n-len(names))
		}
		fmt.Fprintf(b, "             with it %s\n", text)
	}
}

// name tells a point from the others of its experiment.
func (p Place) name() string { return PointName(p.Point) }

// PointName is a point's name for people, without that of its experiment.
func PointName(p results.Point) string {
	name := fmt.Sprintf("%s on %s, %s %s", p.Probe, p.Machine, p.ISA, p.Era)
	if p.CPUs > 1 {
		name += fmt.Sprintf(", %d CPUs", p.CPUs)
	}
	if p.Seed != 0 {
		name += fmt.Sprintf(", seed %d", p.Seed)
	}
	if p.Replicate > 0 {
		name += fmt.Sprintf(", replicate %d", p.Replicate)
	}
	return name
}

// markdown returns the comparison as a section, as a comment of a review wants it.
func (c *Comparison) markdown() string {
	if len(c.Places) == 0 {
		return fmt.Sprintf("- `%s`: %d records are as in `%s`\n", c.Name, c.Records, c.Old)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %s: %s\n\nAgainst `%s`.", c.Name, c.counts(), c.Old)
	fmt.Fprint(&b, " What differs in the inputs:\n\n")
	for _, cause := range c.Causes {
		fmt.Fprintf(&b, "- `%s`\n", cause)
	}
	fmt.Fprint(&b, "\n| point | metric | was | is | change | verdict |\n|---|---|---:|---:|---:|---|\n")
	row := func(p Place, metric, was, is, change, verdict string) {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", p.name(), metric, was, is, change, verdict)
	}
	for _, p := range c.Places {
		for _, f := range p.Findings {
			row(p, f.Old.Metric, f.Old.Value.String(), f.New.Value.String(), f.share(), f.told())
			for _, x := range f.Parts {
				row(p, x.Old.Metric, x.Old.Value.String(), x.New.Value.String(), Finding{Change: x}.share(), "part of it")
			}
		}
		for _, r := range p.Missing {
			row(p, r.Metric, r.Value.String(), "-", "", "missing")
		}
		for _, r := range p.Added {
			row(p, r.Metric, "-", r.Value.String(), "", "new")
		}
	}
	for _, n := range c.Notes {
		fmt.Fprintf(&b, "\n%s\n", n)
	}
	return b.String()
}

// share is a change in percent, or in its unit when there is none.
func (f Finding) share() string {
	sign := ""
	if f.Delta.Float() > 0 {
		sign = "+"
	}
	if !f.HasPercent {
		return sign + f.Delta.String() + " " + f.New.Unit
	}
	return sign + f.Percent.Round(2).String() + " %"
}

// told is the verdict with its reason.
func (f Finding) told() string {
	if f.Why == "" {
		return string(f.Verdict)
	}
	return fmt.Sprintf("%s: %s", f.Verdict, f.Why)
}

// github returns annotations as the runner of GitHub reads them: an error for what moved, a notice for what is
// excused, a warning for rules that no longer hold.
func (c *Comparison) github() string {
	var b strings.Builder
	for _, p := range c.Places {
		for _, f := range p.Findings {
			level := "error"
			if f.Verdict != Moved {
				level = "notice"
			}
			text := fmt.Sprintf("%s: %s", f.Old.Metric, f.Change.Text())
			if f.Why != "" {
				text += ", " + f.told()
			}
			annotate(&b, level, c.Name+" "+p.name(), text+"\nDiffers: "+strings.Join(c.Causes, "; "))
		}
		for _, r := range p.Missing {
			annotate(&b, "error", c.Name+" "+p.name(), r.Metric+" is missing")
		}
		for _, r := range p.Added {
			annotate(&b, "error", c.Name+" "+p.name(), r.Metric+" is new")
		}
	}
	for _, n := range c.Notes {
		annotate(&b, "warning", c.Name, n)
	}
	return b.String()
}

// annotate writes one workflow command; what would end a line or a property is escaped as the runner wants it.
func annotate(b *strings.Builder, level, title, text string) {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	fmt.Fprintf(b, "::%s title=%s::%s\n", level, property.Replace(title), data.Replace(text))
}
