package arm

import (
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
)

// TestStrictAlignment lets accesses at odd addresses pass, and aborts each whose address is no multiple of its size where SCTLR.A is set.
func TestStrictAlignment(t *testing.T) {
	for name, x := range map[string]struct {
		size   uint64
		access func(c *CPU, va uint64) bool
	}{
		"ldrb":  {1, func(c *CPU, va uint64) bool { _, ok := load8(c, va); return ok }},
		"ldrh":  {2, func(c *CPU, va uint64) bool { _, ok := load16(c, va); return ok }},
		"ldrsh": {2, func(c *CPU, va uint64) bool { _, ok := loadS16(c, va); return ok }},
		"ldr":   {4, func(c *CPU, va uint64) bool { _, ok := load32(c, va); return ok }},
		"strb":  {1, func(c *CPU, va uint64) bool { return store8(c, va, 5) }},
		"strh":  {2, func(c *CPU, va uint64) bool { return store16(c, va, 5) }},
		"str":   {4, func(c *CPU, va uint64) bool { return store32(c, va, 5) }},
	} {
		for off := range uint64(4) {
			for _, strict := range []bool{false, true} {
				c := newWorld(t, cpus.Window, nil).cpu()
				if strict {
					c.strict = ^uint64(0)
				}
				require.Equal(t, x.access(c, testCode+off), !strict || off%x.size == 0, "%s at +%d is made, strict %t", name, off, strict)
			}
		}
	}
}
