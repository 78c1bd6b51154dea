package experiments

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/clock"
)

// tiedMachine is the toy machine with its first event tied to the one that is fitted.
func tiedMachine(table string) string {
	return strings.Replace(toyMachine, `mispredict = { cycles = "15", source = "book: 7" }`, "mispredict = { "+table+" }", 1)
}

// A tied event has the number of the other one, whatever sets that, and is no parameter of its own.
func TestTiedEvent(t *testing.T) {
	file := toyFiles(t)
	dir := filepath.Dir(file)
	write(t, dir, "machine.toml", tiedMachine(`same_as = "trap", source = "book: 7"`))
	p, err := toyLoader().Plan(file, []string{"machine.event.trap.cycles=120"})
	if err != nil {
		t.Fatal(err)
	}
	m := p.Points[0].Machine
	if m.CPU.Events["mispredict"] != 120*60 {
		t.Errorf("the tied event costs %d ticks, want those of the other, %d", m.CPU.Events["mispredict"], 120*60)
	}
	if n := len(m.FittedParams()); n != 1 {
		t.Errorf("%d fitted parameters, want 1", n)
	}
	if !slices.ContainsFunc(m.Params, func(p Param) bool {
		return p.Path == "event.mispredict.same_as" && p.Value == "trap" && p.Source == "book: 7"
	}) {
		t.Errorf("the tie is not among the parameters: %+v", m.Params)
	}
}

// A tied event may be dearer than the other by a number of its own.
func TestTiedEventThatIsDearer(t *testing.T) {
	file := toyFiles(t)
	write(t, filepath.Dir(file), "machine.toml", tiedMachine(`same_as = "trap", more = "1/2", source = "book: 7"`))
	p, err := toyLoader().Plan(file, []string{"machine.event.trap.cycles=120"})
	if err != nil {
		t.Fatal(err)
	}
	m := p.Points[0].Machine
	if got := m.CPU.Events["mispredict"]; got != 120*60+30 {
		t.Errorf("the tied event costs %d ticks, want half a cycle more than 120 cycles", got)
	}
	if !slices.ContainsFunc(m.Params, func(p Param) bool { return p.Path == "event.mispredict.more" && p.Value == "1/2" }) {
		t.Errorf("the difference is not among the parameters: %+v", m.Params)
	}
}

// A fit moves the events that are tied to a fitted one with it.
func TestTiedEventIsFitted(t *testing.T) {
	file := toyFiles(t)
	machine := write(t, filepath.Dir(file), "machine.toml", tiedMachine(`same_as = "trap", source = "book: 7"`))
	both := func(p *Point) (*Measurement, error) {
		m, err := toyMeasure(p)
		m.Probed.Time += clock.Ticks(m.Hits) * p.Machine.CPU.Events["mispredict"]
		return m, err
	}
	c, err := NewCalibration(toyLoader(), machine)
	if err != nil {
		t.Fatal(err)
	}
	fit, err := c.Fit(&Runner{Measure: both})
	if err != nil {
		t.Fatal(err)
	}
	// 1980 cycles, of which the toy charges two for its name, are the trap twice and once more as the
	// tied event.
	if len(fit.Cycles) != 1 || fit.Cycles[0] != 659 {
		t.Errorf("fitted to %v, want one number, 659", fit.Cycles)
	}
}

func TestBadTies(t *testing.T) {
	for table, want := range map[string]string{
		`same_as = "trap"`:                                              "event.mispredict.source is missing",
		`same_as = "trip", source = "book: 7"`:                          `unknown value "trip": known are mispredict, trap; did you mean "trap"?`,
		`same_as = "mispredict", source = "book: 7"`:                    "event.mispredict.same_as: mispredict has no number of its own",
		`same_as = "trap", more = -3, source = "book: 7"`:               "event.mispredict.more: ",
		`cycles = 3, more = 3, source = "book: 7"`:                      `unknown key "event.mispredict.more"`,
		`same_as = "trap", cycles = 3, source = "book: 7"`:              "event.mispredict.cycles: leave it out",
		`same_as = "trap", fitted = ["k"], source = "fitted: k of toy"`: "event.mispredict.fitted: leave it out",
	} {
		file := toyFiles(t)
		write(t, filepath.Dir(file), "machine.toml", tiedMachine(table))
		_, err := toyLoader().Plan(file, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", table, err, want)
		}
	}
}
