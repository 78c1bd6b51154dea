package costing_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kprobesim/boards/pc"
	"kprobesim/cpus/cpustest"
	"kprobesim/cpus/x86"
	"kprobesim/distro"
	"kprobesim/distro/costing"
	"kprobesim/distro/probing"
	"kprobesim/image/linux"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/kept"
	"kprobesim/internal/require"
)

// TestHits measures each mode on the kernels of a distribution. A hit takes the exceptions that the verdicts say, the
// parts by function are the whole, and fewer exceptions are quicker.
func TestHits(t *testing.T) {
	for _, file := range hosttools.Kernels(t, "vmlinuz*", "hits in the kernel of a distribution") {
		t.Run(filepath.Base(file), func(t *testing.T) { hits(t, file) })
	}
}

func hits(t *testing.T, file string) {
	b := require.Must(os.ReadFile(file))(t)
	k := require.Must(linux.Read(file, b, kept.Kernels()))(t)
	isa := x86.ISA64()
	if k.Image.Bits == 32 {
		isa = x86.ISA32()
	}
	rules, err := probing.Read(k, nil) // of the function of the system call, the text in the file says enough
	require.NoError(t, err)
	lab, err := costing.Boot(distro.Config{
		Kernel: k, CPU: cpustest.Config(isa), Board: pc.Legacy{Date: 1_700_000_000}, Command: distro.DefaultCommand,
	}, rules, nil)
	require.NoError(t, err)
	last := math.Inf(1)
	for _, x := range []struct {
		mode       string
		exceptions float64
	}{{"stepped", 2}, {"emulated", 1}, {"optimized", 0}, {"ftrace", 0}} {
		c, err := lab.Measure(x.mode)
		if err != nil || c == nil {
			t.Errorf("%s: %v, %v", x.mode, c, err)
			continue
		}
		t.Log(c)
		sum := 0.0
		for _, f := range c.Functions {
			sum += f.Cycles
		}
		steps, named := 0.0, map[string]bool{}
		for _, p := range c.Phases {
			steps += p.Cycles
			named[p.Name] = p.Cycles > 0.1
		}
		require.That(t, math.Round(c.Exceptions) == x.exceptions && !(math.Abs(sum-c.Cycles) > c.Cycles/100) && !(math.Abs(steps-c.Cycles) > c.Cycles/100), "%s: %v; the functions take %.1f cycles, the phases %.1f", x.mode, c, sum, steps)
		hz := float64(cpustest.Config(isa).Hz)
		require.That(t, !(c.Instructions < c.Cycles/30) && !(c.Instructions > 3*c.Cycles) && !(math.Abs(c.Micros*hz/1e6/c.Cycles-1) > 1e-9), "%s: %v: instructions or time do not fit the cycles at %g Hz", x.mode, c, hz)
		require.That(t, named["event"] && named["step"] == (x.mode == "stepped" || x.mode == "emulated") && named["detour"] == (x.mode == "optimized"), "%s: phases %v", x.mode, c.Phases)
		require.That(t, x.mode == "ftrace" || !(c.Cycles >= last), "%s: %v, more than with more exceptions (%.0f cycles)", x.mode, c, last)
		last = c.Cycles
	}
	for _, x := range []struct {
		mode       string
		exceptions float64
	}{{"ftrace", 0}, {"optimized", 0}, {"emulated", 1}, {"stepped", 2}} {
		c := require.Must(lab.Return(x.mode))(t)
		without := require.Must(lab.Measure(x.mode))(t)
		checkSums(t, c)
		require.That(t, math.Round(c.Exceptions) == x.exceptions && c.Cycles > without.Cycles && (c.Concluded == "") == (x.mode == "ftrace") && c.Mode == "return probe, entry "+x.mode, "%v, and without the return %v", c, without)
	}
	costs, lacks, err := lab.User()
	require.NoError(t, err)
	var modes []string
	for _, c := range costs {
		checkSums(t, c)
		modes = append(modes, c.Mode)
	}
	require.Equal(t, strings.Join(modes, "; ")+"; "+strings.Join(lacks, "; "),
		"uprobe, emulated; uprobe, stepped; uretprobe, emulated; no user probe is optimized: the kernel puts no call in place of a nop where a user probe stands, as kernels of x86-64 do from 6.18 on", "user probes")
}

// checkSums wants phases and functions to add up to the whole.
func checkSums(t *testing.T, c *costing.Cost) {
	t.Helper()
	for _, shares := range [][]costing.Share{c.Phases, c.Functions} {
		sum := 0.0
		for _, s := range shares {
			sum += s.Cycles
		}
		require.That(t, math.Abs(sum-c.Cycles) <= c.Cycles/100, "%v: the parts take %.1f cycles", c, sum)
	}
}
