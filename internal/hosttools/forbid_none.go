//go:build !linux || !amd64

package hosttools

import "testing"

// ForbidCode skips the test: this host executes no code of ours.
func ForbidCode(tb testing.TB) {
	tb.Helper()
	Unable(tb, "forbidding memory that can be executed", "it needs Linux on x86-64")
}
