package reports

import (
	"strconv"

	"kprobesim/experiments/kinds"
	"kprobesim/experiments/running"
	"kprobesim/internal/clock"
	"kprobesim/results/tables"
)

// AccountsName is the file of a results directory that says what every CPU spent its time on.
const AccountsName = "cpus.csv"

// accountsCSV writes the accounts of every point: one line a CPU, in cycles. It returns nil when no
// point has any.
func accountsCSV(outcomes []running.Outcome) ([]byte, error) {
	t := accountsTable(outcomes)
	if len(t.Rows) == 0 {
		return nil, nil
	}
	text, err := t.CSV()
	return []byte(text), err
}

// accountsTable tabulates the accounts of every point.
func accountsTable(outcomes []running.Outcome) *tables.Table {
	t := &tables.Table{
		Columns: tables.Columns("point", ">cpu"),
		Notes:   []string{"cycles of every CPU in the measured stretch"},
	}
	for _, name := range append(kinds.AccountNames(), "total") {
		t.Columns = append(t.Columns, tables.Column{Title: name, Align: tables.Right})
	}
	for _, o := range outcomes {
		if o.Err != nil {
			continue
		}
		for i, a := range o.Measurement.Accounts {
			row := []string{o.Point.Name, strconv.Itoa(i)}
			var total clock.Ticks
			for _, v := range a {
				row = append(row, strconv.FormatInt(v.Cycles(), 10))
				total += v
			}
			t.Rows = append(t.Rows, append(row, strconv.FormatInt(total.Cycles(), 10)))
		}
	}
	return t
}

// Accounts tabulates what every CPU spent its time on, point by point.
func (r *Report) Accounts() *tables.Table {
	t := accountsTable(r.Outcomes)
	t.Title = "What every CPU did: " + r.Plan.Title
	t.BlankRepeats(1)
	return t
}
