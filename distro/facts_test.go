package distro_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kprobesim/distro"
	"kprobesim/internal/clock"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

var update = flag.Bool("update", false, "write what the module of facts prints in the simulated kernels")

// known has what the module of facts prints in kernels, and which kernels of ours differ in what.
const known = "../modules/testdata/facts"

// TestFactsOfPackagedKernels inserts the module of facts into the kernels of a distribution, in the simulator and under qemu.
// Each prints the lines that are known of it.
func TestFactsOfPackagedKernels(t *testing.T) {
	for _, file := range kernels(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			golden := filepath.Join(known, goldenOf(t, file))
			c := packaged(t, file)
			c.Initrd, c.Untimed = factsFiles(t, file, c.Kernel.Image.Bits), true
			c.Budget = clock.FromCycles(120 * c.CPU.Hz)
			m, err := distro.Run(c, distro.Stop{})
			require.Need(t, err == nil, "%v; the console:\n%s", err, m.Console())
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(strings.Join(factsOf(m.Console()), "\n")+"\n"), 0o644))
			}
			b := require.Must(os.ReadFile(golden))(t)
			compareFacts(t, golden, string(b), m.Console())
			if !hosttools.Whole(t, "the facts of a packaged kernel under qemu", "the simulated kernel prints what qemu printed before") {
				return
			}
			hosttools.Need(t, "qemu-system-x86_64", "qemu-system-x86", "the facts of the kernel under qemu")
			q := underQemu(t, c)
			q.Args = append(q.Args, "-icount", "shift=0,sleep=off") // the optimizer is done in time on a busy host, too
			compareFacts(t, golden+" under qemu", string(b), printed(t, q, "System halted"))
		})
	}
}

// goldenOf names the file that has the facts of a kernel: one for each release and configuration.
func goldenOf(t *testing.T, file string) string {
	t.Helper()
	m := regexp.MustCompile(`^vmlinuz-(\d+\.\d+)\..*-(\w+)$`).FindStringSubmatch(filepath.Base(file))
	if m == nil || m[1] != "6.1" {
		t.Skipf("does not apply: facts are known of kernels 6.1, %s is another one", file)
	}
	return "linux-" + m[1] + "-" + m[2] + ".txt"
}

// factsFiles is an initial file system with the module, built for a kernel.
func factsFiles(t *testing.T, file string, bits int) []byte {
	t.Helper()
	b := builtModule(t, file, "../workloads/modules/facts.c")
	return distro.Initrd(require.Must(distro.Inserting(bits, "facts", b, ""))(t))
}

// factsOf are the facts that a console tells.
func factsOf(console string) (out []string) {
	for _, m := range regexp.MustCompile(`(?m)\bfact (\S+ .+?)\r?$`).FindAllStringSubmatch(console, -1) {
		out = append(out, m[1])
	}
	return out
}

// compareFacts compares what a console tells with the lines that are known.
func compareFacts(t *testing.T, of, want, console string) {
	t.Helper()
	got := factsOf(console)
	lines := strings.Split(strings.TrimSuffix(want, "\n"), "\n")
	if !strings.Contains(console, "facts done") || len(got) != len(lines) {
		t.Errorf("%s: %d facts of %d; the end of the console:\n%s", of, len(got), len(lines), console[max(0, len(console)-2000):])
	}
	for i := range min(len(got), len(lines)) {
		require.Equal(t, got[i], lines[i], "%s", of)
	}
}

// builtModule builds a module for a kernel of KPROBESIM_LINUX.
func builtModule(t *testing.T, kernel, source string) []byte {
	t.Helper()
	release := strings.TrimPrefix(filepath.Base(kernel), "vmlinuz-")
	headers := filepath.Join(filepath.Dir(kernel), "usr/src/linux-headers-"+release)
	if _, err := os.Stat(headers); err != nil {
		hosttools.Missing(t, source+" for "+kernel, "no headers "+headers)
	}
	return buildFor(t, headers, source)
}

// buildFor builds a module against headers.
func buildFor(t *testing.T, headers, source string) []byte {
	t.Helper()
	for _, tool := range []string{"make", "gcc-12"} {
		hosttools.Need(t, tool, tool, "modules of packaged kernels")
	}
	module := filepath.Join(t.TempDir(), "module.ko")
	hosttools.Run(t, ".", "sh", "module/build.sh", headers, module, source)
	return require.Must(os.ReadFile(module))(t)
}

// TestMeasureBuilds builds the module against all headers that are there, also of kernels that no test boots.
func TestMeasureBuilds(t *testing.T) {
	for _, file := range hosttools.Kernels(t, "usr/src/linux-headers-*[0-9a-z]", "building the module that times hits") {
		if strings.HasSuffix(file, "-common") {
			continue
		}
		require.That(t, strings.Contains(string(buildFor(t, file, "module/kprobesim_measure.c")), "vermagic="+strings.TrimPrefix(filepath.Base(file), "linux-headers-")), "%s: the module is not for it", file)
	}
}
