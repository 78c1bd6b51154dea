package ppc64

import (
	"os"
	"testing"

	"kprobesim/internal/host"
)

// TestMain has nearly everything that tests execute more than once become code of the host, where that is possible.
func TestMain(m *testing.M) {
	host.Code.Blocks = 1
	os.Exit(m.Run())
}
