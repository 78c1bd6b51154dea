package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/workloads"
)

// modes are the two modes of the E5410, each by the experiment with its figures.
func modes() []string { return []string{experiment, narrow} }

// e5410 is the clock of both modes, in cycles a microsecond.
const e5410 = 2333

// december are the figures of the E5410 in the letter with version 7 of the patches: M. Hiramatsu, "[PATCH -tip
// v7 00/11] kprobes: Kprobes jump optimization support", 18 December 2009 (gmane.linux.systemtap 14635), in
// microseconds. The letter calls the kernel one "without debugging options".
var december = map[string]map[string]float64{
	experiment: {"k": 0.91, "b": 0.40, "o": 0.06, "r": 1.21, "rb": 0.71, "ro": 0.35},
	narrow:     {"k": 0.68, "b": 0.27, "o": 0.06, "r": 0.95, "rb": 0.53, "ro": 0.30},
}

// february are the figures of the document, which the experiments carry.
func february(t *testing.T, mode string) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	for _, f := range figuresOf(t, mode) {
		out[f.probe] = f.us
	}
	return out
}

// delivered moves the deliveries of the exceptions to where figures in microseconds want them: 64-bit mode
// has one for b and one for k, 32-bit mode one that k contains twice. Exceptions wait for everything
// before them, so a delivery adds what it takes.
func delivered(mode string, cycles, us map[string]float64) map[string]float64 {
	once := us["b"]*e5410 - cycles["b"]
	stepped := 2 * once
	if mode == experiment {
		stepped = us["k"]*e5410 - cycles["k"]
	}
	out := map[string]float64{}
	for probe, c := range cycles {
		switch probe {
		case "b", "rb":
			c += once
		case "k", "r":
			c += stepped
		}
		out[probe] = c
	}
	return out
}

// predictionError is the mean error of the predictions of a mode against figures, deliveries fitted on them.
func predictionError(t *testing.T, mode string, cycles, us map[string]float64) float64 {
	t.Helper()
	fitted := delivered(mode, cycles, us)
	var errs []float64
	for _, f := range figuresOf(t, mode) {
		if !f.fitted {
			errs = append(errs, 100*(fitted[f.probe]/e5410/us[f.probe]-1))
		}
	}
	mean, _ := magnitude(errs)
	return mean
}

// TestDeliveriesAdd holds what delivered takes for granted against runs.
func TestDeliveriesAdd(t *testing.T) {
	t.Parallel()
	for _, mode := range modes() {
		base := cyclesOf(t, mode)
		us := map[string]float64{}
		for probe, c := range base {
			us[probe] = c / e5410
		}
		us["b"] += 60.0 / e5410
		us["k"] += 120.0 / e5410
		sets := []string{"machine.event.exception_breakpoint.cycles=506", "machine.event.exception_debug.cycles=617"}
		if mode == narrow {
			sets = []string{"machine.event.exception_breakpoint.cycles=370"}
		}
		want := delivered(mode, base, us)
		for probe, c := range cyclesOf(t, mode, sets...) {
			require.That(t, !(math.Abs(c-want[probe]) > 2), "%s of %s takes %.1f cycles with deliveries of 60 more, want %.1f", probe, mode, c, want[probe])
		}
	}
}

// candidate is something that may make a hit of the E5410 dearer.
type candidate struct {
	name   string
	sets   []string
	remark string
}

// bounds are changes of the machine by more than their mechanism can do.
func bounds() []candidate {
	return []candidate{
		{"a taken branch takes 2 cycles", []string{"event.taken_branch.cycles=2"}, "excluded: the upper end of what is known"},
		{"half of each fetched window is lost", []string{"front_end.fetch_bytes=8"}, "excluded: more than any alignment of code can lose"},
		{"two instructions a cycle", []string{"core.width=2"}, "excluded: more than decode groups and ports that read registers can lose"},
		{"a core of 32 instructions", []string{"core.window=32"}, "excluded: the scheduler's 32 places, which the model lacks, bound less"},
		{"no stack pointer tracker", []string{"front_end.stack_engine=false"}, "excluded"},
		{"every load 2 cycles longer", []string{"cache.l1d.latency=5", "event.load_use.cycles=5"}, "excluded: as if each missed the first level of the data TLB"},
		{"first-level caches of 4 KiB", []string{"cache.l1d.size=4 KiB", "cache.l1i.size=4 KiB"}, "excluded: as if others took seven eighths of them"},
		{"a misprediction takes 25 cycles", []string{"event.mispredict.cycles=25"}, "excluded: an optimized hit has none"},
		{"a load waits 8 cycles for a store", []string{"event.store_forward.cycles=8"}, "excluded by the loops of store forwarding"},
	}
}

// machineCandidates are other changes of the machine.
func machineCandidates() []candidate {
	return []candidate{
		{"`pushf` and `popf` serialize", []string{"cost.pushf.serialize=true", "cost.popf.serialize=true"}, "not supported by the loops of `pushf` and `popf`"},
		{"`popf` takes 47 cycles more", []string{"cost.popf.issue=61"}, "what both would need; excluded: with `pushf` it takes 24, with `pushf` and `cli` 39, both measured on this die"},
		{"a taken branch takes 6 cycles", []string{"event.taken_branch.cycles=6"}, "what both would need; excluded by the loops of branches and calls"},
		{"one instruction a cycle", []string{"core.width=1"}, "excluded by all loops"},
		{"nothing overlaps", []string{"core.window=1"}, "excluded by all loops"},
	}
}

// loopCandidates are other ways to measure.
func loopCandidates() []candidate {
	return []candidate{
		{"calls from user mode, by system calls", []string{"workload.loop=user_loop"}, "open: the author's benchmark of 2006 did so; behind a return probe the returns of the system call are mispredicted"},
	}
}

// row writes a candidate as differences from what is simulated without it, and the errors that are left.
func (c candidate) row(t *testing.T, base, with map[string]map[string]float64) string {
	t.Helper()
	out := "| " + c.name + " |"
	for _, q := range [][2]string{{"o", ""}, {"rb", "b"}} {
		for _, mode := range modes() {
			was, is := base[mode], with[mode]
			out += fmt.Sprintf(" %s |", percent(is[q[0]]-is[q[1]]-was[q[0]]+was[q[1]]))
		}
	}
	for _, mode := range modes() {
		out += fmt.Sprintf(" %.0f |", predictionError(t, mode, with[mode], february(t, mode)))
	}
	return out + " " + c.remark + " |\n"
}

// candidateHead heads tables of candidates.
const candidateHead = "| candidate | `o`, 64 bits | `o`, 32 bits | `rb - b`, 64 bits | `rb - b`, 32 bits | mean error %, 64 bits | 32 bits | verdict |\n|---|---|---|---|---|---|---|---|\n"

// bothModes are the cycles of all points in both modes.
func bothModes(t *testing.T, sets ...string) map[string]map[string]float64 {
	t.Helper()
	out := map[string]map[string]float64{}
	for _, mode := range modes() {
		out[mode] = cyclesOf(t, mode, sets...)
	}
	return out
}

// published are figures as cycles of points.
func published(us map[string]float64) map[string]float64 {
	out := map[string]float64{}
	for probe, v := range us {
		out[probe] = v * e5410
	}
	return out
}

// candidatesTable prices what may be missing in the rows of the E5410, one candidate a row.
func candidatesTable(t *testing.T) string {
	t.Helper()
	base := bothModes(t)
	then, later := map[string]map[string]float64{}, map[string]map[string]float64{}
	for _, mode := range modes() {
		then[mode], later[mode] = published(december[mode]), published(february(t, mode))
	}
	out := candidateHead
	out += candidate{name: "missing: the figures of February 2010", remark: "less what is simulated"}.row(t, base, later)
	out += candidate{name: "missing: those of December 2009", remark: "the same; errors against February"}.row(t, base, then)
	out += candidate{name: "nothing", remark: "the simulation as it is"}.row(t, base, base)
	out += changedMachines(t, base, machineCandidates())
	for _, c := range loopCandidates() {
		out += c.row(t, base, bothModes(t, c.sets...))
	}
	return out + candidate{name: "a clock of 2.0 GHz", remark: "open: the lowest clock of this processor, from memory; no document says at which it ran"}.row(t, base, slower(base))
}

// changedMachines prices changes of the machine, one a row.
func changedMachines(t *testing.T, base map[string]map[string]float64, changes []candidate) (rows string) {
	t.Helper()
	for _, c := range changes {
		var sets []string
		for _, s := range c.sets {
			sets = append(sets, "machine."+s)
		}
		rows += c.row(t, base, bothModes(t, sets...))
	}
	return rows
}

// boundsText is the file of the bounds, which docs/fidelity.md sums up.
func boundsText(t *testing.T) string {
	t.Helper()
	return "These changes of the machine exceed what their mechanism can add to hits of the E5410. docs/fidelity.md explains the columns.\n\n" + candidateHead + changedMachines(t, bothModes(t), bounds())
}

// slower are hits at six sevenths of the clock, counted in cycles of the full one.
func slower(base map[string]map[string]float64) map[string]map[string]float64 {
	out := map[string]map[string]float64{}
	for mode, cycles := range base {
		out[mode] = map[string]float64{}
		for probe, c := range cycles {
			out[mode][probe] = c * 7 / 6
		}
	}
	return out
}

// decemberTable has both measurements of the E5410 side by side, and the errors of the simulation with its
// deliveries fitted on each. A row has both modes.
func decemberTable(t *testing.T) string {
	t.Helper()
	var names []string
	cells := map[string]string{}
	for _, mode := range modes() {
		base, later := cyclesOf(t, mode), february(t, mode)
		onThen, onLater := delivered(mode, base, december[mode]), delivered(mode, base, later)
		add := func(name string, was, is, then, now float64, fitted bool) {
			form := " %.2f | %.2f | %s | %s | %s |"
			if fitted {
				form = " %.2f | %.2f | %s | (%s) | (%s) |"
			}
			if cells[name] == "" {
				names = append(names, name)
			}
			cells[name] += fmt.Sprintf(form, was, is, percent(100*(is/was-1)), percent(100*(then/e5410/was-1)), percent(100*(now/e5410/is-1)))
		}
		for _, f := range figuresOf(t, mode) {
			add(f.probe, december[mode][f.probe], f.us, onThen[f.probe], onLater[f.probe], f.fitted)
		}
		for _, q := range [][2]string{{"r", "k"}, {"rb", "b"}, {"ro", "o"}} {
			cycles := base[q[0]] - base[q[1]]
			add(q[0]+" - "+q[1], december[mode][q[0]]-december[mode][q[1]], later[q[0]]-later[q[1]], cycles, cycles, false)
		}
	}
	out := "| figure | 64 bits: December 2009, us | February 2010, us | change % | error %, December | error %, February | " +
		"32 bits: December 2009, us | February 2010, us | change % | error %, December | error %, February |\n|" + strings.Repeat("---|", 11) + "\n"
	for _, name := range names {
		out += "| " + name + " |" + cells[name] + "\n"
	}
	return out
}

// compiler stands in for gcc and adds options to what is compiled of C: those in the first place to files of
// the hit's path, those in the second to others. The measured functions stay as they are, and the function that
// an enabled tracer calls is one that returns.
const compiler = `#!/bin/sh
more=
for arg in "$@"; do
	case $arg in
	*work/bench.c) more= ;;
	*arch/x86/kprobes.c | *core/kprobes.c | *core/notifier.c | *arch/x86/traps.c | *jprobes.c) more='%[1]s' ;;
	*core/lock.c) more='%[2]s %[3]s' ;;
	*.c) more='%[2]s' ;;
	esac
done
exec gcc "$@" $more
`

// tracer defines the symbols that the linker wants of a kernel whose functions call a tracer.
const tracer = "asm(\".pushsection .text\\n.globl mcount\\n.type mcount, @function\\nmcount: ret\\n.size mcount, . - mcount\\n.popsection\");\n"

// kernelCandidates are kernels of 2010 with other options. The second has the calls that no build tool of the
// time found in the section of functions that must not be probed.
func kernelCandidates() []struct {
	candidate
	path, others string
} {
	type kernel = struct {
		candidate
		path, others string
	}
	return []kernel{
		{candidate{"no frame pointers", nil, "excluded: cheaper"}, "-fomit-frame-pointer", "-fomit-frame-pointer"},
		{candidate{"a frame in every function and room for a call of a tracer", nil, "open: compilers of the year; kernels with the function tracer"}, "-pg -mnop-mcount", "-pg -mnop-mcount"},
		{candidate{"the same, and the path of a hit calls the tracer, which returns", nil, "open: such kernels from 2.6.33 to 2.6.39"}, "-pg", "-pg -mnop-mcount"},
		{candidate{"the same, called by system calls", []string{"workload.loop=user_loop"}, "open"}, "-pg", "-pg -mnop-mcount"},
	}
}

// buildKernel builds the kernel of 2010 by a compiler that adds options, and returns the image's path.
func buildKernel(t *testing.T, isa, path, others string) string {
	t.Helper()
	dir := t.TempDir()
	header, cc, image := filepath.Join(dir, "tracer.h"), filepath.Join(dir, "cc"), filepath.Join(dir, isa+".elf")
	called := ""
	if path == "-pg" {
		called = "-include " + header
	}
	for file, text := range map[string]string{header: tracer, cc: fmt.Sprintf(compiler, path, others, called)} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o755))
	}
	build := exec.Command("sh", filepath.Join("..", "..", "workloads", "kernel", "build.sh"), image, "2010", isa)
	build.Env = append(os.Environ(), "CC="+cc)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build.sh: %v\n%s", err, out)
	}
	return image
}

// sameCompiler skips a test whose figures come from a compiler that is not here.
func sameCompiler(t *testing.T) {
	t.Helper()
	for _, tool := range []string{"gcc", "ld", "sh"} {
		hosttools.Need(t, tool, "gcc, binutils, dash", "building kernels with other options")
	}
	want := require.Must(workloads.Open("x86_64-2010"))(t)
	got := require.Must(os.ReadFile(buildKernel(t, "x86_64", "", "")))(t)
	if !bytes.Equal(got, want) {
		hosttools.Missing(t, "kernels with other options", "the compiler here does not give the bytes of the image x86_64-2010")
	}
}

// TestDocumentsOfKernels holds the table of kernels with other options. Their images are not part of the program.
func TestDocumentsOfKernels(t *testing.T) {
	if !*update {
		hosttools.Long(t, "the table of kernels with other options", "TestImageOfYourOwn builds a kernel")
	}
	sameCompiler(t)
	base, out := bothModes(t), candidateHead
	built := map[[3]string]string{} // images by instruction set and options
	for _, c := range kernelCandidates() {
		with := map[string]map[string]float64{}
		for mode, isa := range map[string]string{experiment: "x86_64", narrow: "i386"} {
			key := [3]string{isa, c.path, c.others}
			if built[key] == "" {
				built[key] = buildKernel(t, isa, c.path, c.others)
			}
			with[mode] = cyclesOf(t, mode, append([]string{"kernel.image=" + built[key]}, c.sets...)...)
		}
		out += c.row(t, base, with)
	}
	holdBlock(t, fidelity, "kernels", out)
}
