package workloads

import (
	"os/exec"
	"strings"
	"testing"
)

// The guest's hit path works on a processor that is not ours: single step, boosting, return
// probes, nested hits, faults, jump optimization, as bare/selftest.c sets them up by hand.
func TestSelfTestUnderQemu(t *testing.T) {
	for _, tool := range []string{"gcc", "ld", "objcopy", "qemu-system-x86_64"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("skipped the guest's self-test under qemu: no %s here", tool)
		}
	}
	out, err := exec.Command("timeout", "60", "sh", "bare/run.sh").CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "ok\n") {
		t.Fatalf("%v\n%s", err, out)
	}
}
