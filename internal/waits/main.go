//go:build unix

// Command waits measures what users of the program wait for, with an old build of it beside a new one, and prints a table
// of wall time, CPU time and memory for docs/timing.md. Each round runs the old one and then the new one, because other
// work on the host slows both. The lowest of each figure counts.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// wait is something that users wait for: arguments of the program. OUT stands for a new folder, and KERNEL for a packaged
// kernel.
type wait struct {
	name string
	args []string
}

var waits = []wait{
	{"main experiment", strings.Fields("run overhead-xeon-e5410-x86_64 --fresh --out OUT")},
	{"boot of a packaged kernel, timed", strings.Fields("boot --kernel KERNEL --console OUT/console.txt")},
	{"boot of a packaged kernel, untimed", strings.Fields("boot --kernel KERNEL --console OUT/console.txt --untimed")},
	{"1.5 * 10^9 instructions, timed: that boot with tests of ciphers", append(strings.Fields("boot --kernel KERNEL --console OUT/console.txt --append"),
		"console=ttyS0 pci=off acpi=off nosmp noapic nolapic")},
	{"probes of a packaged kernel", strings.Fields("run linux-probes --set linux.kernel=KERNEL --fresh --out OUT")},
	{"1,000 schedules of five scenarios", strings.Fields("races races/scenarios/kretprobe.toml races/scenarios/optimize.toml " +
		"races/scenarios/nested.toml races/scenarios/rmmod.toml races/scenarios/user.toml --per-scenario --schedules 1000")},
	{"all baselines", []string{"check"}},
}

// cost has the figures of a run.
type cost struct {
	wall, cpu time.Duration
	memory    int64 // KiB at most
}

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "waits:", err)
		os.Exit(1)
	}
}

func run(args []string, out, log io.Writer) error {
	f := flag.NewFlagSet("waits", flag.ContinueOnError)
	before, after := f.String("old", "", "build of the program to compare with"), f.String("new", "", "build to measure")
	rounds := f.Int("rounds", 3, "how often each runs")
	only := f.String("only", "", "regular expression of the rows to measure")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *before == "" || *after == "" {
		return errors.New("name two builds of the program by -old and -new")
	}
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	kernel, err := newestKernel(os.Getenv("KPROBESIM_LINUX"))
	if err != nil {
		fmt.Fprintln(log, "without packaged kernels:", err)
	}
	fmt.Fprint(out, "| | wall, old | new | CPU seconds, old | new | ratio | MiB, old | new |\n|---|---|---|---|---|---|---|---|\n")
	for _, w := range waits {
		if !wanted.MatchString(w.name) || kernel == "" && strings.Contains(strings.Join(w.args, " "), "KERNEL") {
			continue
		}
		var least [2]cost
		for i := range 2 * *rounds {
			fmt.Fprintf(log, "%s, %d of %d\n", w.name, i+1, 2**rounds)
			c, err := w.measure([]string{*before, *after}[i%2], kernel)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			least[i%2] = least[i%2].least(c)
		}
		fmt.Fprint(out, row(w.name, least[0], least[1]))
	}
	return nil
}

// row is the row of a table.
func row(name string, a, b cost) string {
	return fmt.Sprintf("| %s | %.1f | %.1f | %.1f | %.1f | %.2f | %d | %d |\n", name, a.wall.Seconds(), b.wall.Seconds(),
		a.cpu.Seconds(), b.cpu.Seconds(), b.cpu.Seconds()/a.cpu.Seconds(), a.memory>>10, b.memory>>10)
}

// newestKernel returns the last packaged kernel of x86-64 in a folder.
func newestKernel(dir string) (string, error) {
	if dir == "" {
		return "", errors.New("KPROBESIM_LINUX names no folder")
	}
	all, err := filepath.Glob(filepath.Join(dir, "vmlinuz*amd64"))
	if err != nil || len(all) == 0 {
		return "", errors.Join(err, fmt.Errorf("%s has no vmlinuz*amd64", dir))
	}
	return all[len(all)-1], nil
}

// measure runs a build of the program.
func (w wait) measure(program, kernel string) (cost, error) {
	dir, err := os.MkdirTemp("", "waits")
	if err != nil {
		return cost{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // it lies among temporary files
	places, args := strings.NewReplacer("OUT", dir, "KERNEL", kernel), slices.Clone(w.args)
	for i := range args {
		args[i] = places.Replace(args[i])
	}
	c := exec.Command(program, args...)
	start := time.Now()
	if text, err := c.CombinedOutput(); err != nil {
		return cost{}, fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, text[max(0, len(text)-500):])
	}
	u, _ := c.ProcessState.SysUsage().(*syscall.Rusage)
	return cost{time.Since(start), c.ProcessState.UserTime() + c.ProcessState.SystemTime(), int64(u.Maxrss)}, nil
}

// least has the lower of each figure. Zero stands for none.
func (c cost) least(d cost) cost {
	if c == (cost{}) {
		return d
	}
	return cost{min(c.wall, d.wall), min(c.cpu, d.cpu), cmp.Or(min(c.memory, d.memory), d.memory)}
}
