package workloads

import (
	"os/exec"
	"strings"
	"testing"
)

// defines are the options of build.sh as the preprocessor knows them.
var defines = map[string]string{"preempt": "-DPREEMPT", "stepping": "-DNO_BOOST", "trapping": "-DTRAP_RETURNS"}

// The guest's hit path of every image works on a processor that is not ours: single step, boosting,
// jprobes, return probes, nested hits, faults, jump optimization, as bare/selftest.c sets them up, and user mode.
func TestSelfTestUnderQemu(t *testing.T) {
	for _, tool := range []string{"gcc", "ld", "objcopy", "qemu-system-x86_64"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("skipped the guest's self-test under qemu: no %s here", tool)
		}
	}
	for _, im := range List() {
		if im.ISA == "ppc64" {
			continue // bare/boot32.S is of a PC
		}
		args := []string{"60", "sh", "bare/run.sh", "-i", im.ISA, "-DERA=" + im.Era}
		for _, option := range strings.Fields(strings.ReplaceAll(im.Options, "-", " ")) {
			args = append(args, defines[option])
		}
		out, err := exec.Command("timeout", args...).CombinedOutput()
		if err != nil || !strings.HasSuffix(string(out), "ok\n") {
			t.Errorf("%s: %v\n%s", im.Name, err, out)
		}
	}
}
