package workloads

import (
	"os/exec"
	"strings"
	"testing"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// defines are the options of build.sh as the preprocessor knows them. Without the function tracer nothing is
// defined.
var defines = map[string]string{
	"preempt": "-DPREEMPT", "stepping": "-DNO_BOOST", "trapping": "-DTRAP_RETURNS", "userprobes": "-DUSERPROBES",
	"nokprobes": "-DNO_KPROBES", "nmi": "-DNMI", "untraced": "", "ordered": "-DORDERED",
}

// selfTestTools names the tools that build and run the self-test, by instruction set.
var selfTestTools = map[string][]string{
	"i386":   {"gcc", "ld", "objcopy", "qemu-system-x86_64"},
	"x86_64": {"gcc", "ld", "objcopy", "qemu-system-x86_64"},
	"ppc64":  {"powerpc64-linux-gnu-gcc", "powerpc64-linux-gnu-ld", "powerpc64-linux-gnu-objcopy", "qemu-system-ppc64"},
	"arm":    {"arm-linux-gnueabi-gcc", "arm-linux-gnueabi-ld", "arm-linux-gnueabi-objcopy", "qemu-system-arm"},
}

// The guest's hit path of every image works on a processor that is not ours: single step, boosting, emulation,
// jprobes, return probes, nested hits, faults, jump optimization, probes at function entry, as bare/selftest.c
// sets them up, and user mode.
func TestSelfTestUnderQemu(t *testing.T) {
	for _, im := range someImages(t, "the self-test of every image under qemu", Image.isa) {
		t.Run(im.Name, func(t *testing.T) { holdSelfTest(t, im) })
	}
}

func holdSelfTest(t *testing.T, im Image) {
	for _, tool := range selfTestTools[im.ISA] {
		hosttools.Need(t, tool, "qemu-system and the compiler of "+im.ISA, "the guest's self-test under qemu")
	}
	args := []string{"120", "sh", "bare/run.sh", "-i", im.ISA, "-DERA=" + im.Era}
	for _, option := range strings.Fields(strings.ReplaceAll(im.Options, "-", " ")) {
		define, ok := defines[option]
		require.Need(t, ok, "the self-test knows no option %s of images", option)
		if define != "" {
			args = append(args, define)
		}
	}
	if _, ok := symbolsOf(t, openELF(t, im.Name))["entry_trampoline"]; ok {
		args = append(args, "-DFENTRY")
	}
	out, err := exec.Command("timeout", args...).CombinedOutput()
	require.That(t, err == nil && strings.HasSuffix(string(out), "ok\n"), "%v\n%s", err, out)
}
