package planning_test

import (
	"path/filepath"
	"strings"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/kprobes"
)

func TestBase(t *testing.T) {
	dir := filepath.Dir(exptest.ToyFiles(t))
	exptest.Write(t, dir, "mine.toml", `base = "machine.toml"
name = "mine"
[sources]
me = "measured here"
[event]
mispredict = { cycles = 20, source = "me: with a loop" }
`)
	file := exptest.Write(t, dir, "more.toml", `base = "toy.toml"
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
	p, err := exptest.ToyLoader().Plan(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != "more" || len(p.Points) != 3 || len(p.Inputs) != 5 {
		t.Fatalf("%s has %d points, %d inputs", p.Name, len(p.Points), len(p.Inputs))
	}
	b := p.Points[1]
	if b.Probe.Handler != "handler_count" || b.Probe.Mode != kprobes.Boosted || b.Probe.Published == nil {
		t.Errorf("point b is %+v", b.Probe)
	}
	if b.Machine.Name != "mine" || b.Machine.CPU.Events["mispredict"] != 20*60 || b.Machine.CPU.Width != 4 {
		t.Errorf("machine is %+v", b.Machine)
	}
}

func TestBaseErrors(t *testing.T) {
	dir := filepath.Dir(exptest.ToyFiles(t))
	for text, want := range map[string]string{
		`base = "none.toml"`: "bad.toml:1:8: experiment: ",
		`base = 3`:           "bad.toml:1:8: base: want a string",
		`base = "bad.toml"`:  "more than 8 files are based on each other",
		`base = "toy"`:       `unknown experiment "toy"`,
	} {
		_, err := exptest.ToyLoader().Plan(exptest.Write(t, dir, "bad.toml", text), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}
