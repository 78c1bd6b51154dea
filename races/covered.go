package races

import (
	"encoding/json"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strings"
	"text/tabwriter"
)

// Coverage has how many schedules had each cell.
type Coverage struct {
	Schedules []uint64 // by cell, as Covered has them; empty without any
	Newest    uint64   // schedules up to the last one that added a cell or a pair
	Pairs     []Pair   // in the order in which they came

	known map[Pair]bool
}

// add counts a schedule, the number of which among all is n.
func (c *Coverage) add(o *Outcome, n uint64) {
	if c.Schedules == nil {
		c.Schedules, c.known = make([]uint64, len(protocolSteps)*int(positions)), map[Pair]bool{}
	}
	for _, p := range o.Pairs {
		if !c.known[p] {
			c.Pairs, c.known[p], c.Newest = append(c.Pairs, p), true, n
		}
	}
	for i, w := range o.Covered {
		for ; w != 0; w &= w - 1 {
			cell := &c.Schedules[64*i+bits.TrailingZeros64(w)]
			if *cell++; *cell == 1 {
				c.Newest = n
			}
		}
	}
}

// cell returns how many schedules had a cell.
func (c *Coverage) cell(step int, at position) uint64 {
	if c.Schedules == nil {
		return 0
	}
	return c.Schedules[step*int(positions)+int(at)]
}

// Cells is the number of cells that some schedule had.
func (c *Coverage) Cells() (n int) {
	for _, s := range c.Schedules {
		if s > 0 {
			n++
		}
	}
	return n
}

// Orders counts the steps that have stored into code which another CPU has fetched, and how many of them were seen in both orders.
func (c *Coverage) Orders() (stores, both int) {
	for i := range protocolSteps {
		before, after := c.cell(i, fetchedBefore) > 0, c.cell(i, fetchedAfter) > 0
		if before || after {
			stores++
		}
		if before && after {
			both++
		}
	}
	return stores, both
}

// had lists the steps and the positions that have cells.
func (c *Coverage) had() (steps []int, at []position) {
	for i := range protocolSteps {
		for p := range positions {
			if c.cell(i, p) == 0 {
				continue
			}
			if !slices.Contains(steps, i) {
				steps = append(steps, i)
			}
			if !slices.Contains(at, p) {
				at = append(at, p)
			}
		}
	}
	slices.Sort(at)
	return steps, at
}

// write prints the cells: a row a step, a column a position.
func (c *Coverage) write(to *strings.Builder) {
	steps, at := c.had()
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(first string, cell func(p position) string) {
		fmt.Fprint(w, first)
		for _, p := range at {
			fmt.Fprintf(w, "\t%s", cell(p))
		}
		fmt.Fprintln(w, "\t")
	}
	line("step", func(p position) string { return positionNames[p] })
	for _, i := range steps {
		line(protocolSteps[i].name, func(p position) string {
			switch n := c.cell(i, p); {
			case n > 0:
				return fmt.Sprint(n)
			case p >= fetchedBefore && !protocolSteps[i].stores:
				return ""
			}
			return "-"
		})
	}
	w.Flush() // a builder has no errors
	for line := range strings.Lines(table.String()) {
		to.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
}

// coverage writes what the schedules of a row have covered.
func (r *Row) coverage(b *strings.Builder, opt *Options) {
	c := &r.Tally.Coverage
	stores, both := c.Orders()
	pairs := ""
	if opt.Coverage {
		pairs = fmt.Sprintf(" and %d orders of accesses", len(c.Pairs))
	}
	fmt.Fprintf(b, "\n%s/%s: %d cells%s, the last new one in schedule %d of %d; %d of %d kinds of stores came in front of a fetch and behind one\n",
		r.Scenario.Name, r.Variant.Name, c.Cells(), pairs, c.Newest, r.Tally.Schedules, both, stores)
	if opt.Coverage {
		c.write(b)
		c.writePairs(b)
	}
}

// coveredRow is a row for other programs.
type coveredRow struct {
	Scenario   string        `json:"scenario"`
	Variant    string        `json:"variant"`
	Schedules  uint64        `json:"schedules"`
	Steps      uint64        `json:"steps"`
	Calls      uint64        `json:"calls"`
	Hits       uint64        `json:"hits"`
	Violations uint64        `json:"violations"`
	Newest     uint64        `json:"last_new"` // schedules up to the last new cell or pair
	Cells      []coveredCell `json:"cells"`
	Pairs      []Pair        `json:"pairs"`
}

type coveredCell struct {
	Step      string `json:"step"`
	Position  string `json:"position"`
	Schedules uint64 `json:"schedules"`
}

// ReportCoverageJSON writes what searches have covered as a list of objects.
func ReportCoverageJSON(w io.Writer, rows []Row) error {
	all := []coveredRow{}
	for i := range rows {
		t := &rows[i].Tally
		x := coveredRow{rows[i].Scenario.Name, rows[i].Variant.Name, t.Schedules, t.Steps, t.Calls, t.Hits, t.Violations, t.Coverage.Newest, []coveredCell{}, append([]Pair{}, t.Coverage.Pairs...)}
		for cell, n := range t.Coverage.Schedules {
			if n > 0 {
				x.Cells = append(x.Cells, coveredCell{protocolSteps[cell/int(positions)].name, positionNames[cell%int(positions)], n})
			}
		}
		all = append(all, x)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(all)
}
