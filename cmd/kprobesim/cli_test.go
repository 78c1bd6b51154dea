package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"kprobesim/experiments/kinds"
	"kprobesim/experiments/reports"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

const (
	experiment = "overhead-xeon-e5410-x86_64"
	collection = "overhead-published"
)

// several are an experiment of each instruction set and era, and the collection, which has all of them and
// stands for them when tests are to be short.
func several() []string {
	if testing.Short() {
		return []string{collection}
	}
	return []string{experiment, "overhead-pentium-m", collection}
}

// fake measures without simulating: every hit costs cost cycles, all of them dispatch.
func fake(cost int64) running.Measure {
	return func(p *schema.Point) (*kinds.Measurement, error) {
		n := p.Workload.Hits
		phases := make([]clock.Ticks, len(kinds.Phases()))
		base := kinds.Sample{Time: clock.FromCycles(10 * n), Instructions: 5 * n, Phases: append([]clock.Ticks(nil), phases...)}
		phases[1] = clock.FromCycles(cost * n)
		probed := kinds.Sample{Time: base.Time + phases[3], Instructions: 50 * n, Phases: phases}
		first := kinds.Sample{Time: clock.FromCycles(5 * cost), Instructions: 60, Counts: kinds.Counts{Calls: 1, Hits: 1}}
		return &kinds.Measurement{Counts: kinds.Counts{Calls: n, Hits: n}, Base: base, Probed: probed, First: first}, nil
	}
}

// failing fails on point k and measures the others.
func failing(err error) running.Measure {
	return func(p *schema.Point) (*kinds.Measurement, error) {
		if p.Label == "k" {
			if err == nil {
				panic("broken invariant")
			}
			return nil, err
		}
		return fake(1000)(p)
	}
}

// command runs the command with a measure of its own.
func command(m running.Measure, args ...string) (code int, stdout, stderr string) {
	var out, errOut bytes.Buffer
	a := newApp(&out, &errOut)
	if m != nil {
		a.measure, a.program = m, nil // what is made up must not be kept
	}
	return a.run(args), out.String(), errOut.String()
}

func TestExitCodes(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.toml")
	require.NoError(t, os.WriteFile(bad, []byte("name = \"x\"\nmachin = \"y\"\n"), 0o644))
	out := filepath.Join(dir, "out")
	for _, c := range []struct {
		name    string
		measure running.Measure
		args    []string
		code    int
		says    string // on the error stream, or on the other for code 0
	}{
		{"run", fake(1000), []string{"run", experiment, "--out", out}, exitOK, "results are in"},
		{"failing point", failing(errors.New("loops for ever")), []string{"run", experiment, "--out", out}, exitFailed, "point k: loops for ever"},
		{"failing points of a collection", failing(errors.New("loops for ever")), []string{"run", collection, "--out", out}, exitFailed, "point overhead-pentium-m:k: loops for ever"},
		{"panic in a collection", failing(nil), []string{"run", collection, "--out", out}, exitInternal, "point overhead-pentium-m:k: internal error"},
		{"panic", failing(nil), []string{"run", experiment, "--out", out}, exitInternal, "point k: internal error: broken invariant"},
		{"no file", nil, []string{"run"}, exitUsage, "name an experiment file"},
		{"unknown flag", nil, []string{"run", experiment, "--fast"}, exitUsage, "unknown flag: --fast"},
		{"unknown command", nil, []string{"rum", experiment}, exitUsage, "unknown command"},
		{"unknown experiment", nil, []string{"run", "overhead"}, exitUsage, `unknown experiment "overhead"`},
		{"bad file", nil, []string{"validate", bad}, exitUsage, `bad.toml:2:1: unknown key "machin"; did you mean "machine"?`},
		{"bad set", nil, []string{"validate", experiment, "--set", "workload.hits"}, exitUsage, "want key=value"},
		{"twice", nil, []string{"run", experiment, experiment}, exitUsage, "would share a directory"},
		{"unknown point", nil, []string{"trace", experiment, "--point", "x"}, exitUsage, `no point "x": known are k, b`},
		{"no point", nil, []string{"trace", experiment}, exitUsage, "name a point"},
		{"point of a collection", nil, []string{"trace", collection, "--point", "k"}, exitUsage, `no point "k": known are overhead-pentium-m:k`},
		{"valid collection", nil, []string{"validate", collection}, exitOK, "ok, 27 points: overhead-pentium-m:k, "},
		{"figure of a collection", fake(1000), []string{"run", collection, "--out", out, "--set", "figures=[\"timeline\"]"}, exitUsage, `unknown value "timeline"`},
		{"timeline", nil, []string{"timeline", experiment, "-p", "o", "--set", "workload.hits=2", "-o", filepath.Join(dir, "t")}, exitOK, "timeline of point o is in"},
		{"timeline of no point", nil, []string{"timeline", experiment, "--point", "x"}, exitUsage, `no point "x": known are k, b`},
		{"timeline nowhere", nil, []string{"timeline", experiment, "-p", "o", "--set", "workload.hits=2", "-o", filepath.Join(bad, "t")}, exitUsage, "bad.toml"},
		{"trace without hits", nil, []string{"trace", "optimize-latency", "-p", "o/workload.load=idle/kernel.hz=1000/kernel.cpus=1"}, exitFailed, "look at them with timeline"},
		{"accounts", fake(1000), []string{"run", experiment, "--accounts", "--out", out}, exitOK, "What every CPU did"},
		{"bad hit", nil, []string{"trace", experiment, "-p", "k", "--hit", "-3"}, exitUsage, "--hit -3 is outside"},
		{"no baseline", fake(1000), []string{"check", experiment, "--baselines", dir}, exitUsage, "has no baseline"},
		{"plot nothing", nil, []string{"plot", dir}, exitUsage, "is no results directory"},
		{"report nothing", nil, []string{"report", dir}, exitUsage, "is no results directory"},
		{"report of nothing", nil, []string{"report"}, exitUsage, "name a results directory"},
		{"unknown machine", nil, []string{"calibrate", "xeon"}, exitUsage, `unknown machine "xeon"`},
		{"fit", nil, []string{"calibrate", "xeon-e5410-i386", "--set", "workload.hits=50"}, exitOK, "[event.exception_breakpoint]"},
		{"fit at its end", nil, []string{"calibrate", "opteron-246", "--set", "machine.cost.iret.issue=600", "--set", "workload.hits=50"}, exitFailed, "event.exception_breakpoint.cycles stopped at 0 cycles"},
		{"fit with a negative loop", nil, []string{"calibrate", "xeon-e5410", "--benchmark", "-1"}, exitUsage, "--benchmark -1: want cycles of a hit, 0 or more"},
		{"fit with a bad setting", nil, []string{"calibrate", "xeon-e5410", "--set", "workload.hats=3"}, exitUsage, `unknown key "workload.hats"`},
		{"sensitivity", fake(1000), []string{"sensitivity", experiment, "--out", out}, exitOK, "0 of them move a row"},
		{"sensitivity of a collection", fake(1000), []string{"sensitivity", collection}, exitUsage, "name one of them"},
		{"sensitivity of a kind", fake(1000), []string{"sensitivity", "scaling"}, exitUsage, "is of kind scaling"},
		{"sensitivity of nothing", fake(1000), []string{"sensitivity", experiment, "--top", "0"}, exitUsage, "--top 0: want 1 or more"},
		{"nothing to fit again", fake(1000), []string{"sensitivity", "sharing-xeon-e5410-x86_64", "--refit"}, exitUsage, "leave --refit away"},
		{"sensitivity that fails", failing(errors.New("loops for ever")), []string{"sensitivity", experiment}, exitFailed, "loops for ever"},
		{"hit nought", nil, []string{"trace", experiment, "-p", "k", "--hit", "0"}, exitUsage, "hits are counted from 1"},
		{"workers below nought", nil, []string{"run", experiment, "-j", "-4"}, exitUsage, "--workers -4: want 1 to 1024"},
		{"list", nil, []string{"list"}, exitOK, experiment},
		{"architectures", nil, []string{"list", "architectures"}, exitOK, "ia64       not simulated; no probe on the instruction of slot 1"},
		{"explain nothing", nil, []string{"explain", "--kernel", bad}, exitUsage, "name places as SYMBOL+OFFSET"},
		{"explain without a kernel", nil, []string{"explain", "do_fork"}, exitUsage, "name the kernel by --kernel FILE"},
		{"explain no kernel", nil, []string{"explain", "--kernel", bad, "do_fork"}, exitUsage, "bad.toml"},
		{"explain in a form", nil, []string{"explain", "--kernel", bad, "--format", "xml", "do_fork"}, exitUsage, "it is text or json"},
		{"explain and ask nobody", nil, []string{"explain", "--kernel", bad, "--file", "--verify", "do_fork"}, exitUsage, "use one of them"},
		{"help", nil, []string{"help"}, exitOK, "calibrate"},
	} {
		code, stdout, stderr := command(c.measure, c.args...)
		said := stderr
		if c.code == exitOK {
			said = stdout
		}
		if code != c.code || !strings.Contains(said, c.says) {
			t.Errorf("%s: exit code %d, want %d with %q\n%s", c.name, code, c.code, c.says, said)
		}
	}
}

func TestFailedPointKeepsTheOthers(t *testing.T) {
	out := t.TempDir()
	code, stdout, _ := command(failing(errors.New("no luck")), "run", experiment, "--out", out)
	if code != exitFailed || !strings.Contains(stdout, "\nro ") {
		t.Errorf("exit code %d, table\n%s", code, stdout)
	}
	csv, err := os.ReadFile(filepath.Join(out, experiment, reports.ResultsName))
	if err != nil || strings.Contains(string(csv), ",k,") || !strings.Contains(string(csv), ",b,") {
		t.Errorf("results are %s, %v", csv, err)
	}
}

func TestCheck(t *testing.T) {
	for _, name := range several() {
		dir := t.TempDir()
		if code, _, stderr := command(fake(1000), "check", name, "--baselines", dir, "--update"); code != exitOK {
			t.Fatalf("%s: check --update: exit code %d\n%s", name, code, stderr)
		}
		if code, stdout, _ := command(fake(1000), "check", name, "--baselines", dir); code != exitOK {
			t.Errorf("%s: check: exit code %d\n%s", name, code, stdout)
		}
		code, stdout, stderr := command(fake(1001), "check", name, "--baselines", dir)
		if code != exitRegression || !strings.Contains(stdout, "1000 -> 1001 cycles") {
			t.Errorf("%s: check of a change: exit code %d\n%s%s", name, code, stdout, stderr)
		}
	}
}

func TestPlotDrawsTheSame(t *testing.T) {
	for _, name := range several() {
		out := t.TempDir()
		if code, _, stderr := command(fake(1000), "run", name, "--out", out); code != exitOK {
			t.Fatal(stderr)
		}
		dir := filepath.Join(out, name)
		before := readAll(t, dir)
		require.NoError(t, os.Remove(filepath.Join(dir, "overhead.png")))
		if code, _, stderr := command(nil, "plot", dir); code != exitOK {
			t.Fatal(stderr)
		}
		sameFiles(t, before, readAll(t, dir))
	}
}

// TestReport writes the page of runs of an experiment and of a collection, and one where no file can be.
func TestReport(t *testing.T) {
	out := t.TempDir()
	args := []string{"report", "-o", filepath.Join(out, "page.html")}
	for _, name := range several() {
		if code, _, stderr := command(fake(1000), "run", name, "--out", out); code != exitOK {
			t.Fatal(stderr)
		}
		args = append(args, filepath.Join(out, name))
	}
	if code, stdout, stderr := command(nil, args...); code != exitOK || !strings.Contains(stdout, "the report is in") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	page, err := os.ReadFile(args[2])
	if err != nil || !strings.Contains(string(page), "predicted") || !strings.Contains(string(page), "<td>overhead-pentium-m: k on ") {
		t.Errorf("the page begins with %.300s, %v", page, err)
	}
	args[2] = filepath.Join(args[2], "page.html")
	if code, _, stderr := command(nil, args...); code != exitFailed || !strings.Contains(stderr, "page.html") {
		t.Errorf("a page below a file: exit code %d, %s", code, stderr)
	}
}

func TestPlotOfACollection(t *testing.T) {
	out := t.TempDir()
	if code, _, stderr := command(fake(1000), "run", collection, "--out", out); code != exitOK {
		t.Fatal(stderr)
	}
	dir := filepath.Join(out, collection)
	if code, _, stderr := command(nil, "plot", dir, "--figures", "phases"); code != exitOK {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "phases.svg")); err != nil {
		t.Error(err)
	}
}

func TestRunIsDeterministic(t *testing.T) {
	for _, name := range several() {
		var dirs [2]map[string]string
		for i, workers := range []string{"1", "3"} {
			out := t.TempDir()
			if code, _, stderr := command(fake(1000), "run", name, "--out", out, "--workers", workers); code != exitOK {
				t.Fatal(stderr)
			}
			dirs[i] = readAll(t, filepath.Join(out, name))
		}
		sameFiles(t, dirs[0], dirs[1])
	}
}

func readAll(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries := require.Must(os.ReadDir(dir))(t)
	all := map[string]string{}
	for _, e := range entries {
		b := require.Must(os.ReadFile(filepath.Join(dir, e.Name())))(t)
		all[e.Name()] = string(b)
	}
	return all
}

func sameFiles(t *testing.T, a, b map[string]string) {
	t.Helper()
	if len(a) != len(b) {
		t.Errorf("%d files against %d", len(a), len(b))
	}
	for name := range a {
		if a[name] != b[name] {
			t.Errorf("%s differs", name)
		}
	}
}

// TestErasInOneTable runs the kernels of three eras: what boosting, trampolines and optimization save must show, and
// what holds for all parts is said once.
func TestErasInOneTable(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := command(nil, "run", "eras", "--out", t.TempDir())
	if code != exitOK {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	for _, machine := range []string{"pentium-m-1495", "opteron-246"} {
		if n := strings.Count(stdout, machine+": 1 parameter fitted"); n != 1 {
			t.Errorf("what %s was fitted on is said %d times\n%s", machine, n, stdout)
		}
	}
	us := map[string]float64{}
	era := ""
	for line := range strings.Lines(stdout) {
		f := strings.Fields(line)
		if len(f) > 3 && strings.HasPrefix(f[1], "20") {
			era = f[2] + " " + f[1] + " "
			f = f[3:]
		}
		if len(f) == 3 && f[2] == "simulated" {
			us[era+f[0]], _ = strconv.ParseFloat(f[1], 64)
		}
	}
	for _, order := range [][]string{
		{"i386 2006 b", "i386 2006 k"},
		{"i386 2006 rb", "i386 2006 r", "i386 2006 r-trap"},
		{"i386 2006 rb", "i386 2006 rb-trap", "i386 2006 r-trap"},
		{"i386 2010 o", "i386 2010 b", "i386 2010 k"},
		{"x86_64 2010 o", "x86_64 2010 b", "x86_64 2005 k", "x86_64 2006 k", "x86_64 2010 k"},
	} {
		for i, name := range order {
			if us[name] <= 0 || i > 0 && us[name] <= us[order[i-1]] {
				t.Errorf("%s takes %v us, want it to rise along %v", name, us[name], order)
			}
		}
	}
}
