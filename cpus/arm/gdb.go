package arm

import "kprobesim/cpus"

// gdbCPSR is gdb's number of the program status register, behind an old coprocessor.
const gdbCPSR = 25

// gdbRegisters describes the registers to gdb.
func gdbRegisters() cpus.GDB {
	f := cpus.GDBFeature{Name: "org.gnu.gdb.arm.core", Registers: cpus.GDBInts(32, append(generalNames[:], "pc", "cpsr")...)}
	f.Registers[len(f.Registers)-1].Number = gdbCPSR
	f.Pointer("sp", "data_ptr")
	f.Pointer("pc", "code_ptr")
	return cpus.GDB{Arch: "armv7", Features: []cpus.GDBFeature{f}, Early: true}
}
