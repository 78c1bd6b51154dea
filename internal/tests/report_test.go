package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// events are those that `go test -json` writes for three packages: one that passes, one that fails in a test and hangs
// in another, and one that is not compiled.
func events(t *testing.T) *bufio.Reader {
	t.Helper()
	var b bytes.Buffer
	for _, e := range []event{
		{"start", "a", "", "", 0},
		{"output", "a", "TestQemu", "=== RUN   TestQemu\n", 0},
		{"output", "a", "TestQemu", "    q_test.go:7: left out: comparing; qemu is not installed\n", 0},
		{"output", "a", "TestQemu", "--- SKIP: TestQemu (0.00s)\n", 0},
		{"skip", "a", "TestQemu", "", 0},
		{"output", "a", "TestTwo", "    q_test.go:9: left out: comparing; qemu is not installed\n", 0},
		{"output", "a", "TestTwo", "        of_test.go:9: not possible: debug registers; no ptrace\n", 0},
		{"output", "a", "TestTwo", "    of_test.go:8: long: all kernels; one of them\n", 0},
		{"output", "a", "TestTwo", "    of_test.go:7: at night: all images; each year\n", 0},
		{"output", "a", "TestTwo", "prints left out: this, which is no log\n", 0},
		{"pass", "a", "TestTwo/long", "", 60},
		{"pass", "a", "TestTwo", "", 61.4},
		{"output", "a", "", "testing: warning: no tests to run\n", 0},
		{"output", "a", "", "PASS\n", 0},
		{"output", "a", "", "ok  \ta\t0.1s\n", 0},
		{"pass", "a", "", "", 62},
		{"output", "b", "TestBad", "=== RUN   TestBad\n", 0},
		{"output", "b", "TestBad", "    b_test.go:3: got 1, want 2\n", 0},
		{"output", "b", "TestBad", "--- FAIL: TestBad (0.00s)\n", 0},
		{"fail", "b", "TestBad", "", 100},
		{"pass", "b", "TestQuick", "", 9.9},
		{"output", "b", "TestGood", "    b_test.go:9: nothing of interest\n", 0},
		{"pass", "b", "TestGood", "", 0},
		{"output", "b", "TestHangs", "panic: test timed out\n", 0},
		{"output", "b", "", "FAIL\tb\t0.1s\n", 0},
		{"fail", "b", "", "", 0},
		{"build-output", "", "", "c/c.go:1: syntax error\n", 0},
		{"output", "d", "", "?   \td\t[no test files]\n", 0},
		{"skip", "d", "", "", 0},
		{"output", "c", "", "FAIL\tc [build failed]\n", 0},
		{"fail", "c", "", "", 0},
	} {
		require.NoError(t, json.NewEncoder(&b).Encode(e))
	}
	b.WriteString("no event at all")
	return bufio.NewReader(&b)
}

// A report prints what go test prints without -v, and then what was left out, each once.
func TestReport(t *testing.T) {
	var out bytes.Buffer
	r := newReport(&out)
	require.NoError(t, r.read(events(t)))
	r.summary()
	const want = `ok  	a	0.1s
    b_test.go:3: got 1, want 2
--- FAIL: TestBad (0.00s)
panic: test timed out
FAIL	b	0.1s
c/c.go:1: syntax error
?   	d	[no test files]
FAIL	c [build failed]
no event at allthe longest tests, in seconds:
   100 TestBad of b
    61 TestTwo of a
left out, because something is not installed:
  comparing; qemu is not installed (2 times)
left out, because this host cannot do it:
  debug registers; no ptrace
left out, because it takes long; KPROBESIM_LONG=1 runs it:
  all kernels; one of them
left to the night; KPROBESIM_LONG=2 runs it:
  all images; each year
`
	require.That(t, out.String() == want, "it prints\n%s\nwant\n%s", out.String(), want)
}

func TestReportOfNothing(t *testing.T) {
	var out bytes.Buffer
	newReport(&out).summary()
	require.Equal(t, out.String(), "nothing was left out\n", "")
}

// A tool that is installed between two runs makes go test run again what it had kept, and the report names what was left
// out in the meantime also when the result was kept. The tests of the package of tools are those that are run.
func TestKeptResults(t *testing.T) {
	goTool, dir := hosttools.Need(t, "go", "golang", "keeping results"), t.TempDir()
	t.Setenv("PATH", filepath.Dir(goTool)+string(os.PathListSeparator)+dir)
	t.Setenv("KPROBESIM_TEST_TOOL", "kprobesim-no-such-tool")
	t.Setenv(hosttools.All, "")
	tool := func() (string, int) {
		var out bytes.Buffer
		code := run([]string{"-run", "^TestNeed$", "kprobesim/internal/hosttools"}, &out)
		return out.String(), code
	}
	const missing = "a test of ours; kprobesim-no-such-tool is not installed"
	for range 2 {
		out, code := tool()
		require.Need(t, code == 0 && strings.Contains(out, missing), "without the tool: exit code %d\n%s", code, out)
	}
	out, _ := tool()
	require.Need(t, strings.Contains(out, "(cached)"), "nothing was kept:\n%s", out)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kprobesim-no-such-tool"), []byte("#!/bin/sh\n"), 0o755))
	if out, code := tool(); code != 0 || strings.Contains(out, missing) || strings.Contains(out, "(cached)") {
		t.Errorf("with the tool: exit code %d\n%s", code, out)
	}
	require.NoError(t, os.Remove(filepath.Join(dir, "kprobesim-no-such-tool")))
	t.Setenv(hosttools.All, "1")
	if out, code := tool(); code != 1 || !strings.Contains(out, missing) {
		t.Errorf("all is wanted: exit code %d\n%s", code, out)
	}
}

// What go test cannot begin is its exit code, too.
func TestRunFails(t *testing.T) {
	hosttools.Need(t, "go", "golang", "running go test")
	var out bytes.Buffer
	code := run([]string{"./none"}, &out)
	require.That(t, code == 1, "exit code %d\n%s", code, out.String())
	t.Setenv("PATH", t.TempDir())
	require.Need(t, require.Err(exec.LookPath("go")) != nil, "there is a go")
	require.Equal(t, run(nil, &out), 1, "exit code")
}

// Garbage may grow, but as far as the user says where he says it.
func TestEnvironment(t *testing.T) {
	for user, want := range map[string]string{"": "400", "GOGC=50": "50"} {
		c := exec.Command("x")
		c.Env = environment([]string{user})
		require.That(t, slices.Contains(c.Environ(), "GOGC="+want), "%q: %q", user, c.Environ())
	}
}

// Flags alone are about all packages; a package or more are tested alone.
func TestArguments(t *testing.T) {
	t.Setenv(hosttools.LongRuns, "1")
	all := fmt.Sprintf("-timeout 40m -p %d ", runtime.GOMAXPROCS(0)+1) + strings.Join(longest, " ") + " ./..."
	for args, want := range map[string]string{
		"": all, "-count=1": all + " -count=1", "-count 1 -v": all + " -count 1 -v", "-run TestX": all + " -run TestX",
		"./sim": "./sim", "-run TestX ./sim": "-run TestX ./sim", "-short ./sim": "-short ./sim", "-count=1 ./sim": "-count=1 ./sim",
		"./sim -v -args x": "./sim -v -args x", "-v -args x": all + " -v -args x",
	} {
		require.Equal(t, strings.Join(require.Must(newReport(nil).arguments(strings.Fields(args)))(t), " "), "-vet=off -ldflags=-w "+want, "%q", args)
	}
}

// TestPackages leaves packages of the source text out where long tests are not asked for, and has the run say so.
func TestPackages(t *testing.T) {
	hosttools.Need(t, "go", "golang", "listing packages")
	t.Chdir(filepath.Join("..", ".."))
	t.Setenv(hosttools.LongRuns, "")
	r := newReport(nil)
	all := require.Must(r.packages())(t)
	require.That(t, slices.Contains(all, "kprobesim/mmu") && len(r.left[hosttools.IsLong]) == 1, "%q; left out %v", all, r.left)
	require.That(t, !slices.ContainsFunc(all, func(p string) bool { return slices.Contains(ofTheText, p) }), "%q", all)
}
