// Package armtext prints A32 instructions. The decoder of golang.org/x/arch/arm/armasm writes a variable of
// its package at every call, so simulations that run side by side take turns here.
package armtext

import (
	"sync"

	"golang.org/x/arch/arm/armasm"
)

var turn sync.Mutex

// Decode returns the instruction of a word of little-endian code. What the decoder does not know is an error.
func Decode(code []byte) (armasm.Inst, error) {
	turn.Lock()
	defer turn.Unlock()
	return armasm.Decode(code, armasm.ModeARM)
}
