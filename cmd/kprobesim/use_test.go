package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kprobesim/experiments/explaining"
	"kprobesim/experiments/keeping"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/judging/describing"
	"kprobesim/machines"
	"kprobesim/results/outdir"
	"kprobesim/targets"
)

// TestVersion says what a report of a defect needs.
func TestVersion(t *testing.T) {
	code, stdout, _ := command(nil, "--version")
	require.That(t, code == exitOK && strings.HasPrefix(stdout, "kprobesim ") && strings.Contains(stdout, runtime.Version()) && strings.Contains(stdout, "revision "), "exit code %d, %q", code, stdout)
	for want, got := range map[string]string{
		"v1.2.0, revision abc, go1.30":     versionOf("v1.2.0", outdir.Program{Revision: "abc"}, "go1.30"),
		"(devel), revision abc with chang": versionOf("", outdir.Program{Revision: "abc", Modified: true}, "go1.30"),
		"(devel), revision unknown":        versionOf("(devel)", outdir.Program{}, "go1.30"),
	} {
		require.That(t, strings.HasPrefix(got, want), "%q, want %q", got, want)
	}
}

// TestTitleNamesTheMachine runs an experiment on another machine than its file says, and no title names that one.
func TestTitleNamesTheMachine(t *testing.T) {
	_, stdout, _ := command(fake(1000), "run", experiment, "--set", "machine=xeon-gold-6330", "--out", t.TempDir())
	title, _, _ := strings.Cut(stdout, "\n")
	if want := "Overhead of a probe hit, xeon-gold-6330, x86_64, 2010"; !strings.HasPrefix(title, want) || strings.Contains(title, "E5410") {
		t.Errorf("%q, want %q", title, want)
	}
}

// TestCompletedKeys sets a sample of the keys that are offered to the values that they have.
func TestCompletedKeys(t *testing.T) {
	_, stdout, _ := command(nil, "__complete", "run", experiment, "--set", "")
	n := 0
	for line := range strings.Lines(stdout) {
		key, now, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "=\tnow ")
		if !ok {
			continue
		}
		if n++; n%16 != 0 || strings.HasSuffix(key, ".fitted") || key == "kernel.era" {
			continue // a sample; those need quotes, which are not offered
		}
		code, _, stderr := command(nil, "validate", experiment, "--set", key+"="+now)
		require.That(t, code == exitOK || strings.Contains(stderr, "role"), "%s=%s: exit code %d\n%s", key, now, code, stderr)
	}
	require.That(t, n >= 100, "%d keys", n)
}

// TestCompletionsSayWhatFollows offers no files where a point or a key is wanted, and no space behind a key, whether or not there
// is an experiment.
func TestCompletionsSayWhatFollows(t *testing.T) {
	for words, want := range map[string]cobra.ShellCompDirective{
		"run ":                   cobra.ShellCompDirectiveDefault,
		"run %s --set ":          cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace,
		"run nothing --set ":     cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace,
		"trace %s --point ":      cobra.ShellCompDirectiveNoFileComp,
		"trace nothing --point ": cobra.ShellCompDirectiveNoFileComp,
	} {
		_, stdout, _ := command(nil, append([]string{"__complete"}, strings.Split(strings.ReplaceAll(words, "%s", experiment), " ")...)...)
		offers, directive, _ := strings.Cut("\n"+stdout, "\n:")
		require.That(t, strings.TrimSpace(directive) == fmt.Sprint(int(want)) && (len(offers) > 1) == !strings.Contains(words, "nothing"), "%s: %s", words, stdout)
	}
}

// TestManualPages writes a page for each command, the same each time, and has man read them where there is one.
func TestManualPages(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"a", "b"} {
		code, _, stderr := command(nil, "man", filepath.Join(dir, d))
		require.Need(t, code == exitOK, "exit code %d\n%s", code, stderr)
	}
	pages := readAll(t, filepath.Join(dir, "a"))
	sameFiles(t, pages, readAll(t, filepath.Join(dir, "b")))
	var out, errOut bytes.Buffer
	for _, c := range newApp(&out, &errOut).root().Commands() {
		require.That(t, !c.IsAvailableCommand() || strings.Contains(pages["kprobesim-"+c.Name()+".1"], ".SH OPTIONS"), "no page of %s, or none with its options", c.Name())
	}
	require.That(t, len(pages) >= 15, "%d pages", len(pages))
	man := hosttools.Need(t, "mandoc", "mandoc", "reading the manual pages")
	if msg, err := exec.Command(man, "-T", "lint", "-W", "error", filepath.Join(dir, "a", "kprobesim-run.1")).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, msg)
	}
}

// TestNoCommandsToTheTerminal prints escape sequences in a form that no terminal obeys.
func TestNoCommandsToTheTerminal(t *testing.T) {
	var out bytes.Buffer
	a := newApp(&out, &out)
	require.Got(a.out.Write([]byte("a\x1b[2J\r\tb\nä\xff")))(t, 12, "wrote")
	require.Equal(t, out.String(), "a\\x1b[2J\\x0d\tb\nä\\xff", "printed")
}

// TestSignsOfLife has a point that takes long: it is named with the time that it has taken, and the time that is left
// is told once a point was measured.
func TestSignsOfLife(t *testing.T) {
	var said bytes.Buffer
	p := newProgress(&locked{w: &said}, "slow")
	now := time.Unix(0, 0)
	p.now = func() time.Time { return now }
	a, b := bare("a", "x", 1), bare("b", "x", 1)
	p.total, p.workers, p.spoke = 5, 1, now
	p.begun(a)
	now = now.Add(14 * time.Second)
	p.alive()
	require.That(t, said.Len() <= 0, "said %q too early", said.String())
	now = now.Add(2 * time.Second)
	p.alive()
	p.alive()
	now = now.Add(4 * time.Second)
	p.point(1, 5, outcome(a))
	p.begun(b)
	now = now.Add(15 * time.Second)
	p.alive()
	p.total, p.done, p.forecast = 0, 0, forecastOf(nil)
	now = now.Add(15 * time.Second)
	p.alive()
	want := "slow: 0 of 5 points, measuring a for 16s\nslow: 1 of 5: a ok\nslow: 1 of 5 points, measuring b for 15s, about 1m5s left\nslow: measuring b for 30s\n"
	require.Equal(t, said.String(), want, "said\n")
	said.Reset()
	p.forecast = forecastOf(nil, &schema.Plan{Points: []schema.Point{*a, *b}}, &schema.Plan{Points: []schema.Point{*a}})
	p.running, p.total = map[*schema.Point]time.Time{}, 2
	p.begun(a)
	now = now.Add(10 * time.Second)
	p.point(1, 2, outcome(a))
	p.begun(b)
	now = now.Add(15 * time.Second)
	p.alive()
	if want := "slow: 1 of 2: a ok\nslow: 1 of 2 points, measuring b for 15s, about 25s left of all experiments\n"; said.String() != want {
		t.Errorf("said\n%swant\n%s", said.String(), want)
	}
}

// TestSignsOfLifeNameTheLongest has three points run since any of three moments. The first one is named, and of several the
// first by name.
func TestSignsOfLifeNameTheLongest(t *testing.T) {
	for moments := range 27 {
		var said bytes.Buffer
		p := newProgress(&locked{w: &said}, "some")
		p.now = func() time.Time { return time.Unix(50, 0) }
		want, longest := "", 3
		for i, name := range []string{"a", "b", "c"} {
			since := []int{moments % 3, moments / 3 % 3, moments / 9}[i]
			p.running[bare(name, "x", 1)] = time.Unix(int64(since), 0)
			if since < longest {
				want, longest = name, since
			}
		}
		p.alive()
		require.Equal(t, said.String(), fmt.Sprintf("some: measuring %s for %ds\n", want, 50-longest), "said\n")
	}
}

// TestMeterCountsProcessors has a point of 4 seconds on the clock. It takes what the process took of processors meanwhile and no
// more than that; the rest is of files.
func TestMeterCountsProcessors(t *testing.T) {
	for _, x := range []struct{ processors, point, rest float64 }{{1, 1, 0}, {3, 3, 0}, {10, 4, 6}} {
		out, p := t.TempDir(), bare("a", "x", 1)
		m := newMeter()
		m.walls[p], m.total = 4*time.Second, 4*time.Second
		m.began -= time.Duration(x.processors * float64(time.Second))
		require.NoError(t, m.save(out, filepath.Join(out, "none"), 1))
		costs := require.Must(keeping.LoadCosts(out))(t)
		point, rest := costs.Expect(p).Seconds(), costs.Time("results", 1).Seconds()
		require.That(t, math.Abs(point-x.point) < 0.5 && math.Abs(rest-x.rest) < 0.5, "%g s of processors: %g s and %g s", x.processors, point, rest)
	}
}

// TestSparse names every tenth of many points, and each one that fails.
func TestSparse(t *testing.T) {
	var said bytes.Buffer
	p := newProgress(&locked{w: &said}, "many")
	for n := 1; n <= 25; n++ {
		o := outcome(bare("a", "x", 1))
		if n == 4 {
			o.Err = errors.New("text")
		}
		p.sparse(n, 25, o)
	}
	want := ""
	for _, n := range []int{3, 4, 5, 8, 10, 13, 15, 18, 20, 23, 25} {
		want += fmt.Sprintf("many: %d of 25: a %s\n", n, map[bool]string{true: "failed", false: "ok"}[n == 4])
	}
	require.Equal(t, said.String(), want, "said\n")
}

// TestPrintHost prints the numbers that differ, and counts the others.
func TestPrintHost(t *testing.T) {
	var out bytes.Buffer
	d := &describing.Describer{Rows: []describing.Row{{Key: "window", Loop: "alu", Before: "96", Now: "512", Measured: 2.5}, {Key: "width", Loop: "nop", Before: "4", Now: "4"}}, Open: []string{"ports"}}
	newApp(&out, &out).printHost(d, "xeon-e5410")
	want := []string{"xeon-e5410 this host", "window 96 512 alu: 2.50 cycles", "1 numbers differ, 1 loops agree", "open: ports"}
	for i, line := range slices.Collect(strings.Lines(out.String())) {
		require.That(t, i < len(want) && strings.Join(strings.Fields(line), " ") == want[i], "line %d: %q", i, line)
	}
	if a := newApp(&out, &out); require.Must(a.family(nil, "", "xeon-e5410"))(t).Get("isa") == nil {
		t.Error("the description to compare with is no base")
	}
	for _, x := range []struct {
		base, compare, want string
		host                silent
	}{
		{"xeon", "xeon-e5410", `unknown machine "xeon"`, silent{}},
		{"./nothing.toml", "xeon-e5410", "file does not exist", silent{}},
		{"", "", "no description of this processor's family", silent{}},
		{"power8", "", "power8 does not describe a processor of x86_64", silent{}},
		{"", "", "it is gone", silent{err: errors.New("it is gone")}},
	} {
		require.Error(t, require.Err(newApp(&out, &out).family(x.host, x.base, x.compare)), x.want, "base %s", x.base)
	}
}

// silent is a host of which CPUID says nothing.
type silent struct {
	describing.Host
	err error
}

func (h silent) Values(p ...[]byte) ([]uint64, error) { return make([]uint64, len(p)), h.err }

// TestPrintOwn prints verdicts, or a table of all that agree, and fails where the kernel says otherwise.
func TestPrintOwn(t *testing.T) {
	verdicts := []explaining.Verdict{{Place: "a+0x0", Instruction: "ret", Rule: "odd", Errno: 22, Why: "it is odd"}, {Place: "b+0x0", Rule: "odd", Errno: 22, Why: "it is odd"}}
	for _, x := range []struct {
		all     bool
		answers []explaining.Answer
		want    string
		not     string
		fails   bool
	}{
		{false, nil, "a+0x0  ret\n", "places", false},
		{false, []explaining.Answer{{Errno: 22}, {Errno: 22}}, "2 places, the kernel agrees on 2\n", "otherwise", false},
		{true, []explaining.Answer{{Errno: 22}, {Errno: 1}}, "the kernel says otherwise: error 1\n", "ret\n    no probe", true},
		{false, []explaining.Answer{{Errno: 22}, {Errno: 1}}, "2 places, the kernel agrees on 1\n", "on 2", true},
		{true, nil, "odd", "  \n    no probe", false},
	} {
		var out bytes.Buffer
		err := newApp(&out, &out).printOwn(&explainOptions{all: x.all}, slices.Clone(verdicts), x.answers)
		require.That(t, strings.Contains(out.String(), x.want) && !strings.Contains(out.String(), x.not) && (err != nil) == x.fails, "all %t, %v: %v, want %q and not %q:\n%s", x.all, x.answers, err, x.want, x.not, out.String())
	}
}

// TestHostWorkers runs a point a core where nobody says how many.
func TestHostWorkers(t *testing.T) {
	for n, want := range map[int]int{0: runtime.GOMAXPROCS(0), 1: 1, 300: 300} {
		got := hostWorkers(n)
		require.That(t, got == want, "%d: %d workers, want %d", n, got, want)
	}
}

// TestLimits wants the option that bounds a guest at each command that runs one.
func TestLimits(t *testing.T) {
	for name, flag := range map[string]string{
		"boot": hostLimit, "explain": hostLimit, "measure": hostLimit, "module run": pointLimit, "check": pointLimit,
		"run": pointLimit, "calibrate": pointLimit, "sensitivity": pointLimit,
	} {
		c, _, err := newApp(io.Discard, io.Discard).root().Find(strings.Fields(name))
		require.That(t, err == nil && c.Flags().Lookup(flag) != nil, "%s has no --%s: %v", name, flag, err)
	}
}

// bare is a point of a sort, with CPUs, of which nothing else counts.
func bare(name, sort string, cpus int64) *schema.Point {
	p := &schema.Point{Name: name, Kind: sort, Machine: &machines.Machine{}, Image: &schema.Image{}, Target: &targets.Target{}}
	p.Kernel.CPUs = cpus
	return p
}

// TestRoundTime: an estimate has two digits or so.
func TestRoundTime(t *testing.T) {
	for d, want := range map[time.Duration]string{
		11*time.Minute + 40*time.Second: "12m0s", 83600 * time.Millisecond: "1m24s", 5430 * time.Millisecond: "5.4s",
		765432 * time.Microsecond: "770ms", 45678 * time.Microsecond: "46ms",
		99400 * time.Microsecond: "99ms", 105 * time.Millisecond: "110ms", 994 * time.Millisecond: "990ms", 1060 * time.Millisecond: "1.1s", 9940 * time.Millisecond: "9.9s",
		10600 * time.Millisecond: "11s", 9*time.Minute + 59*time.Second: "9m59s", 10*time.Minute + 31*time.Second: "11m0s", 600 * time.Microsecond: "1ms",
	} {
		require.Equal(t, roundTime(d).String(), want, "%s", d)
	}
}

// TestTimeLeft reckons by sorts and CPUs, by what is planned, and by points that take longer than was expected.
func TestTimeLeft(t *testing.T) {
	quick, slow := bare("quick", "x", 1), bare("slow", "y", 1)
	big, unlike := bare("big", "y", 4), bare("unlike", "z", 1)
	with := func(ahead ...*schema.Point) *forecast {
		plan := &schema.Plan{}
		for _, p := range append(ahead, quick, slow) {
			plan.Points = append(plan.Points, *p)
		}
		f := forecastOf(nil, plan)
		f.begin(quick)
		f.end(quick, time.Second)
		f.begin(slow)
		f.end(slow, 100*time.Second)
		return f
	}
	type running = map[*schema.Point]time.Duration
	for _, x := range []struct {
		name    string
		f       *forecast
		running running
		unknown int
		workers int
		want    time.Duration
	}{
		{"of each sort", with(bare("", "x", 1), bare("", "y", 1)), nil, 0, 1, 101 * time.Second},
		{"by CPUs", with(big), nil, 0, 1, 400 * time.Second},
		{"no sort is known", with(unlike), nil, 0, 1, 50500 * time.Millisecond},
		{"no more than their number is known", with(), nil, 4, 2, 101 * time.Second},
		{"two workers", with(bare("", "y", 1), bare("", "y", 1)), nil, 0, 2, 100 * time.Second},
		{"one of two workers has more", with(), running{big: 10 * time.Second, quick: 0}, 0, 2, 390 * time.Second},
		{"longer than expected", with(), running{quick: 10 * time.Minute}, 0, 1, 10 * time.Minute},
		{"known from before", forecastOf(with().costs), running{slow: 0}, 0, 1, 100 * time.Second},
		{"nothing is measured", forecastOf(nil), running{quick: time.Minute}, 3, 1, 0},
	} {
		got := x.f.left(x.running, x.unknown, x.workers)
		require.That(t, got.Round(time.Millisecond) == x.want, "%s: %s left, want %s", x.name, got, x.want)
	}
}

// TestPlanningTells says how far planning is when it takes longer than a second, and clears that on a terminal.
func TestPlanningTells(t *testing.T) {
	var said bytes.Buffer
	now := time.Unix(0, 0)
	tell := newPlanning(&locked{w: &said}, func() time.Time { return now })
	for _, step := range []time.Duration{0, 10 * time.Millisecond} {
		tell("quick", 0, 3)
		now = now.Add(step)
		tell("quick", 1, 3)
		tell("quick", 3, 3)
	}
	for i := range 40 {
		tell("slow", i, 40)
		now = now.Add(500 * time.Millisecond)
	}
	tell("slow", 40, 40)
	want := "slow: planning, 2 of 40 combinations of the sweep\nslow: planning, 32 of 40 combinations of the sweep\n"
	require.Equal(t, said.String(), want, "said\n")
}

// TestTerminal has each line of progress stand in the place of the one before it, and none at the end.
func TestTerminal(t *testing.T) {
	var said bytes.Buffer
	p := newProgress(&locked{w: &said}, "many")
	p.terminal = true
	p.start(2, 1)
	p.point(1, 2, outcome(&schema.Point{Name: "k"}))
	p.point(2, 2, &running.Outcome{Point: &schema.Point{Name: "b\x1b"}, Err: errors.New("no luck")})
	p.finish()
	const over = "\r\x1b[K"
	require.Equal(t, said.String(), over+"many: 1 of 2 points, last k ok"+over+"many: 2 of 2 points, last b\\x1b failed"+over, "said\n")
}

// stalled is a writer that waits.
type stalled chan struct{}

func (w stalled) Write(b []byte) (int, error) {
	<-w
	return len(b), nil
}

// TestNothingIsSaidBehindTheEnd ends progress while a sign of life is being written. The end waits for that.
func TestNothingIsSaidBehindTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, ended := make(stalled), false
		p := newProgress(&locked{w: w}, "many")
		p.running[&schema.Point{Name: "k"}] = p.now()
		p.start(2, 1)
		time.Sleep(2 * beatElsewhere)
		go func() {
			p.finish()
			ended = true
		}()
		synctest.Wait()
		require.That(t, !ended, "progress ended before it had written")
		close(w)
		synctest.Wait()
		require.That(t, ended, "progress does not end")
	})
}

// TestOptions holds all options: their types, defaults, letters, what one means that stands alone, and which exclude each other.
func TestOptions(t *testing.T) {
	var list strings.Builder
	var of func(c *cobra.Command)
	of = func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			fmt.Fprintf(&list, "%s --%s %s %q, letter %q, alone %q, hidden %v", c.CommandPath(), f.Name, f.Value.Type(), f.DefValue, f.Shorthand, f.NoOptDefVal, f.Hidden)
			if len(f.Annotations) > 0 {
				fmt.Fprintf(&list, ", %v", f.Annotations)
			}
			list.WriteString("\n")
		})
		for _, sub := range c.Commands() {
			of(sub)
		}
	}
	a := newApp(io.Discard, io.Discard)
	of(a.root())
	require.Golden(t, *update, "options.txt", []byte(list.String()))
}

// TestOrigins lists machines with shares of origins that are the whole together, but for rounding.
func TestOrigins(t *testing.T) {
	code, out, said := command(nil, "list", "machines", "--long")
	require.Need(t, code == exitOK, "exit code %d: %s", code, said)
	machines := 0
	for line := range strings.Lines(out) {
		title, shares, ok := strings.Cut(line, " numbers, ")
		if !ok {
			continue
		}
		n, sum := require.Must(strconv.Atoi(title[strings.LastIndex(title, " ")+1:]))(t), 0
		for _, m := range regexp.MustCompile(`(\d+) % \w`).FindAllStringSubmatch(shares, -1) {
			sum += require.Must(strconv.Atoi(m[1]))(t)
		}
		machines++
		require.That(t, n > 10 && sum >= 98 && sum <= 102, "%d %% of %d numbers: %s", sum, n, line)
	}
	require.That(t, machines > 5, "%d machines\n%s", machines, out)
}

// TestSizeOf sums up files that grow with points apart from the others, in folders below, too. What is not there has no size.
func TestSizeOf(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"results.csv", "results.json", "results.parquet", "sub/bench.txt", "manifest.json", "overhead.svg"} {
		require.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755), os.WriteFile(filepath.Join(dir, name), make([]byte, 1<<i), 0o644)))
	}
	for path, want := range map[string][2]float64{dir: {15, 48}, filepath.Join(dir, "none"): {}} {
		grows, same, err := sizeOf(path)
		require.That(t, err == nil && grows == want[0] && same == want[1], "%s: %g and %g bytes, %v", path, grows, same, err)
	}
}

// outcome is that of a point that ended well.
func outcome(p *schema.Point) *running.Outcome { return &running.Outcome{Point: p} }

// TestTerminals writes over the last line on a terminal that can do so, and not into a file or what is none.
func TestTerminals(t *testing.T) {
	f := require.Must(os.Create(filepath.Join(t.TempDir(), "file")))(t)
	defer f.Close()
	t.Setenv("TERM", "xterm")
	require.That(t, !isTerminal(f) && !isTerminal(&bytes.Buffer{}), "a file is a terminal")
	pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		hosttools.Unable(t, "output to a terminal", err.Error())
	}
	defer pty.Close()
	for term, want := range map[string]bool{"xterm": true, "dumb": false, "": false} {
		t.Setenv("TERM", term)
		require.Equal(t, isTerminal(pty), want, "TERM=%s", term)
		a := &app{out: &sticky{w: pty}}
		for columns, wide := range map[string]int{"": 80, "19": 80, "20": 20, "132": 132, "x": 80} {
			t.Setenv("COLUMNS", columns)
			require.Equal(t, a.columns() == wide, want, "TERM=%s COLUMNS=%s: %d columns", term, columns, a.columns())
			require.That(t, want || a.columns() == 0, "a table is cut where there is no terminal")
		}
	}
}
