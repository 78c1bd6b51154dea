// Package slurm runs the tasks of an array of jobs on a cluster by Slurm's own commands: sbatch, squeue, scontrol and scancel.
// It needs no accounting, because each task leaves its exit code in a file.
package slurm

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Array is work in tasks, counted from 1. The task N runs the command with its number in place of TaskVar.
type Array struct {
	Name    string   // of its jobs, by which they are found again
	Dir     string   // on a file system that all nodes share: script, logs, exit codes
	Chdir   string   // where the tasks run
	Command []string // the program by its path first
	Sum     string   // SHA-256 of the program in hex, which each task compares
	Options []string // of sbatch, as --partition=main
}

// TaskVar stands for the number of a task in a command.
const TaskVar = "${SLURM_ARRAY_TASK_ID}"

// OtherProgram is the exit code of a task whose node has another program at the path.
const OtherProgram = 125

// Script returns the text of the job.
func (a *Array) Script() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "#!/bin/sh\n#SBATCH --job-name=%s\n#SBATCH --no-requeue\n#SBATCH --open-mode=append\n#SBATCH --output=%s\n#SBATCH --chdir=%s\n",
		a.Name, a.file("log", "%a"), a.Chdir)
	for _, o := range a.Options {
		fmt.Fprintf(&b, "#SBATCH %s\n", o)
	}
	words := make([]string, len(a.Command))
	for i, w := range a.Command {
		before, after, found := strings.Cut(w, TaskVar)
		words[i] = quote(before)
		if found {
			words[i] += `"` + TaskVar + `"` + quote(after)
		}
	}
	status := quote(a.file("status", "")) + TaskVar
	fmt.Fprintf(&b, `if [ "$(sha256sum <%[1]s | cut -d' ' -f1)" = %[2]s ]; then
	%[3]s
	code=$?
else
	echo "on $(hostname) %[1]s is another program than the one that was submitted" >&2
	code=%[4]d
fi
echo $code >%[5]s.new && mv %[5]s.new %[5]s
exit $code
`, words[0], a.Sum, strings.Join(words, " "), OtherProgram, status)
	return b.Bytes()
}

// quote makes a word of the shell, "" for none.
func quote(s string) string {
	if s == "" || regexp.MustCompile(`^[A-Za-z0-9_./=:,+-]+$`).MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func (a *Array) file(what, task string) string { return filepath.Join(a.Dir, what+"-"+task) }

// Log is the file with what a task has printed.
func (a *Array) Log(task int) string { return a.file("log", strconv.Itoa(task)) }

// Submit submits tasks, and returns the number of their job.
func (a *Array) Submit(tasks []int) (string, error) {
	list := make([]string, len(tasks))
	for i, t := range tasks {
		list[i] = strconv.Itoa(t)
		if err := os.Remove(a.file("status", list[i])); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
	}
	out, err := command("sbatch", "--parsable", "--array="+ranges(tasks), filepath.Join(a.Dir, "job.sh"))
	id, _, _ := strings.Cut(strings.TrimSpace(out), ";") // the name of the cluster may follow
	return id, err
}

// ranges writes ascending numbers as 1-3,7.
func ranges(n []int) string {
	var parts []string
	for i := 0; i < len(n); {
		last := i
		for last+1 < len(n) && n[last+1] == n[last]+1 {
			last++
		}
		text := strconv.Itoa(n[i])
		if last > i {
			text += "-" + strconv.Itoa(n[last])
		}
		parts, i = append(parts, text), last+1
	}
	return strings.Join(parts, ",")
}

// Queue returns the states of the tasks that Slurm still has, by their numbers.
func (a *Array) Queue() (map[int]string, error) {
	out, err := command("squeue", "--noheader", "--array", "--name="+a.Name, "--format=%K|%T")
	states := map[int]string{}
	for line := range strings.Lines(out) {
		number, state, _ := strings.Cut(strings.TrimSpace(line), "|")
		if n, err := strconv.Atoi(number); err == nil {
			states[n] = strings.ToLower(state)
		}
	}
	return states, err
}

// Exits returns the exit codes of the tasks that came to their end.
func (a *Array) Exits() (map[int]int, error) {
	files, err := filepath.Glob(a.file("status", "*[0-9]"))
	codes := map[int]int{}
	for _, file := range files {
		b, readErr := os.ReadFile(file)
		task, taskErr := strconv.Atoi(file[strings.LastIndexByte(file, '-')+1:])
		code, codeErr := strconv.Atoi(strings.TrimSpace(string(b)))
		if readErr == nil && taskErr == nil && codeErr == nil {
			codes[task] = code
		}
	}
	return codes, err
}

// Why says how Slurm ended a task of a job, as far as it knows.
func Why(job string, task int) string {
	out, err := command("scontrol", "--oneliner", "show", "job", fmt.Sprintf("%s_%d", job, task))
	var said []string
	for _, m := range regexp.MustCompile(`\b(JobState|Reason|BatchHost)=(\S+)`).FindAllStringSubmatch(out, -1) {
		if m[2] != "None" {
			said = append(said, m[2])
		}
	}
	if err != nil || len(said) == 0 {
		return "Slurm does not know why"
	}
	return strings.Join(slices.Compact(said), ", ")
}

// Cancel ends all tasks.
func (a *Array) Cancel() error {
	_, err := command("scancel", "--name="+a.Name)
	return err
}

// command runs a command of Slurm. Its error has what that said.
func command(name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("there is no %s here: run this where Slurm takes jobs", name)
	case err != nil:
		return "", fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(said.String()))
	}
	return string(out), nil
}
