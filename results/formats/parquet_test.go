package formats

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/parquet-go/parquet-go"

	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/results/resultstest"
)

// TestParquet reads back what was written: typed columns, a missing value, units in the metadata, and the same bytes again.
func TestParquet(t *testing.T) {
	s := &results.Set{}
	s.AddAxis(results.Axis{Key: "kernel.memory", Unit: "B", Cells: map[string]string{"16 MiB": "16777216"}})
	s.AddAxis(results.Axis{Key: "workload.target"})
	for _, name := range []string{"k/kernel.memory=16 MiB/workload.target=work", "b"} {
		at := results.Point{Experiment: "e", Machine: "m", ISA: "i", Era: "2010", CPUs: 2, Seed: 7, Probe: name}
		require.NoError(t, s.Add(results.Record{Point: at, Metric: "cycles_per_hit", Unit: "cycles", Value: resultstest.Value(t, "5.25"), Role: results.Simulated}))
	}
	var b, again bytes.Buffer
	require.NoError(t, WriteParquet(&b, s))
	require.NoError(t, WriteParquet(&again, s))
	require.That(t, bytes.Equal(b.Bytes(), again.Bytes()), "the same set has other bytes")
	f := require.Must(parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len())))(t)
	unit, ok := f.Lookup("unit:kernel.memory")
	require.That(t, ok && unit == "B", "unit %q", unit)
	rows, reader := make([]parquet.Row, 3), parquet.NewReader(f)
	n, _ := reader.ReadRows(rows) // ends with io.EOF
	var got string
	for _, row := range rows[:n] {
		cells := map[string]string{}
		for _, v := range row {
			cells[f.Schema().Columns()[v.Column()][0]] = v.String()
		}
		got += fmt.Sprint([]string{cells["kernel.memory"], cells["workload.target"], cells["value"], cells["cpus"], cells["probe"]})
	}
	want := "[1.6777216e+07 work 5.25 2 k][<null> <null> 5.25 2 b]"
	require.Equal(t, got, want, "rows")
}
