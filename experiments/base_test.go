package experiments

import (
	"path/filepath"
	"strings"
	"testing"

	"kprobesim/internal/clock"
)

func TestBase(t *testing.T) {
	dir := filepath.Dir(toyFiles(t))
	write(t, dir, "mine.toml", `base = "machine.toml"
name = "mine"
[sources]
me = "measured here"
[event]
mispredict = { cycles = 20, source = "me: with a loop" }
`)
	file := write(t, dir, "more.toml", `base = "toy.toml"
name = "more"
machine = "./mine.toml"
[[points]]
name = "b"
handler = "handler_count"
[[points]]
name = "r"
kind = "kretprobe"
mode = "step"
handler = "ret_empty"
`)
	p, err := toyLoader().Plan(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != "more" || len(p.Points) != 3 || len(p.Inputs) != 5 {
		t.Fatalf("%s has %d points, %d inputs", p.Name, len(p.Points), len(p.Inputs))
	}
	b := p.Points[1]
	if b.Probe.Handler != "handler_count" || b.Probe.Mode != Boosted || b.Probe.Published == nil {
		t.Errorf("point b is %+v", b.Probe)
	}
	if b.Machine.Name != "mine" || b.Machine.CPU.Events["mispredict"] != 20*60 || b.Machine.CPU.Width != 4 {
		t.Errorf("machine is %+v", b.Machine)
	}
}

func TestBaseErrors(t *testing.T) {
	dir := filepath.Dir(toyFiles(t))
	for text, want := range map[string]string{
		`base = "none.toml"`: "bad.toml:1:8: experiment: ",
		`base = 3`:           "bad.toml:1:8: base: want a string",
		`base = "bad.toml"`:  "more than 8 files are based on each other",
		`base = "toy"`:       `unknown experiment "toy"`,
	} {
		_, err := toyLoader().Plan(write(t, dir, "bad.toml", text), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

// The E5410 in 32-bit mode is the same silicon: it has every number of the description of 64-bit mode
// but the few that the mode changes.
func TestTheModesOfAMachineShareNumbers(t *testing.T) {
	params := func(name string) map[string]Param {
		m, err := NewLoader().Machine(name, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]Param{}
		for _, p := range m.Params {
			all[p.Path] = p
		}
		return all
	}
	wide, narrow := params("xeon-e5410"), params("xeon-e5410-i386")
	changed := map[string]bool{
		"cost.imul.latency": true, "event.exception_breakpoint.cycles": true, "event.exception_debug.cycles": true,
	}
	if len(wide) < 200 || len(narrow) > len(wide)+1 {
		t.Errorf("%d and %d numbers", len(wide), len(narrow))
	}
	for path, p := range wide {
		if same := narrow[path].Value == p.Value; same == changed[path] {
			t.Errorf("%s is %s in one mode and %s in the other", path, p.Value, narrow[path].Value)
		}
	}
	if n := len(narrow["event.exception_breakpoint.cycles"].Fitted); n != 1 {
		t.Errorf("the delivery of exceptions in 32-bit mode is fitted on %d figures, want one", n)
	}
	// What the debug exception takes more is that of 64-bit mode: it is written down there as two numbers.
	number := func(p Param) int64 {
		v, err := clock.Parse(p.Value)
		if err != nil {
			t.Fatal(err)
		}
		return v.Cycles()
	}
	more := number(narrow["event.exception_debug.more"])
	if want := number(wide["event.exception_debug.cycles"]) - number(wide["event.exception_breakpoint.cycles"]); more != want {
		t.Errorf("more of exception_debug in xeon-e5410-i386.toml is %d, but in xeon-e5410.toml it is %d: write that there, and calibrate again", more, want)
	}
}
