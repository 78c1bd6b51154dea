package require

import (
	"os"
	"runtime/debug"
)

// Tests collect garbage less often, which takes a third off the tests of the largest instruction set and an eighth off others. They make
// machines that live for a moment, and each collection marks the same tables again. GOGC in the environment goes first.
var _ = collect(os.Getenv("GOGC"))

func collect(asked string) (before int) {
	if asked != "" {
		return 0
	}
	return debug.SetGCPercent(300)
}
