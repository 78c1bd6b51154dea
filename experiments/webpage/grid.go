package webpage

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"kprobesim/experiments/reports"
	"kprobesim/results"
	"kprobesim/results/compare"
	"kprobesim/results/formats"
	"kprobesim/results/outdir"
	"kprobesim/results/tables"
)

// grid is a table of the page.
type grid struct {
	Caption string
	Heads   []head
	Rows    [][]cell
	Notes   []string
}

// head is the head of a column; Number says that its cells are numbers.
type head struct {
	Text   string
	Number bool
}

// cell is one cell: Link leads to a place of the page, Origin is the class of a number's origin.
type cell struct {
	Text, Link, Origin string
	Number             bool
}

func number(text string) cell { return cell{Text: text, Number: true} }

// newGrid makes an empty grid; a head that begins with + is one of numbers.
func newGrid(caption string, heads ...string) *grid {
	g := &grid{Caption: caption}
	for _, h := range heads {
		text, is := strings.CutPrefix(h, "+")
		g.Heads = append(g.Heads, head{text, is})
	}
	return g
}

func originCell(r results.Role) cell { return cell{Text: string(r), Origin: string(r)} }

// roles lists the roles in the order in which they are counted.
func roles() []results.Role {
	return []results.Role{results.Fitted, results.Predicted, results.Simulated, results.Measured}
}

// meaning says what an origin is.
func meaning(r results.Role) string {
	return map[results.Role]string{
		results.Fitted:    "simulated, and a number of the machine was fitted on its published figure",
		results.Predicted: "simulated; its figure is published, and nothing was fitted on it",
		results.Simulated: "simulated, for a setup that nobody published a figure of",
		results.Measured:  "measured on a real machine; the last column of all numbers says by whom",
	}[r]
}

// tableGrid is a table of results as a grid. Lines of a head become one; words for roles become origins.
func tableGrid(t *tables.Table) *grid {
	g := &grid{Caption: t.Title, Notes: t.Notes}
	for _, c := range t.Columns {
		g.Heads = append(g.Heads, head{c.Head(), c.Align == tables.Right})
	}
	for _, row := range t.Rows {
		var cells []cell
		for i, text := range row {
			c := cell{Text: text, Number: i < len(g.Heads) && g.Heads[i].Number}
			if slices.Contains(roles(), results.Role(text)) {
				c = originCell(results.Role(text))
			}
			cells = append(cells, c)
		}
		g.Rows = append(g.Rows, cells)
	}
	return g
}

// numbers lists every number of a run with its origin.
func numbers(k *reports.Kept) *grid {
	g := newGrid("All numbers", "point", "metric", "+value", "unit", "origin", "source")
	several := len(k.Experiments()) > 1
	interval := k.Means.Replicated() || k.Set.Replicated()
	if interval {
		g.Heads = slices.Insert(g.Heads, 3, head{"95 % interval", false})
	}
	for r := range k.Means.All() {
		at := compare.PointName(r.Point)
		if several {
			at = r.Experiment + ": " + at
		}
		row := []cell{{Text: at}, {Text: r.Metric}, number(r.Value.String()), {Text: r.Unit}, originCell(r.Role), {Text: r.Source}}
		if interval {
			row = slices.Insert(row, 3, cell{Text: spread(r.Spread)})
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

// spread writes the interval of a mean, nothing where all replicates agree.
func spread(i results.Interval) string {
	if i.Low == i.High {
		return ""
	}
	return i.Low.String() + " to " + i.High.String()
}

// origins says how many numbers have each origin, and which numbers of the machines were fitted on what.
func origins(k *reports.Kept) (lines []string) {
	count := map[results.Role]int{}
	for r := range k.Means.All() {
		count[r.Role]++
	}
	for _, r := range roles() {
		if n := count[r]; n > 0 {
			lines = append(lines, fmt.Sprintf("%s (%d): %s.", r, n, meaning(r)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(k.Keys)) {
		of, fitted := strings.CutSuffix(name, ".fitted")
		if machine, key, ok := strings.Cut(strings.TrimPrefix(of, "machine "), " "); ok && fitted && strings.HasPrefix(of, "machine ") {
			lines = append(lines, fmt.Sprintf("%s of %s was fitted on %s.", key, machine, strings.Trim(k.Keys[name], "[]")))
		}
	}
	return lines
}

// inputs lists what a run was made from.
func inputs(m *outdir.Manifest) *grid {
	g := newGrid("Inputs", "what", "name", "hash")
	for _, in := range m.Inputs {
		g.Rows = append(g.Rows, []cell{{Text: in.Kind}, {Text: in.Name}, {Text: in.Hash}})
	}
	return g
}

// keys lists the keys and values of the inputs, nil where the directory has none.
func keys(k formats.Keys) *grid {
	if k == nil {
		return nil
	}
	g := newGrid("Keys of the inputs", "key", "value")
	for _, name := range slices.Sorted(maps.Keys(k)) {
		g.Rows = append(g.Rows, []cell{{Text: name}, {Text: k[name]}})
	}
	return g
}

// failed lists the points that did not end well, nil where all did.
func failed(m *outdir.Manifest) *grid {
	g := newGrid("Points that failed", "point", "why")
	for _, p := range m.Points {
		if p.Status != outdir.StatusOK {
			g.Rows = append(g.Rows, []cell{{Text: p.Name}, {Text: p.Error}})
		}
	}
	if g.Rows == nil {
		return nil
	}
	return g
}

// accounts lists what every CPU spent its time on, nil where the directory does not say.
func accounts(k *reports.Kept) (*grid, error) {
	b, ok := k.Files[reports.AccountsName]
	if !ok {
		return nil, nil //nolint:nilnil // there is no such table
	}
	lines, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err == nil && (len(lines) == 0 || len(lines[0]) < 3) {
		err = fmt.Errorf("%d lines are no accounts", len(lines))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(k.Dir, reports.AccountsName), err)
	}
	g := newGrid("What every CPU did, in cycles of the measured stretch", lines[0][0])
	for _, title := range lines[0][1:] {
		g.Heads = append(g.Heads, head{title, true})
	}
	for _, line := range lines[1:] {
		row := []cell{{Text: line[0]}}
		for _, text := range line[1:] {
			row = append(row, number(text))
		}
		g.Rows = append(g.Rows, row)
	}
	return g, nil
}
