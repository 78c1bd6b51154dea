package pctest

import (
	"flag"
	"testing"

	"kprobesim/internal/hosttools"
)

var updateMany = flag.Bool("update-many", false, "write testdata/many.elf")

// TestManyGuestIsFresh builds testdata/many.elf again.
func TestManyGuestIsFresh(t *testing.T) {
	const debian = "gcc-x86-64-linux-gnu"
	cc := hosttools.Compiler(t, "x86_64-linux-gnu-gcc", "amd64", debian, "building testdata/many.S")
	hosttools.Fresh(t, cc, debian, *updateMany)
}
