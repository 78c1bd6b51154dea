package slurm

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// madeUp puts commands of Slurm in front of the others: each is a text of the shell.
func madeUp(t *testing.T, commands map[string]string) {
	t.Helper()
	hosttools.Need(t, "sh", "dash", "made-up commands of Slurm")
	dir := t.TempDir()
	for name, text := range commands {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	}
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

// TestScript runs tasks of a script: one with the program that was submitted, and one with another.
func TestScript(t *testing.T) {
	for _, tool := range []string{"sh", "sha256sum"} {
		hosttools.Need(t, tool, "coreutils", "scripts of tasks")
	}
	dir := filepath.Join(t.TempDir(), "it's a folder")
	program := filepath.Join(dir, "program")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\necho \"$@\"\nexit 7\n"), 0o755))
	sum, _, _ := strings.Cut(string(require.Must(exec.Command("sha256sum", program).Output())(t)), " ")
	a := Array{Name: "n", Dir: dir, Chdir: dir, Command: []string{program, "a b", "--shard=" + TaskVar + "/3"}, Sum: strings.TrimPrefix(sum, `\`), Options: []string{"--qos=low"}}
	run := func(task string) (string, int) {
		c := exec.Command("sh", "-c", string(a.Script()))
		c.Env = append(os.Environ(), "SLURM_ARRAY_TASK_ID="+task)
		out, _ := c.CombinedOutput() // its exit code is looked at
		return string(out), c.ProcessState.ExitCode()
	}
	if out, code := run("2"); code != 7 || out != "a b --shard=2/3\n" {
		t.Errorf("exit code %d, %q\n%s", code, out, a.Script())
	}
	a.Sum = "0"
	out, code := run("3")
	require.That(t, code == OtherProgram && strings.Contains(out, "is another program than the one that was submitted"), "exit code %d, %q", code, out)
	exits, err := a.Exits()
	require.That(t, err == nil && reflect.DeepEqual(exits, map[int]int{2: 7, 3: OtherProgram}), "%v, %v", exits, err)
	if !strings.Contains(string(a.Script()), "#SBATCH --qos=low\n") {
		t.Errorf("%s", a.Script())
	}
}

// TestCommands reads what made-up commands print, and tells what they refuse.
func TestCommands(t *testing.T) {
	a := Array{Name: "n", Dir: t.TempDir()}
	madeUp(t, map[string]string{
		"sbatch":   `echo "$2;cluster"`,
		"squeue":   "echo '3|RUNNING'; echo '12|PENDING'; echo 'N/A|COMPLETING'",
		"scontrol": "echo 'JobId=7 JobState=NODE_FAIL Reason=NodeDown x=None BatchHost=n2'",
		"scancel":  "echo no such cluster >&2; exit 1",
	})
	require.NoError(t, os.WriteFile(filepath.Join(a.Dir, "status-3"), []byte("1\n"), 0o600))
	require.Got(a.Submit([]int{1, 3, 4, 5, 9}))(t, "--array=1,3-5,9", "")
	exits, err := a.Exits()
	require.That(t, err == nil && len(exits) == 0, "an exit code of the try before: %v, %v", exits, err)
	if queue, err := a.Queue(); err != nil || !reflect.DeepEqual(queue, map[int]string{3: "running", 12: "pending"}) {
		t.Errorf("%v, %v", queue, err)
	}
	require.Equal(t, Why("7", 3), "NODE_FAIL, NodeDown, n2", "")
	require.Error(t, a.Cancel(), "scancel: exit status 1: no such cluster", "")
	t.Setenv("PATH", t.TempDir())
	require.Error(t, require.Err(a.Queue()), "there is no squeue here", "")
}
