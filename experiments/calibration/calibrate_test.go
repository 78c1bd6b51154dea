package calibration_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprobesim/experiments/calibration"
	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

func TestCalibration(t *testing.T) {
	file := exptest.ToyFiles(t)
	l := exptest.ToyLoader()
	c := require.Must(calibration.New(l, strings.Replace(file, "toy.toml", "machine.toml", 1)))(t)
	fit := require.Must(c.Fit(&running.Runner{Measure: exptest.ToyMeasure}))(t)
	// 0.99 us at 2 GHz are 1980 cycles; the toy charges twice the trap and one cycle for its name.
	require.That(t, fit.Cycles[0] == 989, "trap fitted to %v cycles, want 989", fit.Cycles)
	exptest.Golden(t, "proposal.toml", strings.ReplaceAll(fit.Proposal(), strings.TrimSuffix(file, "toy.toml"), ""))
}

// A point that fails, whenever it does, ends a fit with its error.
func TestCalibrationFails(t *testing.T) {
	machine := strings.Replace(exptest.ToyFiles(t), "toy.toml", "machine.toml", 1)
	fails := errors.New("no luck")
	for at := 1; ; at++ {
		cal := require.Must(calibration.New(exptest.ToyLoader(), machine))(t)
		calls := 0
		_, err := cal.Fit(&running.Runner{Workers: 1, Measure: func(p *schema.Point) (*kinds.Measurement, error) {
			if calls++; calls >= at {
				return nil, fails
			}
			return exptest.ToyMeasure(p)
		}})
		if calls < at {
			require.NoError(t, err)
			break
		}
		require.That(t, errors.Is(err, fails), "from measurement %d on all fail: %v", at, err)
	}
}

// Cycles that are taken off the figures are missing from the fitted numbers, and the proposal says so.
func TestCalibrationWithoutTheLoop(t *testing.T) {
	c := require.Must(calibration.New(exptest.ToyLoader(), strings.Replace(exptest.ToyFiles(t), "toy.toml", "machine.toml", 1)))(t)
	c.Without(200)
	fit, err := c.Fit(&running.Runner{Measure: exptest.ToyMeasure})
	if err != nil || fit.Cycles[0] != 889 { // half of what TestCalibration has more, for two traps a hit
		t.Fatalf("fitted %+v, %v; want 889 cycles", fit, err)
	}
	if p := fit.Proposal(); !strings.Contains(p, "hypothesis") || !strings.Contains(p, "published 1980.0 less 200") {
		t.Errorf("the proposal does not say that figures were changed:\n%s", p)
	}
}

// The experiment of a fit is run under the settings that are given with it.
func TestCalibrationWithSettings(t *testing.T) {
	file := exptest.ToyFiles(t)
	half := func(p *schema.Point) (*kinds.Measurement, error) {
		m, err := exptest.ToyMeasure(p)
		if p.Machine.CPU.Events["mispredict"] == 99*60 {
			m.Probed.Time += clock.Ticks(m.Hits) * 980 * 60
		}
		return m, err
	}
	c := require.Must(calibration.New(exptest.ToyLoader(), strings.Replace(file, "toy.toml", "machine.toml", 1), "machine.event.mispredict.cycles=99"))(t)
	fit, err := c.Fit(&running.Runner{Measure: half})
	require.That(t, err == nil && fit.Cycles[0] == 499, "fitted %+v, %v; want 499 cycles", fit, err)
}

// A description that builds on another one has the figures of another machine, unless it names its own.
func TestCalibrationOfAnother(t *testing.T) {
	dir := filepath.Dir(exptest.ToyFiles(t))
	mine := exptest.Write(t, dir, "mine.toml", "base = \"./machine.toml\"\nname = \"mine\"\n")
	_, err := calibration.New(exptest.ToyLoader(), mine)
	require.Error(t, err, "machine mine inherits its fitted numbers from", "figures of that machine")
	mine = exptest.Write(t, dir, "mine.toml", "base = \"./machine.toml\"\nname = \"mine\"\n[calibration]\nexperiment = \"./toy.toml\"\n")
	_, err = calibration.New(exptest.ToyLoader(), mine)
	require.NoError(t, err)
}

// A machine is fitted on an experiment with figures of its own.
func TestCalibrationOnACollection(t *testing.T) {
	dir := filepath.Dir(exptest.CollectionFiles(t))
	machine := exptest.Write(t, dir, "machine.toml", strings.Replace(exptest.ToyMachine, `"./toy.toml"`, `"./both.toml"`, 1))
	require.Error(t, require.Err(calibration.New(exptest.ToyLoader(), machine)), "collects others", "the call")
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
		{"one number", `trap = { cycles = 100, fitted = ["k"], source = "fitted: k" }`, 5000, []int64{0}, "event.trap.cycles stopped at 0 cycles, the end of its range: the figures ask for -3035"},
		{"one of two", `trap = { cycles = 100, fitted = ["k"], source = "fitted: k" }`, 900, []int64{0, 1080}, "event.mispredict.cycles stopped at 0 cycles, the end of its range: the figures ask for -40"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := exptest.ToyFiles(t)
			text := exptest.ToyMachine
			if len(c.want) == 2 {
				text = strings.Replace(text, `mispredict = { cycles = "15", source = "book: 7" }`, `mispredict = { cycles = "15", fitted = ["b"], source = "fitted: b" }`, 1)
			}
			machine := exptest.Write(t, filepath.Dir(file), "machine.toml", text)
			costly := func(p *schema.Point) (*kinds.Measurement, error) {
				m, err := exptest.ToyMeasure(p)
				per := clock.FromCycles(c.extra) + p.Machine.CPU.Events["mispredict"]
				m.Probed.Time = m.Base.Time + clock.Ticks(m.Hits)*per
				if p.Name == "k" {
					m.Probed.Time += clock.Ticks(m.Hits) * p.Machine.CPU.Events["trap"]
				}
				return m, err
			}
			cal := require.Must(calibration.New(exptest.ToyLoader(), machine))(t)
			rounds := 0
			cal.Log = func(string) { rounds++ }
			fit := require.Must(cal.Fit(&running.Runner{Measure: costly}))(t)
			require.Equal(t, rounds, 2, "a step of costs that are paid once a hit, and one that moves nothing: rounds")
			text = fit.Proposal()
			require.That(t, slices.Equal(fit.Cycles, c.want) && strings.Contains(text, "# NOT MET: "+c.stop), "fitted to %v, want %v with %q in\n%s", fit.Cycles, c.want, c.stop, text)
		})
	}
}

// A fit moves the events that are tied to a fitted one with it.
func TestTiedEventIsFitted(t *testing.T) {
	file := exptest.ToyFiles(t)
	machine := exptest.Write(t, filepath.Dir(file), "machine.toml", exptest.TiedMachine(`same_as = "trap", source = "book: 7"`))
	both := func(p *schema.Point) (*kinds.Measurement, error) {
		m, err := exptest.ToyMeasure(p)
		m.Probed.Time += clock.Ticks(m.Hits) * p.Machine.CPU.Events["mispredict"]
		return m, err
	}
	c := require.Must(calibration.New(exptest.ToyLoader(), machine))(t)
	fit := require.Must(c.Fit(&running.Runner{Measure: both}))(t)
	// 1980 cycles, of which the toy charges two for its name, are the trap twice and once more as the
	// tied event.
	require.That(t, len(fit.Cycles) == 1 && fit.Cycles[0] == 659, "fitted to %v, want one number, 659", fit.Cycles)
}
