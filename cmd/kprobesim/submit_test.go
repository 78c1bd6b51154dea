package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"kprobesim/internal/require"
	"kprobesim/internal/slurm"
)

// dryRun returns what submit prints for a run that it does not submit, with the made-up measure of other tests.
func dryRun(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	a := newApp(&out, &errOut)
	a.measure = fake(1000)
	code = a.run(append([]string{"submit", "--dry-run", "--out", t.TempDir()}, args...))
	return code, out.String(), errOut.String()
}

// TestSubmitScript holds that each option comes to the script, and the command with its own options behind it.
func TestSubmitScript(t *testing.T) {
	code, script, stderr := dryRun(t, "--slurm", "--shards", "3", "--cpus", "2", "--partition", "long", "--account", "lab", "--time", "2:00", "--mem", "3G",
		"--sbatch=--qos=low", "--sbatch=--nice", "races", "jump-into", "--schedules", "60")
	require.Need(t, code == exitOK, "exit code %d: %s", code, stderr)
	options := strings.Join(regexp.MustCompile(`(?m)^#SBATCH --(?:cpus|part|acc|time|mem|qos|nice).*$`).FindAllString(script, -1), "\n")
	require.Equal(t, options, `#SBATCH --cpus-per-task=2
#SBATCH --partition=long
#SBATCH --account=lab
#SBATCH --time=2:00
#SBATCH --mem=3G
#SBATCH --qos=low
#SBATCH --nice`, "options")
	command := regexp.MustCompile(`(?m)^\t/\S+ races jump-into --schedules 60 --out=/\S+ --workers=2 --shard="\$\{SLURM_ARRAY_TASK_ID\}"/3$`)
	require.That(t, command.MatchString(script), "the script is\n%s", script)
}

// TestSubmitForecast has a run without --shards and --mem take them from its plan, and one with them keep them.
func TestSubmitForecast(t *testing.T) {
	number := func(pattern, text string) float64 {
		m := regexp.MustCompile(pattern).FindStringSubmatch(text)
		require.Need(t, m != nil, "there is no %s in\n%s", pattern, text)
		return require.Must(strconv.ParseFloat(m[1], 64))(t)
	}
	code, out, stderr := dryRun(t, "--slurm", experiment)
	require.Need(t, code == exitOK, "exit code %d: %s", code, stderr)
	require.Equal(t, number(`TASK_ID\}"/(\d+)`, out), number(`shards +(\d+)`, out), "shards")
	memory, asked := number(`memory +about (\d+) MiB`, out), number(`--mem=(\d+)M`, out)
	require.That(t, asked >= 1.5*(memory-1) && asked <= 1.5*(memory+1), "%.0f MiB are predicted, and %.0f asked for", memory, asked)
	code, out, stderr = dryRun(t, "--slurm", "--shards", "2", "--mem", "1G", "check", experiment)
	require.That(t, code == exitOK && strings.Contains(out, "#SBATCH --mem=1G\n") && strings.Contains(out, `TASK_ID}"/2`), "exit code %d: %s\n%s", code, stderr, out)
}

// TestSubmitRefuses says what is wrong with a command line.
func TestSubmitRefuses(t *testing.T) {
	for args, want := range map[string]string{
		experiment:                              "submit: give --slurm, and no negative numbers",
		"--slurm --shards -1 " + experiment:     "no negative numbers",
		"--slurm --cpus 0 " + experiment:        "no negative numbers",
		"--slurm --retries -1 " + experiment:    "no negative numbers",
		"--slurm races jump-into":               "--shards: say in how many parts races is to run",
		"--slurm run --workers 2 " + experiment: "--workers is for submit to choose: leave it out behind run",
		"--slurm --shards 2 races --out x":      "--out is for submit to choose: leave it out behind races",
		"--slurm nothing":                       "nothing",
		"--slurm run --set x " + experiment:     "x",
	} {
		code, _, stderr := dryRun(t, strings.Fields(args)...)
		require.That(t, code == exitUsage && strings.Contains(stderr, want), "%s: exit code %d, %q, want %q", args, code, stderr, want)
	}
}

// submitted4 is a submission of four shards that were all submitted once, as job 7.
func submitted4(said *bytes.Buffer, dir string) *submission {
	s := &submission{
		app: newApp(said, said), shards: 4, retries: 1, first: -1, array: slurm.Array{Dir: dir, Command: []string{"kprobesim"}}, begun: time.Now(), lost: map[int]bool{},
		state: submitted{map[int]string{}, map[int]int{}},
	}
	for n := 1; n <= 4; n++ {
		s.state.Jobs[n], s.state.Tries[n] = "7", 1
	}
	return s
}

// TestSubmitAgain holds which shards are submitted again, and what ends the submission.
func TestSubmitAgain(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // no command of Slurm
	for _, x := range []struct {
		name      string
		queue     map[int]string
		second    int // exit code of shard 2; -1 where it has not ended
		tries     int // of it
		asked     int // how often, one after another
		list      []int
		said, err string
	}{
		{"all run or are done", map[int]string{2: "pending"}, -1, 1, 1, nil, "", ""},
		{"one was never submitted", nil, -1, 0, 1, []int{2}, "", ""},
		{"one failed", nil, exitFailed, 1, 1, []int{2}, "shard 2 of 4 is submitted again: exit code 1\n", ""},
		{"one runs that failed before", map[int]string{2: "running"}, exitFailed, 2, 1, nil, "", ""},
		{"one is in no list, once", nil, -1, 1, 1, nil, "", ""},
		{"one is in no list, twice", nil, -1, 1, 2, []int{2}, "shard 2 of 4 is submitted again: Slurm does not know why\n", ""},
		{"a mistake of the user", nil, exitUsage, 1, 1, nil, "", "shard 2 ended with exit code 2: see DIR/log-2\n"},
		{"a mistake of the program", nil, exitInternal, 1, 1, nil, "", fmt.Sprintf("shard 2 ended with exit code %d: see DIR/log-2\n", exitInternal)},
		{"another program", nil, slurm.OtherProgram, 1, 1, nil, "", "shard 2 ended with exit code 125 (another program stands there): see DIR/log-2\n"},
		{"it failed too often", nil, exitFailed, 2, 1, nil, "", "shard 2 ended 2 times (exit code 1): see DIR/log-2\n"},
	} {
		var said bytes.Buffer
		s := submitted4(&said, "DIR")
		s.state.Tries[2] = x.tries
		exits := map[int]int{1: exitOK, 3: exitOK, 4: exitOK}
		if x.second >= 0 {
			exits[2] = x.second
		}
		var list []int
		var err error
		for range x.asked {
			list, err = s.undone(x.queue, exits)
		}
		require.That(t, slices.Equal(list, x.list) && said.String() == x.said, "%s: shards %v, want %v; %q", x.name, list, x.list, said.String())
		require.That(t, (err == nil) == (x.err == "") && (err == nil || strings.HasPrefix(err.Error(), x.err)), "%s: %v, want %s", x.name, err, x.err)
	}
}

// TestSubmitTells prints a line when states change, with the time to go, and counts the shards that are done.
func TestSubmitTells(t *testing.T) {
	var said bytes.Buffer
	s := submitted4(&said, t.TempDir())
	s.all = 40 * time.Minute
	exits := map[int]int{}
	for _, x := range []struct {
		queue  map[int]string
		done   []int
		passed time.Duration
		want   string
	}{
		{map[int]string{1: "running", 2: "running", 3: "pending", 4: "pending"}, nil, 0, "0 of 4 shards done, 2 pending, 2 running, about 20m0s left\n"},
		{map[int]string{1: "running", 2: "running", 3: "pending", 4: "pending"}, nil, 0, ""},
		{map[int]string{2: "running", 3: "running", 4: "pending"}, []int{1}, 2 * time.Minute, "1 of 4 shards done, 1 pending, 2 running, about 6m0s left\n"},
		{nil, []int{2, 3, 4}, 0, "4 of 4 shards done\n"},
	} {
		said.Reset()
		s.begun = time.Now().Add(-x.passed)
		for _, n := range x.done {
			exits[n] = exitOK
		}
		exits[9] = exitOK // of an earlier submission of more shards
		require.Equal(t, s.tell(x.queue, exits), len(exits)-1, "done are")
		require.Equal(t, said.String(), x.want, "said is")
	}
	s.first, s.begun = 1, time.Now().Add(-2*time.Minute)
	require.Equal(t, s.left(3, 1), ", about 1m0s left", "a submission that goes on with one shard done, and has done two: it is")
}

// TestSubmitGoesOn keeps jobs and tries in a file, by which another process goes on.
func TestSubmitGoesOn(t *testing.T) {
	var said bytes.Buffer
	s := submitted4(&said, filepath.Join(t.TempDir(), "submit"))
	require.NoError(t, s.write(false))
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sbatch"), []byte("#!/bin/sh\necho 8\n"), 0o755))
	t.Setenv("PATH", dir)
	require.NoError(t, s.again([]int{2, 4}))
	require.Equal(t, said.String(), "job 8 has 2 shards\n", "said is")
	other := submitted4(&said, s.array.Dir)
	require.NoError(t, other.write(false))
	require.Equal(t, fmt.Sprint(other.state), "{map[1:7 2:8 3:7 4:8] map[1:1 2:2 3:1 4:2]}", "kept is")
}

// TestSubmitRuns has shards run to their ends by scripts in the place of Slurm's commands: one fails the first time, and the queue gives
// no answer at first. A queue that never answers ends the submission.
func TestSubmitRuns(t *testing.T) {
	bin, dir := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"squeue": `[ -e asked ] || { : >asked; exit 1; }`,
		"sbatch": `case "$2" in
--array=1-4) for n in 1 3 4; do echo 0 >status-$n; done; echo 1 >status-2 ;;
--array=2) echo 0 >status-2 ;;
esac
echo 8`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\ncd "+dir+"\n"+text+"\n"), 0o755))
	}
	t.Setenv("PATH", bin)
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		s := submitted4(&said, dir)
		s.state = submitted{map[int]string{}, map[int]int{}}
		require.NoError(t, s.run())
		require.Equal(t, said.String(), `job 8 has 4 shards
0 of 4 shards done
shard 2 of 4 is submitted again: exit code 1
job 8 has 1 shard
3 of 4 shards done
4 of 4 shards done
`, "said is")
		require.That(t, time.Since(s.begun) == 3*time.Second, "it took %s", time.Since(s.begun))
	})
	t.Setenv("PATH", dir)
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		s := submitted4(&said, dir)
		require.Error(t, s.run(), "squeue", "a queue that never answers")
		require.That(t, time.Since(s.begun) == 30*time.Second, "it was asked for %s", time.Since(s.begun))
	})
}
