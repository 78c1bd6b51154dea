package require

import (
	"os"
	"runtime/debug"
)

// Tests collect garbage a third as often, which takes a third of their time off the largest instruction set, and an eighth off the rest. They make
// machines that live for a moment, and each collection marks the same tables again. GOGC in the environment goes first.
var _ = collect(os.Getenv("GOGC"))

func collect(asked string) (before int) {
	if asked != "" {
		return 0
	}
	return debug.SetGCPercent(300)
}
