package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"kprobesim/experiments/keeping"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/results/outdir"
)

// childArgs is the variable that makes the test binary a run of the command with these arguments, for tests that kill
// it.
const childArgs = "KPROBESIM_TEST_ARGS"

// realArgs makes it the command as it is, with these arguments.
const realArgs = "KPROBESIM_TEST_REAL_ARGS"

func TestMain(m *testing.M) {
	if args, ok := os.LookupEnv(childArgs); ok {
		os.Exit(keeper(slow(fake(1000)), os.Stdout, os.Stderr).run(strings.Split(args, "\n")))
	}
	if args, ok := os.LookupEnv(realArgs); ok {
		os.Args = append([]string{"kprobesim"}, strings.Split(args, "\n")...)
		main()
	}
	os.Exit(m.Run())
}

// keeper is the command with a measure that is made up, and that keeps its measurements under a program named "test".
func keeper(m running.Measure, stdout, stderr interface{ Write([]byte) (int, error) }) *app {
	a := newApp(stdout, stderr)
	a.measure, a.program = m, func() (string, error) { return "test", nil }
	return a
}

// slow takes as long for each point as a run takes to begin, so that a signal can come meanwhile.
func slow(m running.Measure) running.Measure {
	return func(p *schema.Point) (*kinds.Measurement, error) {
		time.Sleep(40 * time.Millisecond)
		return m(p)
	}
}

// keptRun runs the command in this process, and returns how many points it measured.
func keptRun(t *testing.T, m running.Measure, args ...string) (code, measured int, said string) {
	t.Helper()
	var out, errOut bytes.Buffer
	var n atomic.Int64
	code = keeper(func(p *schema.Point) (*kinds.Measurement, error) {
		n.Add(1)
		return m(p)
	}, &out, &errOut).run(args)
	return code, int(n.Load()), errOut.String()
}

// TestLoopingPoint ends a point by the limit, and one by an interrupt: neither is kept, and what was measured is.
func TestLoopingPoint(t *testing.T) {
	out := t.TempDir()
	loops := func(p *schema.Point) (*kinds.Measurement, error) {
		for p.Probe.Name == "b" {
			if err := p.Halt(); err != nil {
				return nil, fmt.Errorf("%w: cpu 0: runs", err)
			}
			time.Sleep(time.Millisecond)
		}
		return fake(1000)(p)
	}
	args := []string{"run", experiment, "--out", out}
	code, _, said := keptRun(t, loops, append(args, "--point-limit", "30ms")...)
	require.That(t, code == exitFailed && strings.Contains(said, "point b: 30ms of host time is used up, the guest may loop for ever (raise --point-limit if it needs more): cpu 0: runs"), "exit code %d\n%s", code, said)
	if runtime.GOOS != "windows" {
		begun := time.Now()
		once := sync.Once{}
		code, _, said = keptRun(t, func(p *schema.Point) (*kinds.Measurement, error) {
			once.Do(func() {
				self, err := os.FindProcess(os.Getpid())
				if err = errors.Join(err, self.Signal(syscall.SIGTERM)); err != nil {
					t.Error(err)
				}
			})
			return loops(p)
		}, args...)
		if code != exitFailed || !strings.Contains(said, "point b: not measured: the run was interrupted: cpu 0: runs") || time.Since(begun) > time.Minute {
			t.Errorf("exit code %d behind %s\n%s", code, time.Since(begun), said)
		}
	}
	if code, n, said := keptRun(t, fake(1000), args...); code != exitOK || n != 1 {
		t.Errorf("afterwards: exit code %d, %d points measured\n%s", code, n, said)
	}
}

// TestRunDir names directories by settings, whatever is in them.
func TestRunDir(t *testing.T) {
	seen := map[string]bool{}
	for _, sets := range [][]string{
		nil,
		{"workload.hits=5"},
		{"workload.hits=5", "kernel.hz=100"},
		{`workload.args=["a/../../b", 1]`},
		{`workload.args=["a/../../b"; 1]`},
		{"title=" + strings.Repeat("x", 300)},
		{"title=" + strings.Repeat("x", 301)},
	} {
		dir := runDir("out", &schema.Plan{Name: "name", Overrides: sets})
		base, ok := strings.CutPrefix(dir, "out"+string(filepath.Separator))
		require.That(t, ok && !strings.ContainsAny(base, `/\ "`) && len(base) <= 120 && !seen[dir], "%q: directory %q", sets, dir)
		seen[dir] = true
	}
}

// trials is how many runs are killed: some of them, or with KPROBESIM_FAULTS=N so many (see make faults).
func trials(t *testing.T) int {
	if n, err := strconv.Atoi(os.Getenv("KPROBESIM_FAULTS")); err == nil {
		return n
	}
	if testing.Short() {
		return 4
	}
	return hosttools.Part(t, "runs that are killed", 24, 10)
}

// TestKilledRunsLoseNothing kills runs, or asks them to end, at chance moments, some of them two at a time in one
// directory. Every point that a run said to be done is kept, what somebody put there stays, and the same command
// then ends with the results of a run that nobody killed.
func TestKilledRunsLoseNothing(t *testing.T) {
	if runtime.GOOS == "windows" {
		hosttools.Unable(t, "killing runs", "no signals can be sent on Windows")
	}
	args := []string{"run", experiment, "--set", "figures=[]", "--workers", "2", "--out"}
	want := t.TempDir()
	start := time.Now()
	finished(t, child(t, append(args, want)))
	takes := time.Since(start)
	dir := experiment + "+figures=_-4f53cda1"
	if dirs, err := filepath.Glob(filepath.Join(want, experiment+"+*")); err != nil || len(dirs) != 1 {
		t.Fatalf("directories %q, %v", dirs, err)
	} else {
		dir = filepath.Base(dirs[0])
	}
	complete := readAll(t, filepath.Join(want, dir))
	chance := rand.New(rand.NewPCG(1, 2))
	ended := map[string]int{}
	for i := range trials(t) {
		out := filepath.Join(t.TempDir(), strconv.Itoa(i))
		if i%2 == 1 { // the second run of a directory
			finished(t, child(t, append(args, out)))
		}
		run := append(args, out)
		if chance.IntN(2) == 0 {
			run = append(run, "--fresh")
		}
		runs := []*exec.Cmd{child(t, run)}
		if i%3 == 0 {
			runs = append(runs, child(t, run))
		}
		signal := []os.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT}[chance.IntN(3)]
		time.Sleep(time.Duration(chance.Int64N(int64(takes))))
		var done []string
		for _, c := range runs {
			_ = c.Process.Signal(signal) // a run may have ended by then
			done = append(done, finished(t, c)...)
			ended[howEnded(c)]++
		}
		wantKept(t, out, run, done)
		if i%2 == 1 {
			if err := os.WriteFile(filepath.Join(out, dir, "notes.txt"), []byte("mine"), 0o644); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		}
		_, noted := os.Stat(filepath.Join(out, dir, "notes.txt"))
		code, measured, said := keptRun(t, fake(1000), append(args, out)...)
		require.Need(t, code == exitOK && measured <= 6-len(unique(done)), "trial %d: exit code %d, %d points measured behind %q\n%s", i, code, measured, done, said)
		got := readAll(t, filepath.Join(out, dir))
		require.Need(t, noted != nil || got["notes.txt"] == "mine", "trial %d: the notes are gone", i)
		delete(got, "notes.txt")
		sameFiles(t, complete, got)
		require.Need(t, !t.Failed(), "trial %d, %v", i, signal)
	}
	t.Logf("runs ended so: %v", ended)
	require.That(t, ended[killed] != 0, "runs ended so: %v; want some killed", ended)
}

// How a run that was sent a signal may end.
const killed, interrupted, whole = "killed", "interrupted", "whole"

// howEnded says how a run ended: by SIGKILL, by a signal that it heeded, or whole, before it came.
func howEnded(c *exec.Cmd) string {
	switch {
	case c.ProcessState.ExitCode() < 0:
		return killed
	case c.ProcessState.Success():
		return whole
	}
	return interrupted
}

// child starts a run of its own process.
func child(t *testing.T, args []string) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), childArgs+"="+strings.Join(args, "\n"))
	c.Stderr = &bytes.Buffer{}
	require.NoError(t, c.Start())
	return c
}

// finished waits for a run and returns the points that it said to be done.
func finished(t *testing.T, c *exec.Cmd) (points []string) {
	t.Helper()
	var exit *exec.ExitError
	if err := c.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	text := c.Stderr.(*bytes.Buffer).String()
	require.Need(t, !strings.Contains(text, "internal error") && !strings.Contains(text, "were not written"), "a run ended badly:\n%s", text)
	said := regexp.MustCompile(`: \d+ of \d+: (\S+) ok$`)
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		if m := said.FindStringSubmatch(lines.Text()); m != nil {
			points = append(points, m[1])
		}
	}
	return points
}

func unique(all []string) map[string]bool {
	set := map[string]bool{}
	for _, s := range all {
		set[s] = true
	}
	return set
}

// wantKept asserts that points are in the store.
func wantKept(t *testing.T, out string, args, points []string) {
	t.Helper()
	p := require.Must(newApp(&bytes.Buffer{}, &bytes.Buffer{}).loader.Plan(experiment, []string{args[3]}))(t)
	s := require.Must(keeping.New(out, "test", false))(t)
	for name := range unique(points) {
		pt := require.Must(p.Point(name))(t)
		_, err := s.Measure(func(*schema.Point) (*kinds.Measurement, error) { return nil, errors.New("lost") })(pt)
		require.Need(t, err == nil, "point %s was done: %v", name, err)
	}
	if n, _ := s.Reused(); n != len(unique(points)) {
		t.Fatalf("%d of the points %v are kept", n, points)
	}
}

// TestNoRoomForResults wants a directory that cannot be written in the end to be a failure that keeps the points.
func TestNoRoomForResults(t *testing.T) {
	out := t.TempDir()
	args := []string{"run", experiment, "--out", out, "--workers", "1"}
	code, _, said := keptRun(t, func(p *schema.Point) (*kinds.Measurement, error) {
		if p.Label == "ro" { // a file gets in the way behind the check
			if err := os.WriteFile(filepath.Join(out, experiment), nil, 0o644); err != nil {
				return nil, err
			}
		}
		return fake(1000)(p)
	}, args...)
	require.That(t, code == exitFailed && strings.Contains(said, fmt.Sprintf("results of %s were not written", experiment)), "exit code %d\n%s", code, said)
	require.NoError(t, os.Remove(filepath.Join(out, experiment)))
	if code, n, said := keptRun(t, fake(1000), args...); code != exitOK || n != 0 {
		t.Errorf("exit code %d, %d points measured\n%s", code, n, said)
	}
	if _, listed, err := outdir.Written(filepath.Join(out, experiment)); err != nil || !listed {
		t.Errorf("no list of what was written: %v", err)
	}
}
