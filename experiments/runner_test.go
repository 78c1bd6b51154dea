package experiments

import (
	"bytes"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/clock"
)

// files runs the toy experiment and returns the results directory.
func files(t *testing.T, workers int) map[string][]byte {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "machine.toml", toyMachine)
	file := write(t, dir, "toy.toml", toyExperiment+"[sweep]\n\"workload.hits\" = [10, 20, 30]\n")
	p, err := toyLoader().Plan(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := NewReport(p, (&Runner{Measure: toyMeasure, Workers: workers}).Run(p))
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	f, err := r.Files()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestResultsDoNotDependOnWorkers(t *testing.T) {
	one := files(t, 1)
	want := []string{
		"bench.txt", "manifest.json", "overhead.pdf", "overhead.png", "overhead.svg",
		"phases.pdf", "phases.png", "phases.svg", "results.csv",
	}
	if got := slices.Sorted(maps.Keys(one)); !slices.Equal(got, want) {
		t.Errorf("files are %v, want %v", got, want)
	}
	for _, workers := range []int{2, 7} {
		many := files(t, workers)
		for name, b := range one {
			if !bytes.Equal(b, many[name]) {
				t.Errorf("%s differs between 1 and %d workers", name, workers)
			}
		}
	}
	golden(t, "toy_results.csv", string(one["results.csv"]))
}

func TestFailingPointLeavesOthers(t *testing.T) {
	p, err := toyLoader().Plan(toyFiles(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		measure Measure
		want    string
	}{
		{"error", func(pt *Point) (*Measurement, error) {
			if pt.Name == "k" {
				return nil, errors.New("the guest loops for ever")
			}
			return toyMeasure(pt)
		}, "point k: the guest loops for ever"},
		{"panic", func(pt *Point) (*Measurement, error) {
			if pt.Name == "k" {
				panic("a broken invariant")
			}
			return toyMeasure(pt)
		}, "point k: internal error: a broken invariant"},
	} {
		r := NewReport(p, (&Runner{Measure: c.measure}).Run(p))
		if err := r.Err(); err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
		if n := len(r.Set.Points()); n != 1 {
			t.Errorf("%s: %d points have records, want 1", c.name, n)
		}
		f, err := r.Files()
		if err != nil || !strings.Contains(string(f["manifest.json"]), `"failed"`) {
			t.Errorf("%s: the manifest does not name the failure (%v)", c.name, err)
		}
	}
}

func TestProgressCountsEveryPoint(t *testing.T) {
	p, err := toyLoader().Plan(toyFiles(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	var seen []int
	r := &Runner{Measure: toyMeasure, Workers: 2, Progress: func(done, total int, _ *Outcome) { seen = append(seen, done, total) }}
	r.Run(p)
	if !slices.Equal(seen, []int{1, 2, 2, 2}) {
		t.Errorf("progress was %v", seen)
	}
}

func TestCalibration(t *testing.T) {
	file := toyFiles(t)
	l := toyLoader()
	c, err := NewCalibration(l, strings.Replace(file, "toy.toml", "machine.toml", 1))
	if err != nil {
		t.Fatal(err)
	}
	fit, err := c.Fit(&Runner{Measure: toyMeasure})
	if err != nil {
		t.Fatal(err)
	}
	// 0.99 us at 2 GHz are 1980 cycles; the toy charges twice the trap and one cycle for its name.
	if fit.Cycles[0] != 989 {
		t.Errorf("trap fitted to %v cycles, want 989", fit.Cycles)
	}
	golden(t, "proposal.toml", strings.ReplaceAll(fit.Proposal(), strings.TrimSuffix(file, "toy.toml"), ""))
}

// The experiment of a fit is run under the settings that are given with it.
func TestCalibrationWithSettings(t *testing.T) {
	file := toyFiles(t)
	half := func(p *Point) (*Measurement, error) {
		m, err := toyMeasure(p)
		if p.Machine.CPU.Events["mispredict"] == 99*60 {
			m.Probed.Time += clock.Ticks(m.Hits) * 980 * 60
		}
		return m, err
	}
	c, err := NewCalibration(toyLoader(), strings.Replace(file, "toy.toml", "machine.toml", 1), "machine.event.mispredict.cycles=99")
	if err != nil {
		t.Fatal(err)
	}
	fit, err := c.Fit(&Runner{Measure: half})
	if err != nil || fit.Cycles[0] != 499 {
		t.Errorf("fitted %+v, %v; want 499 cycles", fit, err)
	}
}

// A machine is fitted on an experiment with figures of its own.
func TestCalibrationOnACollection(t *testing.T) {
	dir := filepath.Dir(collectionFiles(t))
	machine := write(t, dir, "machine.toml", strings.Replace(toyMachine, `"./toy.toml"`, `"./both.toml"`, 1))
	_, err := NewCalibration(toyLoader(), machine)
	if err == nil || !strings.Contains(err.Error(), "collects others") {
		t.Errorf("got %v", err)
	}
}

// A fit that would have to leave the range of a number stops at its end and says so; other numbers are
// fitted as well as they can be without it.
func TestCalibrationStopsAtABound(t *testing.T) {
	for _, c := range []struct {
		name, trap string
		extra      int64 // cycles that every hit takes beside the trap
		want       []int64
		stop       string
	}{
		{"one number", `trap = { cycles = 100, fitted = ["k"], source = "fitted: k" }`, 5000, []int64{0}, "event.trap.cycles stopped at 0 cycles"},
		{"one of two", `trap = { cycles = 100, fitted = ["k"], source = "fitted: k" }`, 900, []int64{0, 1080}, "event.mispredict.cycles stopped at 0 cycles"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := toyFiles(t)
			text := toyMachine
			if len(c.want) == 2 {
				text = strings.Replace(text, `mispredict = { cycles = "15", source = "book: 7" }`, `mispredict = { cycles = "15", fitted = ["b"], source = "fitted: b" }`, 1)
			}
			machine := write(t, filepath.Dir(file), "machine.toml", text)
			costly := func(p *Point) (*Measurement, error) {
				m, err := toyMeasure(p)
				per := clock.FromCycles(c.extra) + p.Machine.CPU.Events["mispredict"]
				m.Probed.Time = m.Base.Time + clock.Ticks(m.Hits)*per
				if p.Name == "k" {
					m.Probed.Time += clock.Ticks(m.Hits) * p.Machine.CPU.Events["trap"]
				}
				return m, err
			}
			cal, err := NewCalibration(toyLoader(), machine)
			if err != nil {
				t.Fatal(err)
			}
			fit, err := cal.Fit(&Runner{Measure: costly})
			if err != nil {
				t.Fatal(err)
			}
			text = fit.Proposal()
			if !slices.Equal(fit.Cycles, c.want) || !strings.Contains(text, "# NOT MET: "+c.stop) {
				t.Errorf("fitted to %v, want %v with %q in\n%s", fit.Cycles, c.want, c.stop, text)
			}
		})
	}
}

func TestEveryNumberHasASource(t *testing.T) {
	for _, name := range Machines() {
		m, err := NewLoader().Machine(name, "", nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(m.FittedParams()) > 2 {
			t.Errorf("%s: more than two fitted parameters", name)
		}
		for _, p := range m.Params {
			if p.Source == "" || p.Value == "" {
				t.Errorf("%s: %s has no value or no source", p.Pos, p.Path)
			}
		}
	}
}
