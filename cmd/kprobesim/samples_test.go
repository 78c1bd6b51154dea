package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/workloads"
)

// samples is where the kernel's own samples of probes lie below the folder of packaged kernels (samples/kprobes in
// Debian's package linux-source-6.1). The project has none of them.
const samples = "samples/kprobes"

// eachCompiler runs a test for every kernel that a compiler is there for, and leaves it out where there is none. Where
// long tests are not asked for it takes one of each instruction set and year, and with -short one of a year.
func eachCompiler(t *testing.T, test func(t *testing.T, im workloads.Image)) {
	t.Helper()
	years, lacking := map[string]bool{}, map[string]bool{}
	whole := hosttools.Whole(t, "modules on every kernel", "one of each instruction set and year")
	for _, im := range workloads.List() {
		if testing.Short() && years[im.Era] || !whole && years[im.ISA+im.Era] {
			continue
		}
		b := require.Must(workloads.Open(im.Name))(t)
		f := require.Must(workloads.ReadModuleFlags(b))(t)
		if hosttools.Look(f.Cross+"gcc") == "" {
			lacking[im.ISA] = true
			continue
		}
		years[im.Era], years[im.ISA+im.Era] = true, true
		t.Run(im.Name, func(t *testing.T) { test(t, im) })
	}
	for isa := range lacking {
		hosttools.Without(t, "modules for "+isa, "there is no compiler for it")
	}
	if len(years) == 0 {
		t.SkipNow()
	}
}

// runModule runs a module on a kernel and returns what it printed.
func runModule(t *testing.T, file, image string, args ...string) string {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	code, stdout, stderr := command(nil, append([]string{"module", "run", file, "--image", image, "--hits", "5", "--console", log}, args...)...)
	require.That(t, code == exitOK, "%s on %s: exit code %d\n%s%s", file, image, code, stdout, stderr)
	said, _ := os.ReadFile(log)
	return string(said)
}

// wantLines wants lines of the console that begin so.
func wantLines(t *testing.T, said string, want ...string) {
	t.Helper()
	for _, w := range want {
		require.That(t, strings.Contains("\n"+said, "\n"+w), "no line %q:\n%s", w, said)
	}
}

// TestInterfaceOfDocuments compiles a module that declares everything as the documents print it, on every kernel. It calls
// each function once, and the kernel answers what the documents say: what came later is -ENOSYS.
func TestInterfaceOfDocuments(t *testing.T) {
	eachCompiler(t, func(t *testing.T, im workloads.Image) {
		said := runModule(t, "../../workloads/modules/interface.c", im.Name)
		early, late := im.Era < "2010", im.Era >= "2020"
		probes := []string{
			"interface: 0 0; 1 pre, 1 post, 1 returns", "interface: disabled 0 0; 1 pre, 1 returns",
			"interface: enabled 0 0; 2 pre, 2 returns", "interface: arrays 0 0; 3 pre, 3 returns",
		}
		jprobes := "interface: jprobes 0 0; argument 41"
		switch {
		case strings.Contains(im.Options, "-nokprobes"):
			probes = []string{"interface: -38 -38; 0 pre, 0 post, 0 returns", "interface: arrays -38 -38; 0 pre, 0 returns"}
			jprobes = "interface: jprobes -38 -38; argument 0"
		case early:
			probes = []string{
				"interface: 0 0; 1 pre, 1 post, 1 returns", "interface: disabled -38 -38; 2 pre, 2 returns",
				"interface: enabled -38 -38; 3 pre, 3 returns", "interface: arrays -38 -38; 3 pre, 3 returns",
			}
			jprobes = "interface: jprobes 0 -38; argument 41"
		case late:
			jprobes = "interface: jprobes are gone"
		}
		user := "interface: user probe -38"
		if strings.Contains(im.Options, "-userprobes") {
			user = "interface: user probe 0, a second one -17, removed without being registered -61"
		}
		wantLines(t, said, append(probes, jprobes, "interface: watchpoint set, 1 writes", user)...)
	})
}

// TestSamplesOfTheKernel compiles the kernel's own samples, unchanged, for every kernel, and runs them.
func TestSamplesOfTheKernel(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short: the kernel's samples of probes")
	}
	dir, ok := hosttools.Packaged(samples)
	if !ok {
		hosttools.Missing(t, "the kernel's samples of probes", hosttools.Linux+" names no folder with "+samples)
	}
	eachCompiler(t, func(t *testing.T, im workloads.Image) {
		if strings.Contains(im.Options, "-nokprobes") {
			t.Skip("does not apply: samples on a kernel without Kprobes")
		}
		said := runModule(t, filepath.Join(dir, "kprobe_example.c"), im.Name)
		wantLines(t, said, "kprobe_init: Planted kprobe at ", "handler_pre: <kernel_clone> p->addr = ", "handler_post: <kernel_clone> p->addr = ", "kprobe_exit: kprobe at ")
		// It leaves kernel threads alone, so that its handler says nothing of the loop's calls.
		said = runModule(t, filepath.Join(dir, "kretprobe_example.c"), im.Name)
		wantLines(t, said, "Planted return probe at kernel_clone: ", "Missed probing ")
	})
}
