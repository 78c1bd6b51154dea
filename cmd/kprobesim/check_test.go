package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"kprobesim/experiments/kinds"
	"kprobesim/experiments/schema"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/results/outdir"
)

// baselines writes the baselines of an experiment whose hits cost 1000 cycles.
func baselines(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if code, _, stderr := command(fake(1000), "check", experiment, "--baselines", dir, "--update"); code != exitOK {
		t.Fatalf("check --update: exit code %d\n%s", code, stderr)
	}
	return dir
}

// read returns the text of a file.
func read(t *testing.T, file string) string {
	t.Helper()
	b := require.Must(os.ReadFile(file))(t)
	return string(b)
}

func TestCheckNamesCauses(t *testing.T) {
	dir := baselines(t)
	_, stdout, _ := command(fake(1001), "check", experiment, "--baselines", dir)
	if !strings.Contains(stdout, "differs: no input differs, so the program itself does") {
		t.Errorf("the same inputs:\n%s", stdout)
	}
	_, stdout, _ = command(fake(1001), "check", experiment, "--baselines", dir, "--set", "machine.cost.nop.latency=7")
	if !strings.Contains(stdout, "differs: setting machine.cost.nop.latency: 0 -> 7\n") {
		t.Errorf("a setting:\n%s", stdout)
	}
	file := filepath.Join(dir, experiment+keysExt)
	b := require.Must(os.ReadFile(file))(t)
	latency := regexp.MustCompile(`(?m)^(machine xeon-e5410 cache.l2.latency) = .*$`)
	require.NoError(t, os.WriteFile(file, latency.ReplaceAll(b, []byte("$1 = 99")), 0o644))
	_, stdout, _ = command(fake(1001), "check", experiment, "--baselines", dir)
	if !strings.Contains(stdout, "differs: machine xeon-e5410 cache.l2.latency: 99 -> 15\n") {
		t.Errorf("a key of the machine:\n%s", stdout)
	}
}

// Inputs that moved no figure are recorded without measuring, and the figures stay as they are.
func TestCheckRecordsInputs(t *testing.T) {
	dir := baselines(t)
	figures, inputs := filepath.Join(dir, experiment+".csv"), filepath.Join(dir, experiment+keysExt)
	was := read(t, figures)
	whole := read(t, inputs)
	require.NoError(t, os.WriteFile(inputs, []byte("image old = sha256:0\n"), 0o644))
	if code, _, stderr := command(fake(1000), "check", experiment, "--baselines", dir); code != exitOK || !strings.Contains(stderr, "check --inputs "+experiment+" records them") {
		t.Errorf("nothing moved but the inputs: exit code %d\n%s", code, stderr)
	}
	never := func(*schema.Point) (*kinds.Measurement, error) { panic("a point is measured") }
	if code, stdout, stderr := command(never, "check", experiment, "--baselines", dir, "--inputs"); code != exitOK || !strings.Contains(stdout, "wrote "+inputs) {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if _, _, stderr := command(fake(1000), "check", experiment, "--baselines", dir); strings.Contains(stderr, "records them") {
		t.Errorf("recorded inputs are stale:\n%s", stderr)
	}
	if read(t, figures) != was || read(t, inputs) != whole {
		t.Error("the figures changed, or the inputs are not those of the experiment")
	}
	if code, _, stderr := command(never, "check", experiment, "--baselines", t.TempDir(), "--inputs"); code != exitUsage || !strings.Contains(stderr, "has no baseline") {
		t.Errorf("without a baseline: exit code %d\n%s", code, stderr)
	}
	if code, _, _ := command(never, "check", experiment, "--baselines", dir, "--inputs", "--update"); code != exitUsage {
		t.Errorf("with --update: exit code %d", code)
	}
}

func TestCheckRules(t *testing.T) {
	dir := baselines(t)
	rules := filepath.Join(dir, "checks.toml")
	for _, x := range []struct {
		text  string
		code  int
		says  string
		extra []string
	}{
		{"[[thresholds]]\npercent = 0.2\n", exitOK, "within 0.2 %", nil},
		{"[[thresholds]]\npercent = 0.05\n", exitRegression, "moved", nil},
		{"[[waivers]]\nreason = \"new lock\"\nexpires = \"2026-06-30\"\n", exitOK, "new lock (until 2026-06-30", nil},
		{"[[waivers]]\nreason = \"new lock\"\nexpires = \"2026-06-29\"\n", exitRegression, "the waiver expired on 2026-06-29", nil},
		{"[[thresholds]]\npercent = 100\n", exitRegression, "moved", []string{"--rules", filepath.Join(dir, "none.toml")}},
	} {
		require.NoError(t, os.WriteFile(rules, []byte(x.text), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "none.toml"), nil, 0o644))
		var out, errOut bytes.Buffer
		a := newApp(&out, &errOut)
		a.measure, a.now = fake(1001), func() time.Time { return time.Date(2026, 6, 30, 23, 0, 0, 0, time.UTC) }
		code := a.run(append([]string{"check", experiment, "--baselines", dir}, x.extra...))
		if code != x.code || !strings.Contains(out.String(), x.says) {
			t.Errorf("%q: exit code %d, want %d with %q\n%s%s", x.text, code, x.code, x.says, out.String(), errOut.String())
		}
	}
}

func TestCheckForms(t *testing.T) {
	dir := baselines(t)
	for form, begins := range map[string]string{
		"text": experiment + ": ", "markdown": "\n### " + experiment, "json": "[\n  {", "junit": "<?xml", "github": "::error title=" + experiment,
	} {
		code, stdout, _ := command(fake(1001), "check", experiment, "--baselines", dir, "--format", form)
		if code != exitRegression || !strings.HasPrefix(stdout, begins) {
			t.Errorf("%s: exit code %d\n%.300s", form, code, stdout)
		}
		report := filepath.Join(dir, "report")
		code, stdout, _ = command(fake(1001), "check", experiment, "--baselines", dir, "--format", form, "--report", report)
		b, err := os.ReadFile(report)
		if code != exitRegression || err != nil || !strings.HasPrefix(string(b), begins) || !strings.Contains(stdout, "moved    cycles_phase_dispatch") {
			t.Errorf("%s in a file: exit code %d, %v\n%.300s", form, code, err, b)
		}
	}
	if code, _, stderr := command(fake(1), "check", experiment, "--baselines", dir, "--format", "xml"); code != exitUsage {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	code, stdout, _ := command(fake(1000), "check", experiment, "--baselines", dir, "--format", "json")
	if code != exitOK || !strings.Contains(stdout, `"failed": false`) {
		t.Errorf("nothing moved: exit code %d\n%.300s", code, stdout)
	}
}

// A baseline of an older revision is compared with, whatever the work tree holds.
func TestCheckAgainstRevision(t *testing.T) {
	hosttools.Need(t, "git", "git", "check --against")
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		c := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=n", "-c", "user.email=e"}, args...)...)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q")
	base := filepath.Join(dir, "base")
	for _, cost := range []int64{1000, 2000} {
		if code, _, stderr := command(fake(cost), "check", experiment, "--baselines", base, "--update"); code != exitOK {
			t.Fatal(stderr)
		}
		git("add", "-A")
		git("commit", "-q", "-m", "x")
	}
	for _, x := range []struct {
		args []string
		code int
		says string
	}{
		{nil, exitOK, "records are as in"},
		{[]string{"--against", "HEAD"}, exitOK, "records are as in HEAD:"},
		{[]string{"--against", "HEAD~1"}, exitRegression, "1000 -> 2000 cycles"},
		{[]string{"--against", "nothing"}, exitUsage, "git knows no such revision"},
		{[]string{"--against", "-x"}, exitUsage, "name a revision"},
		{[]string{"--against", "HEAD", "--update"}, exitUsage, "use one of them"},
	} {
		code, stdout, stderr := command(fake(2000), append([]string{"check", experiment, "--baselines", base}, x.args...)...)
		if code != x.code || !strings.Contains(stdout+stderr, x.says) {
			t.Errorf("%v: exit code %d, want %d with %q\n%s%s", x.args, code, x.code, x.says, stdout, stderr)
		}
	}
}

func TestDiff(t *testing.T) {
	out := t.TempDir()
	dirs := map[string]string{}
	for name, args := range map[string][]string{"plain": nil, "set": {"--set", "machine.cost.nop.latency=7"}} {
		cost := int64(1000 + len(args))
		dirs[name] = filepath.Join(out, experiment)
		if args != nil {
			dirs[name] += "+" + args[1]
		}
		all := append([]string{"run", experiment, "--out", out}, args...)
		if code, _, stderr := command(fake(cost), all...); code != exitOK {
			t.Fatal(stderr)
		}
	}
	file := filepath.Join(dirs["plain"], "results.csv")
	for _, x := range []struct {
		a, b string
		code int
		says string
	}{
		{dirs["plain"], dirs["plain"], exitOK, "records are as in"},
		{dirs["plain"], file, exitOK, "records are as in"},
		{dirs["plain"], dirs["set"], exitRegression, "setting machine.cost.nop.latency: 0 -> 7"},
		{dirs["plain"], filepath.Join(out, "nowhere"), exitUsage, "is not there"},
		{dirs["plain"], out, exitUsage, "results.csv"},
	} {
		code, stdout, stderr := command(nil, "diff", x.a, x.b)
		if code != x.code || !strings.Contains(stdout+stderr, x.says) {
			t.Errorf("%s %s: exit code %d, want %d with %q\n%s%s", x.a, x.b, code, x.code, x.says, stdout, stderr)
		}
	}
}

// Directories of two builds are told apart when their records differ.
func TestDiffNamesPrograms(t *testing.T) {
	out := t.TempDir()
	var dirs []string
	for i, revision := range []string{"abc", "def"} {
		dir := filepath.Join(out, revision)
		m := &outdir.Manifest{Program: outdir.Program{Revision: revision}}
		manifest := require.Must(m.JSON())(t)
		if code, _, stderr := command(fake(int64(1000+i)), "run", experiment, "--out", dir); code != exitOK {
			t.Fatal(stderr)
		}
		files := map[string][]byte{outdir.ManifestName: manifest}
		for _, name := range []string{"results.csv", "inputs.txt"} {
			files[name] = []byte(read(t, filepath.Join(dir, experiment, name)))
		}
		dirs = append(dirs, filepath.Join(out, "of-"+revision))
		require.NoError(t, outdir.WriteDir(dirs[i], files))
	}
	code, stdout, stderr := command(nil, "diff", dirs[0], dirs[1])
	if code != exitRegression || !strings.Contains(stdout, "differs: program: revision abc -> revision def\n") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}

// Results that somebody changed behind the run are neither compared nor reported, nor are those without their list.
func TestChangedResultsAreRefused(t *testing.T) {
	out := t.TempDir()
	dir := filepath.Join(out, experiment)
	page := filepath.Join(out, "report.html")
	for _, x := range []struct {
		file, says string
		change     func(file string) error
	}{
		{"results.csv", "results.csv is not as it was written (SHA256SUMS)", func(file string) error {
			return os.WriteFile(file, []byte(strings.Replace(read(t, file), "5000", "4000", 1)), 0o644)
		}},
		{"inputs.txt", "inputs.txt is not as it was written (SHA256SUMS)", func(file string) error {
			return os.WriteFile(file, []byte(read(t, file)+"more = 1\n"), 0o644)
		}},
		{outdir.SumsName, "has no SHA256SUMS, by which", os.Remove},
		{"results.csv", "results.csv", os.Remove},
	} {
		if code, _, stderr := command(fake(1000), "run", experiment, "--out", out); code != exitOK {
			t.Fatal(stderr)
		}
		if code, _, stderr := command(nil, "diff", dir, dir); code != exitOK {
			t.Errorf("unchanged: exit code %d\n%s", code, stderr)
		}
		require.NoError(t, x.change(filepath.Join(dir, x.file)))
		for _, args := range [][]string{{"diff", dir, dir}, {"report", dir, "-o", page}, {"plot", dir}} {
			code, stdout, stderr := command(nil, args...)
			if code != exitUsage && code != exitFailed || !strings.Contains(stderr, x.says) {
				t.Errorf("%s changed, %s: exit code %d, want %q\n%s%s", x.file, args[0], code, x.says, stdout, stderr)
			}
		}
		require.NoError(t, os.RemoveAll(dir))
	}
}

// TestWorkflow holds that the workflow's commands are ones of this program with options that exist, and runs them on one
// experiment. What the actions of others do cannot be tried here.
func TestWorkflow(t *testing.T) {
	b := require.Must(os.ReadFile(filepath.Join("..", "..", ".github", "workflows", "figures.yml")))(t)
	runs := regexp.MustCompile(`(?m)^ +run: go run \./cmd/kprobesim (.*)$`).FindAllStringSubmatch(string(b), -1)
	if len(runs) != 2 {
		t.Fatalf("%d commands, want 2", len(runs))
	}
	dir := baselines(t)
	for _, r := range runs {
		args, _, _ := strings.Cut(r[1], " >>")
		fields := strings.Fields(strings.Replace(args, " overhead-published", "", 1))
		fields = append(fields, experiment, "--baselines", dir)
		if code, stdout, stderr := command(fake(1001), fields...); code != exitRegression || !strings.Contains(stdout, "1000 -> 1001") && !strings.Contains(stdout, "| 1000 | 1001 |") {
			t.Errorf("%v: exit code %d\n%.300s%s", fields, code, stdout, stderr)
		}
	}
}

// TestCheckLeavesPackagedKernelsOut has check without names take every experiment but the ones of kernels that are not part
// of the program, and say so in a line each.
func TestCheckLeavesPackagedKernelsOut(t *testing.T) {
	var out, said bytes.Buffer
	names := (&checker{app: newApp(&out, &said)}).withBaselines()
	if slices.Contains(names, "linux-probes") || !slices.Contains(names, "overhead-published") || len(names) < 60 {
		t.Errorf("checked are %q", names)
	}
	for _, name := range []string{"linux-probes", "linux-probes-i386"} {
		if !strings.Contains(said.String(), "left out: "+name+",") {
			t.Errorf("nothing is said of %s: %q", name, said.String())
		}
	}
}
