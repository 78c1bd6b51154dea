package reports_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/reports"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/results/formats"
)

func collectionReport(t *testing.T, workers int, sets ...string) *reports.Report {
	t.Helper()
	p := require.Must(exptest.ToyLoader().Plan(exptest.CollectionFiles(t), sets))(t)
	r := reports.Collect(p).Report((&running.Runner{Measure: exptest.ToyMeasure, Workers: workers}).Run(p))
	require.NoError(t, r.Err())
	return r
}

// A collection has the points of its experiments under names of their own, with everything they depend
// on among the inputs, and settings reach every one of them.
func TestCollection(t *testing.T) {
	r := collectionReport(t, 1, "workload.hits=7", "title=Both")
	var names []string
	for _, pt := range r.Plan.Points {
		names = append(names, pt.Name)
		require.That(t, pt.Workload.Hits == 7, "%s has %d hits: the setting did not arrive", pt.Name, pt.Workload.Hits)
	}
	want := []string{"toy:k", "toy:b", "slow:k", "slow:b"}
	require.That(t, slices.Equal(names, want), "points %v, want %v", names, want)
	require.That(t, len(r.Plan.Inputs) == 6 && r.Plan.Title == "Both", "title %q, inputs %v", r.Plan.Title, r.Plan.Inputs)
	pt, err := r.Plan.Point("slow:b")
	require.That(t, err == nil && pt.Machine.Name == "toy-2", "point slow:b is %v, %v", pt, err)
}

// A collection has the records of its experiments.
func TestCollectionHasTheRecordsOfItsExperiments(t *testing.T) {
	both := string(formats.CSV(collectionReport(t, 2).Set))
	l := exptest.ToyLoader()
	file := exptest.CollectionFiles(t)
	for _, name := range []string{"toy.toml", "slow.toml"} {
		p := require.Must(l.Plan(filepath.Join(filepath.Dir(file), name), nil))(t)
		_, own, _ := strings.Cut(string(formats.CSV(reports.Collect(p).Report((&running.Runner{Measure: exptest.ToyMeasure}).Run(p)).Set)), "\n")
		require.That(t, own != "" && strings.Contains(both, own), "the collection has other records than %s alone:\n%.300s", name, own)
	}
}

// A difference is a record of its first point: the exact difference of two other records.
func TestDifferencesAreRecords(t *testing.T) {
	r := collectionReport(t, 1)
	for _, experiment := range []string{"toy", "slow"} {
		k := require.Must(r.Plan.Point(experiment + ":k"))(t)
		b := require.Must(r.Plan.Point(experiment + ":b"))(t)
		for _, metric := range []string{results.MetricCycles, results.MetricMicros, results.MetricPublished} {
			of, _ := r.Set.Get(k.At(), metric)
			less, _ := r.Set.Get(b.At(), metric)
			more, ok := r.Set.Get(k.At(), metric+"_more_than_b")
			if !ok || more.Value.Cmp(of.Value.Sub(less.Value)) != 0 || more.Value.IsZero() || more.Unit != of.Unit {
				t.Errorf("%s: %s more than b is %v %s, of %v and %v", experiment, metric, more.Value, more.Unit,
					of.Value, less.Value)
			}
			role := results.Predicted
			if metric == results.MetricPublished {
				role = results.Measured
			}
			require.Equal(t, more.Role, role, "%s: %s of the difference of %s and %s is", experiment, metric, of.Role, less.Role)
		}
	}
}

func TestCollectionTables(t *testing.T) {
	var text strings.Builder
	for _, table := range collectionReport(t, 1).Tables() {
		text.WriteString(table.Text() + "\n")
	}
	exptest.Golden(t, "collection.txt", text.String())
}

// TestRepeatsOfDifferences has figures that differ by half a per cent when they are measured again: the row says by how many cycles.
func TestRepeatsOfDifferences(t *testing.T) {
	p := require.Must(exptest.ToyLoader().Plan(exptest.CollectionFiles(t), nil))(t)
	for i := range p.Points {
		p.Points[i].Probe.Published.Repeats.Percent = require.Must(results.ParseValue("0.5"))(t)
	}
	tables := reports.Collect(p).Report((&running.Runner{Measure: exptest.ToyMeasure}).Run(p)).Tables()
	text := strings.Join(strings.Fields(tables[len(tables)-1].Text()), " ")
	require.That(t, strings.Contains(text, "k - b toy-1 2010 1120 20 6 101 -91.0 -88.7 k"), "half a per cent of 1120 cycles is 6: %s", text)
}

func TestCollectionDoesNotDependOnWorkers(t *testing.T) {
	files := filesOf(t, func(workers int) *reports.Report { return collectionReport(t, workers) })
	require.That(t, files["overhead.svg"] != nil, "there is no figure among %d files", len(files))
}

// A difference of which one point failed has neither records nor a row, whichever of the two it is.
func TestDifferenceOfAFailedPoint(t *testing.T) {
	for bad, left := range map[string]string{"slow:k": "toy-1", "slow:b": "toy-1", "toy:k": "toy-2"} {
		failed, _, _ := strings.Cut(bad, ":")
		p := require.Must(exptest.ToyLoader().Plan(exptest.CollectionFiles(t), nil))(t)
		r := reports.Collect(p).Report((&running.Runner{Measure: func(pt *schema.Point) (*kinds.Measurement, error) {
			if pt.Name == bad {
				return nil, errors.New("the guest loops for ever")
			}
			return exptest.ToyMeasure(pt)
		}}).Run(p))
		for rec := range r.Set.All() {
			require.That(t, rec.Experiment != failed || !strings.Contains(rec.Metric, "_more_than_"), "%s failed, and there is %s", bad, rec)
		}
		rows := r.Tables()[1].Rows
		require.That(t, len(rows) == 1 && rows[0][1] == left, "%s failed: differences %q, want that of the other experiment", bad, rows)
	}
}

// A collection of several kinds has a table for each, and a figure shows the experiments of its kind, also when it is drawn
// again from what was written.
func TestCollectionOfKinds(t *testing.T) {
	dir := t.TempDir()
	file := exptest.Write(t, dir, "both.toml", "name = \"both\"\ntitle = \"Mine\"\ncollect = [\"overhead-pentium-m\", \"irq-off\"]\n"+
		"figures = [\"overhead\", \"irq-off\"]\n[figure]\nx = \"probe\"\npanel = \"experiment\"\nmetric = \"us_per_hit\"\n")
	p := require.Must(planning.NewLoader().Plan(file, nil))(t)
	r := reports.Collect(p).Report((&running.Runner{Measure: func(pt *schema.Point) (*kinds.Measurement, error) {
		if pt.Kind == schema.KindOverhead {
			return exptest.ToyMeasure(pt)
		}
		return &kinds.Measurement{Quantities: []kinds.Quantity{{Metric: kinds.MetricOff, Unit: "us", Num: 7, Den: 2}, {Metric: kinds.MetricLate, Unit: "us", Num: 1, Den: 1}}}, nil
	}}).Run(p))
	require.NoError(t, r.Err())
	tables := r.Tables()
	if len(tables) != 2 || tables[0].Title != "Mine: overhead" || tables[1].Title != "Mine: irq-off" || len(tables[0].Rows)+len(tables[1].Rows) != len(p.Points) {
		t.Errorf("%d tables: %s", len(tables), tables[0].Text())
	}
	out := filepath.Join(dir, "out")
	require.NoError(t, r.Write(out))
	was := require.Must(r.Files())(t)
	require.NoError(t, reports.Redraw(out, nil, reports.Look{}))
	for name, has := range map[string]string{"overhead.svg": "pentium-m-1495, i386, 2005", "irq-off.svg": "timer", "figure.svg": "Mine"} {
		again := string(require.Must(os.ReadFile(filepath.Join(out, name)))(t))
		require.That(t, strings.Contains(again, has) && again == string(was[name]), "%s lacks %q, or is another one when it is drawn again", name, has)
	}
	overhead := string(was["overhead.svg"])
	require.That(t, !strings.Contains(overhead, "xeon") && !strings.Contains(overhead, "irq-off"), "the figure of overheads has points of another kind")
}

// A sweep differs from the setup of published figures in each of its values. The first differences are told, the rest is counted.
func TestManyDifferences(t *testing.T) {
	dir := t.TempDir()
	file := exptest.ToyFiles(t)
	values := make([]string, 30)
	for i := range values {
		values[i] = fmt.Sprint(i + 100)
	}
	long := exptest.Write(t, dir, "long.toml", fmt.Sprintf("base = %q\nname = \"long\"\n[sweep]\nworkload.args = [[%s]]\n", file, strings.Join(values, "], [")))
	p := require.Must(exptest.ToyLoader().Plan(long, nil))(t)
	text := reports.Collect(p).Report((&running.Runner{Measure: exptest.ToyMeasure}).Run(p)).Table().Text()
	n := strings.Count(text, "not the setup of the published figures: workload.args")
	require.That(t, n == 20 && strings.Contains(text, "10 more such differences"), "%d differences are told:\n%s", n, text)
}
