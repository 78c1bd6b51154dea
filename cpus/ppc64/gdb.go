package ppc64

import (
	"slices"
	"strings"

	"kprobesim/cpus"
)

// gdbRegisters describes the registers to gdb, which insists on floating point that no CPU here has.
func gdbRegisters() cpus.GDB {
	core := cpus.GDBFeature{Name: "org.gnu.gdb.power.core", Registers: slices.Concat(
		cpus.GDBInts(64, append(generalNames[:], "pc", "msr")...), cpus.GDBInts(32, "cr"),
		cpus.GDBInts(64, "lr", "ctr"), cpus.GDBInts(32, "xer"))}
	core.Pointer("pc", "code_ptr")
	core.Pointer("lr", "code_ptr")
	float := cpus.GDBFeature{Name: "org.gnu.gdb.power.fpu", Registers: append(
		cpus.GDBUnknown(64, "ieee_double", strings.Join(cpus.Numbered("f", 32), " ")), cpus.GDBUnknown(32, "int32", "fpscr")...)}
	float.Registers[0].Number = len(core.Registers)
	return cpus.GDB{Arch: "powerpc:common64", Features: []cpus.GDBFeature{core, float}, Early: true}
}
