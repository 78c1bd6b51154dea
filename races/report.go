package races

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Row is the result of one variant in a report.
// Rows come out in the order of the caller.
type Row struct {
	Scenario *Scenario
	Variant  *Variant
	Tally    Tally
	Told     *Told // the first violation, nil where it was not minimized
}

// Report writes what searches with the same options have found: a table, and each violation with the
// command that shows it. It holds nothing of the host, so that it is the same bytes everywhere.
func Report(w io.Writer, opt Options, rows []Row) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "scenario\tvariant\tschedules\tsteps\tcalls\thits\tviolations\tfirst\n")
	for i := range rows {
		r := &rows[i]
		first := "-"
		if len(r.Tally.Found) > 0 {
			first = fmt.Sprint(r.Tally.Found[0].N)
		}
		fmt.Fprintf(out, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\n", r.Scenario.Name, r.Variant.Name, r.Tally.Schedules,
			r.Tally.Steps, r.Tally.Calls, r.Tally.Hits, r.Tally.Violations, first)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	for i := range rows {
		if err := rows[i].details(w, opt); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "options%s\n", opt.flags())
	return err
}

// details writes the violations of one row, and what an exhaustive search has covered.
func (r *Row) details(w io.Writer, opt Options) error {
	var b strings.Builder
	for i := range r.Tally.Found {
		o := &r.Tally.Found[i]
		fmt.Fprintf(&b, "\n%s/%s, schedule %d of seed %d: %s\n", r.Scenario.Name, r.Variant.Name, o.N, opt.Seed, o.Violation)
		if i > 0 || r.Told == nil {
			fmt.Fprintf(&b, "  kprobesim races %s --variant %s%s --replay %d\n", r.Scenario.Given, r.Variant.Name, opt.flags(), o.N)
			continue
		}
		r.Told.write(&b, fmt.Sprintf("kprobesim races %s --variant %s%s", r.Scenario.Given, r.Variant.Name, opt.mistake()))
	}
	if n := uint64(len(r.Tally.Found)); r.Tally.Violations > n {
		fmt.Fprintf(&b, "  and %d more\n", r.Tally.Violations-n)
	}
	if opt.Policy == Exhaustive {
		state := "more are left: run more schedules"
		if r.Tally.Complete {
			state = "these are all"
		}
		equal := ""
		if r.Tally.Equal > 0 {
			equal = fmt.Sprintf(", which stand for %d more that do the same", r.Tally.Equal)
		}
		fmt.Fprintf(&b, "%s/%s: %d plans of at most %d preemptions, each of them in hot code%s; %s\n", r.Scenario.Name,
			r.Variant.Name, r.Tally.Schedules, opt.Preemptions, equal, state)
	}
	if opt.Covers() {
		r.coverage(&b, &opt)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// flags are the options on which schedules depend, as the command takes them.
// An exhaustive search has no random numbers, but the seed is harmless there.
func (o *Options) flags() string {
	s := fmt.Sprintf(" --seed %d --policy %s", o.Seed, o.Policy)
	switch o.Policy {
	case PCT:
		s += fmt.Sprintf(" --depth %d", o.Depth)
	case Exhaustive:
		s += fmt.Sprintf(" --preemptions %d", o.Preemptions)
	}
	return s + o.mistake()
}

// mistake is the option of a mutant.
func (o *Options) mistake() string {
	if o.Mutant == "" {
		return ""
	}
	return " --mutant " + o.Mutant
}

// write prints a violation as few choices show it, with the command that does.
func (t *Told) write(w io.Writer, command string) {
	fmt.Fprintf(w, "with %d preemptions: %s\n", t.Preemptions, t.Violation)
	fmt.Fprintf(w, "  %s --choices %s\n", command, t.Choices)
	for _, line := range t.Lines {
		fmt.Fprintf(w, "%s\n", line)
	}
}
