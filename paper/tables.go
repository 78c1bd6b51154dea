package paper

import (
	"fmt"
	"slices"
	"strings"

	"kprobesim/results"
	"kprobesim/results/tables"
)

// float sets a table with a caption and a label.
func float(t *tables.Table, label, span string) string {
	env, place, size := "table", "!htb", "\\footnotesize\\setlength{\\tabcolsep}{3.5pt}"
	if span == "wide" {
		env, place, size = "table*", "t", "\\small"
	}
	return fmt.Sprintf("\\begin{%s}[%s]\n\\caption{%s.}\n\\label{tab:%s}\n\\centering%s\n%s\n\\end{%s}",
		env, place, tables.TeXEscape(t.Title), label, size, t.Tabular(), env)
}

// publishedTable has every published figure beside the simulated one.
func (p *Paper) publishedTable(experiment string) (string, error) {
	s, err := p.set(experiment)
	if err != nil {
		return "", err
	}
	t := tables.Tabulate(s, tables.PublishedColumns(false))
	for i, row := range t.Rows {
		t.Rows[i] = slices.Clone(row)
	}
	t.BlankRepeats(3)
	t.Title = "Published and simulated overhead of a probe hit. Rounding and repeats are doubts of the published figure; unexplained is what of the error they leave"
	return float(t, experiment, "wide"), nil
}

// setupTable has a row for each machine and kernel of an experiment, and a column for each way in which a kprobe is hit.
func (p *Paper) setupTable(experiment string) (string, error) {
	s, err := p.set(experiment)
	if err != nil {
		return "", err
	}
	kinds := []struct{ probe, head string }{
		{"k", "stepped"}, {"b", "boosted"}, {"e", "emulated"}, {"o", "optimized"}, {"f", "ftrace"},
	}
	t := &tables.Table{
		Title:   "Cycles of a kprobe hit by how the displaced instruction runs, on each machine and kernel. A dash is a way that the kernel does not have",
		Columns: tables.Columns("machine", "ISA", "year"),
	}
	for _, k := range kinds {
		t.Columns = append(t.Columns, tables.Column{Title: k.head, Align: tables.Right})
	}
	at := map[string]int{}
	for _, pt := range s.Points() {
		setup := strings.Join([]string{pt.Machine, pt.ISA, pt.Era}, " ")
		if _, ok := at[setup]; !ok {
			at[setup] = len(t.Rows)
			t.Rows = append(t.Rows, append([]string{pt.Machine, pt.ISA, pt.Era}, slices.Repeat([]string{"-"}, len(kinds))...))
		}
		for i, k := range kinds {
			if r, ok := s.Get(pt, results.MetricCycles); ok && k.probe == pt.Probe {
				t.Rows[at[setup]][3+i] = r.Value.Round(0).String()
			}
		}
	}
	return float(t, experiment, "wide"), nil
}

// machineTable has the machines of an experiment, with how many of their numbers are fitted.
func (p *Paper) machineTable(experiment string) (string, error) {
	plan, err := p.Plan(experiment)
	if err != nil {
		return "", err
	}
	t := &tables.Table{
		Title:   "Machines: clock, and how many numbers of the description are sourced and fitted",
		Columns: tables.Columns("machine", "processor", ">MHz", ">sourced", ">fitted"),
	}
	var seen []string
	for i := range plan.Points {
		m := plan.Points[i].Machine
		if slices.Contains(seen, m.Name) {
			continue
		}
		seen = append(seen, m.Name)
		fitted := len(m.FittedParams())
		t.Rows = append(t.Rows, []string{
			m.Name, m.Title, fmt.Sprint(m.CPU.Hz / 1_000_000), fmt.Sprint(len(m.Params) - fitted), fmt.Sprint(fitted),
		})
	}
	return float(t, "machines", "wide"), nil
}

// userTable has what a probe in user space costs on each machine of several experiments.
func (p *Paper) userTable(experiments ...string) (string, error) {
	return p.metricTable("Cycles of a hit of a probe in user space, with the translations of the program in the TLB and without", "users",
		[]metricColumn{{"cycles_user_hit", "warm"}, {"cycles_user_hit_cold_tlb", "cold TLB"}}, experiments)
}

// watchTable has what a watchpoint costs that is hit.
func (p *Paper) watchTable(experiments ...string) (string, error) {
	return p.metricTable("Cycles that a watchpoint adds to a call: w a store, rw a load, x an executed instruction, beside an access next to the watched word", "watches",
		[]metricColumn{{results.MetricCycles, "cycles"}}, experiments)
}

type metricColumn struct{ metric, head string }

// metricTable has a row for each point of several experiments, and a column for each metric. Points that differ in the
// number of CPUs alone are left out but for the first.
func (p *Paper) metricTable(title, label string, columns []metricColumn, experiments []string) (string, error) {
	t := &tables.Table{Title: title, Columns: tables.Columns("machine", "ISA", "year", "probe")}
	for _, c := range columns {
		t.Columns = append(t.Columns, tables.Column{Title: c.head, Align: tables.Right})
	}
	for _, e := range experiments {
		s, err := p.set(e)
		if err != nil {
			return "", err
		}
		var seen []string
		for _, pt := range s.Points() {
			row := []string{pt.Machine, pt.ISA, pt.Era, pt.Name()}
			if slices.Contains(seen, pt.Name()) {
				continue
			}
			for _, c := range columns {
				if r, ok := s.Get(pt, c.metric); ok {
					row = append(row, r.Value.Round(0).String())
				}
			}
			if len(row) == len(t.Columns) {
				seen = append(seen, pt.Name())
				t.Rows = append(t.Rows, row)
			}
		}
	}
	t.BlankRepeats(3)
	return float(t, label, ""), nil
}

// sources lists where the published figures of an experiment stand.
func (p *Paper) sources(experiment string) (string, error) {
	s, err := p.set(experiment)
	if err != nil {
		return "", err
	}
	var items []string
	for _, source := range s.Sources() {
		items = append(items, "\\item "+tables.TeXEscape(source))
	}
	if len(items) == 0 {
		return "", fmt.Errorf("%s has no sources of published figures", experiment)
	}
	return "\\begin{itemize}\n" + strings.Join(items, "\n") + "\n\\end{itemize}", nil
}

// raceTable has a row for each scenario: its variants, schedules, violations, and the mistakes that it notices.
func (p *Paper) raceTable() (string, error) {
	searches, err := p.searches()
	if err != nil {
		return "", err
	}
	t := &tables.Table{
		Title:   "Searches for races: schedules of all variants and their violations, and the mistakes made on purpose of which one search each found a violation",
		Columns: tables.Columns("scenario", ">variants", ">schedules", ">violations", ">mistakes found"),
	}
	type tally struct{ variants, schedules, violations, tried, caught uint64 }
	var order []string
	by := map[string]*tally{}
	for _, s := range searches {
		if by[s.Scenario] == nil {
			by[s.Scenario] = &tally{}
			order = append(order, s.Scenario)
		}
		switch n := by[s.Scenario]; {
		case s.Mutant == "":
			n.variants, n.schedules, n.violations = n.variants+1, n.schedules+s.Schedules, n.violations+s.Violations
		default:
			n.tried++
			n.caught += min(1, s.Violations)
		}
	}
	for _, name := range order {
		n := by[name]
		t.Rows = append(t.Rows, []string{
			name, fmt.Sprint(n.variants), fmt.Sprint(n.schedules), fmt.Sprint(n.violations), found(n.caught, n.tried),
		})
	}
	return float(t, "races", ""), nil
}

// found says how many mistakes were noticed, a dash for a scenario for which none was made.
func found(caught, tried uint64) string {
	if tried == 0 {
		return "-"
	}
	return fmt.Sprintf("%d of %d", caught, tried)
}

// searches runs the searches once.
func (p *Paper) searches() (all []Search, err error) {
	if p.ran == nil {
		p.ran, err = p.Searches()
	}
	return p.ran, err
}

// sum returns a function that sums up a number of the searches in kernels with a mistake, or without.
func (p *Paper) sum(what string, mistaken bool, of func(Search) uint64) func() (Quantity, error) {
	return func() (Quantity, error) {
		q := Quantity{From: what + " of the searches"}
		searches, err := p.searches()
		for _, s := range searches {
			if (s.Mutant != "") == mistaken {
				q.V += float64(of(s))
			}
		}
		return q, err
	}
}
