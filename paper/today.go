package paper

import (
	_ "embed"
	"fmt"

	"github.com/pelletier/go-toml/v2"

	"kprobesim/results/tables"
)

// Row is a published cost of a probe on a processor and a kernel since 2014. Clock is in GHz, NS in nanoseconds.
type Row struct {
	Probe, Setup, Includes, Source string
	NS                             float64
	Predicted                      []string // experiment and probe that are held against it
	Clock                          float64
	Differs, Why                   string // what the simulation lacks, or why there is none
}

//go:embed today.toml
var today []byte

// Today returns the published rows.
func Today() ([]Row, error) {
	var file struct{ Rows []Row }
	err := toml.Unmarshal(today, &file)
	return file.Rows, err
}

// todayRows returns the simulated figures of rows which are predicted, in nanoseconds at the clock of the published machine.
// Text is the published figure.
func (p *Paper) todayRows() (all []Quantity, rows []Row, err error) {
	published, err := Today()
	if err != nil {
		return nil, nil, err
	}
	for _, r := range published {
		if r.Why != "" {
			continue
		}
		cycles, err := p.cycles(r.Predicted[0], r.Predicted[1])
		if err != nil {
			return nil, nil, err
		}
		all, rows = append(all, Quantity{V: cycles.V / r.Clock, From: cycles.From + " in ns"}), append(rows, r)
	}
	return all, rows, nil
}

// todayTable has the rows that are predicted.
func (p *Paper) todayTable() (string, error) {
	simulated, rows, err := p.todayRows()
	if err != nil {
		return "", err
	}
	t := &tables.Table{
		Title:   "Rows since 2014, in nanoseconds beyond the same loop without a probe. The published figure includes a BPF program, the simulated one an empty handler",
		Columns: tables.Columns("published probe", "simulated by", ">GHz", ">published", ">simulated"),
	}
	for i, r := range rows {
		t.Rows = append(t.Rows, []string{r.Probe, r.Predicted[0] + ", " + r.Predicted[1], trim(r.Clock, 1), trim(r.NS, 1), trim(simulated[i].V, 0)})
	}
	return float(t, "today", "wide"), nil
}

// todayCount counts published rows: all of them, the predicted ones, and the ones that are cheaper simulated than published.
func (p *Paper) todayCount(what string) (Quantity, error) {
	published, err := Today()
	if err != nil {
		return Quantity{}, err
	}
	simulated, rows, err := p.todayRows()
	n := map[string]int{"published": len(published), "predicted": len(rows), "cheaper": 0}
	for i, r := range rows {
		if simulated[i].V < r.NS {
			n["cheaper"]++
		}
	}
	v, known := n[what]
	if err == nil && !known {
		err = fmt.Errorf("%q is none of published, predicted and cheaper", what)
	}
	return Quantity{V: float64(v), From: what + " rows of today.toml"}, err
}
