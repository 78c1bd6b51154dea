package x86

import (
	"slices"

	"kprobesim/cpus"
)

// gdbRegisters describes the registers of a width to gdb, which insists on segments and the x87 unit. Its order is that of the
// debugging information of 64-bit programs, and in 32-bit mode the processor's.
func gdbRegisters(bits int, names ...string) cpus.GDB {
	arch, width := "i386", names[len(names)-1][:1]
	if bits == 64 {
		arch = "i386:x86-64"
	}
	f := cpus.GDBFeature{Name: "org.gnu.gdb.i386.core", Types: gdbFlags, Registers: cpus.GDBInts(bits, names...)}
	for i := range f.Registers {
		f.Registers[i].Short = "e" + f.Registers[i].Name[1:]
	}
	f.Registers = slices.Concat(f.Registers, []cpus.GDBRegister{{Name: "eflags", Bits: 32, Type: "i386_eflags", From: width + "flags", Short: "eflags"}},
		cpus.GDBUnknown(32, "int32", "cs ss ds es fs gs"),
		cpus.GDBUnknown(80, "i387_ext", "st0 st1 st2 st3 st4 st5 st6 st7"),
		cpus.GDBUnknown(32, "int32", "fctrl fstat ftag fiseg fioff foseg fooff fop"))
	f.Pointer(width+"ip", "code_ptr")
	f.Pointer(width+"sp", "data_ptr")
	f.Pointer(width+"bp", "data_ptr")
	return cpus.GDB{Arch: arch, Features: []cpus.GDBFeature{f}}
}

// gdbFlags is the type of the flags, as far as they have names (SDM vol. 1, 3.4.3).
const gdbFlags = `<flags id="i386_eflags" size="4"><field name="CF" start="0" end="0"/><field name="PF" start="2" end="2"/>` +
	`<field name="AF" start="4" end="4"/><field name="ZF" start="6" end="6"/><field name="SF" start="7" end="7"/>` +
	`<field name="TF" start="8" end="8"/><field name="IF" start="9" end="9"/><field name="DF" start="10" end="10"/>` +
	`<field name="OF" start="11" end="11"/><field name="RF" start="16" end="16"/></flags>`
