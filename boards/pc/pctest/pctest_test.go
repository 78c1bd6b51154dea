package pctest

import (
	"flag"
	"os/exec"
	"runtime"
	"testing"

	"kprobesim/internal/hosttools"
)

var updateMany = flag.Bool("update-many", false, "write testdata/many.elf")

// TestManyGuestIsFresh builds testdata/many.elf again.
func TestManyGuestIsFresh(t *testing.T) {
	cc := "x86_64-linux-gnu-gcc"
	if _, err := exec.LookPath(cc); err != nil && runtime.GOARCH == "amd64" {
		cc = "gcc" // the host's own, under whatever name
	}
	hosttools.Fresh(t, cc, "gcc-x86-64-linux-gnu", *updateMany)
}
