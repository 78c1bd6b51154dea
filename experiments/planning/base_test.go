package planning_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/planning"
	"kprobesim/internal/require"
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
	p := require.Must(exptest.ToyLoader().Plan(file, nil))(t)
	require.Need(t, p.Name == "more" && len(p.Points) == 3 && len(p.Inputs) == 5, "%s has %d points, %d inputs", p.Name, len(p.Points), len(p.Inputs))
	b := p.Points[1]
	require.That(t, b.Probe.Handler == "handler_count" && b.Probe.Mode == kprobes.Boosted && b.Probe.Published != nil, "point b is %+v", b.Probe)
	require.That(t, b.Machine.Name == "mine" && b.Machine.CPU.Events["mispredict"] == 20*60 && b.Machine.CPU.Width == 4, "machine is %+v", b.Machine)
}

func TestBaseErrors(t *testing.T) {
	dir := filepath.Dir(exptest.ToyFiles(t))
	for text, want := range map[string]string{
		`base = "none.toml"`: "bad.toml:1:8: experiment: ",
		`base = 3`:           "bad.toml:1:8: base: want a string",
		`base = "bad.toml"`:  "bad.toml is based on itself: ",
		`base = "toy"`:       `unknown experiment "toy"`,
	} {
		require.Error(t, require.Err(exptest.ToyLoader().Plan(exptest.Write(t, dir, "bad.toml", text), nil)), want, "%s", text)
	}
}

// TestBaseInACircle names every file of the circle.
func TestBaseInACircle(t *testing.T) {
	dir := t.TempDir()
	exptest.Write(t, dir, "b.toml", `base = "c.toml"`)
	exptest.Write(t, dir, "c.toml", `base = "b.toml"`)
	file := exptest.Write(t, dir, "a.toml", `base = "b.toml"`)
	_, err := exptest.ToyLoader().Plan(file, nil)
	want := filepath.Join(dir, "b.toml") + " is based on " + filepath.Join(dir, "c.toml") + " is based on " + filepath.Join(dir, "b.toml")
	require.Error(t, err, want, "the call")
}

// TestBaseOfMany has files on top of each other: so many and no more.
func TestBaseOfMany(t *testing.T) {
	dir := filepath.Dir(exptest.ToyFiles(t))
	below := "toy.toml"
	for n := 2; n < 12; n++ {
		above := fmt.Sprintf("on%d.toml", n)
		file := exptest.Write(t, dir, above, fmt.Sprintf("base = %q\n", below))
		err := require.Err(exptest.ToyLoader().Plan(file, nil))
		require.That(t, (err == nil) == (n <= 9), "%d files: %v", n, err)
		require.That(t, err == nil || strings.Contains(err.Error(), "more than 8 files are based on each other"), "%d files: %v", n, err)
		below = above
	}
}

// TestBaseOfTheSameName has a file on top of an experiment of this program that has its name and its place.
func TestBaseOfTheSameName(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("experiments", 0o755))
	file := exptest.Write(t, "experiments", "overhead-pentium-m.toml", "base = \"overhead-pentium-m\"\nname = \"mine\"\n")
	p, err := planning.NewLoader().Plan(file, nil)
	require.That(t, err == nil && p.Name == "mine", "got %v", err)
}

// TestOwnKeyBeatsTheSweepOfTheBase has files on top of a sweep that say a value of a swept key: it is the only one.
func TestOwnKeyBeatsTheSweepOfTheBase(t *testing.T) {
	dir := filepath.Dir(exptest.ToyFiles(t))
	exptest.Write(t, dir, "swept.toml", `base = "toy.toml"
name = "swept"
[sweep]
"workload.hits" = [1, 2, 3]
workload.warmup = [4, 5]
"points.k.handler" = ["empty", "count"]
`)
	for text, want := range map[string]int{
		"":                                 24,
		"workload.hits = 7":                8,
		"[workload]\nhits = 7\nwarmup = 8": 4,
		"[[points]]\nname = \"k\"\nhandler = \"work\"\n":                                   12,
		"[workload]\nhits = 7\nwarmup = 8\n[[points]]\nname = \"k\"\nhandler = \"work\"\n": 2,
		"workload.hits = 7\n[sweep]\n\"workload.hits\" = [8, 9]":                           16,
	} {
		p, err := exptest.ToyLoader().Plan(exptest.Write(t, dir, "top.toml", "base = \"swept.toml\"\nname = \"top\"\n"+text), nil)
		require.Need(t, err == nil, "%s: %v", text, err)
		require.That(t, len(p.Points) == want, "%s: %d points, want %d", text, len(p.Points), want)
		h := p.Points[0].Workload.Hits
		require.That(t, strings.Contains(text, "hits = 7") == (h == 7) || strings.Contains(text, "sweep"), "%s: %d hits", text, h)
	}
}

// TestStandardInput reads an experiment from there, with paths that start here and messages that say so.
func TestStandardInput(t *testing.T) {
	t.Chdir(filepath.Dir(exptest.ToyFiles(t)))
	l := exptest.ToyLoader()
	l.Stdin = strings.NewReader("base = \"./toy.toml\"\nname = \"piped\"\n")
	p, err := l.Plan("-", nil)
	require.That(t, err == nil && p.Name == "piped" && len(p.Points) == 2, "%+v, %v", p, err)
	l = exptest.ToyLoader()
	l.Stdin = strings.NewReader("nam = 3\n")
	require.Error(t, require.Err(l.Plan("-", nil)), "standard input:1:1: unknown key", "a mistake")
	require.Error(t, require.Err(exptest.ToyLoader().Plan("-", nil)), "no standard input", "without one")
}

// TestControlCharacters are refused in texts: they would be commands to a terminal, and break figures.
func TestControlCharacters(t *testing.T) {
	dir := filepath.Dir(exptest.ToyFiles(t))
	file := exptest.Write(t, dir, "esc.toml", "base = \"toy.toml\"\nname = \"esc\"\ntitle = \"a\\u001b[31mb\"\n")
	_, err := exptest.ToyLoader().Plan(file, nil)
	require.That(t, err != nil && strings.Contains(err.Error(), "esc.toml:3:9: title") && !strings.Contains(err.Error(), "\x1b"), "got %v", err)
}
