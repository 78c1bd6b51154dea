package planning_test

import (
	"path/filepath"
	"slices"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/internal/require"
	"kprobesim/machines"
)

// A tied event has the number of the other one, whatever sets that, and is no parameter of its own.
func TestTiedEvent(t *testing.T) {
	file := exptest.ToyFiles(t)
	dir := filepath.Dir(file)
	exptest.Write(t, dir, "machine.toml", exptest.TiedMachine(`same_as = "trap", source = "book: 7"`))
	p := require.Must(exptest.ToyLoader().Plan(file, []string{"machine.event.trap.cycles=120"}))(t)
	m := p.Points[0].Machine
	require.That(t, m.CPU.Events["mispredict"] == 120*60, "the tied event costs %d ticks, want those of the other, %d", m.CPU.Events["mispredict"], 120*60)
	require.Equal(t, len(m.FittedParams()), 1, "fitted parameters")
	if !slices.ContainsFunc(m.Params, func(p machines.Param) bool {
		return p.Path == "event.mispredict.same_as" && p.Value == "trap" && p.Source == "book: 7"
	}) {
		t.Errorf("the tie is not among the parameters: %+v", m.Params)
	}
}

// A tied event may be dearer than the other by a number of its own.
func TestTiedEventThatIsDearer(t *testing.T) {
	file := exptest.ToyFiles(t)
	exptest.Write(t, filepath.Dir(file), "machine.toml", exptest.TiedMachine(`same_as = "trap", more = "1/2", source = "book: 7"`))
	p := require.Must(exptest.ToyLoader().Plan(file, []string{"machine.event.trap.cycles=120"}))(t)
	m := p.Points[0].Machine
	got := m.CPU.Events["mispredict"]
	require.That(t, got == 120*60+30, "the tied event costs %d ticks, want half a cycle more than 120 cycles", got)
	require.That(t, slices.ContainsFunc(m.Params, func(p machines.Param) bool { return p.Path == "event.mispredict.more" && p.Value == "1/2" }), "the difference is not among the parameters: %+v", m.Params)
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
		file := exptest.ToyFiles(t)
		exptest.Write(t, filepath.Dir(file), "machine.toml", exptest.TiedMachine(table))
		require.Error(t, require.Err(exptest.ToyLoader().Plan(file, nil)), want, "%s", table)
	}
}
