package cpus

import (
	"fmt"
	"strings"
)

// GDB describes the registers of an instruction set to gdb (Debugging with GDB, appendix G.5, "Standard Target Features").
type GDB struct {
	Arch     string
	Features []GDBFeature
	// Early says that gdb expects a watchpoint to stop the CPU before the access: it steps over it by itself.
	Early bool
}

// GDBFeature is a group of registers that gdb knows by a name.
type GDBFeature struct {
	Name      string
	Types     string // of registers, in gdb's XML
	Registers []GDBRegister
}

// GDBRegister is a register as gdb knows it.
type GDBRegister struct {
	Name   string
	Bits   int
	Type   string
	From   string // its name in CPU.Registers; "" for a register that gdb insists on and is not told
	Short  string // its name there in a mode of shorter registers
	Number int    // gdb's, where it is not one more than that of the register before; else 0
}

// GDBInts returns integer registers of a size, by their names here and in gdb.
func GDBInts(bits int, names ...string) (out []GDBRegister) {
	for _, n := range names {
		out = append(out, GDBRegister{Name: n, Bits: bits, Type: fmt.Sprint("int", bits), From: n})
	}
	return out
}

// GDBUnknown returns registers of a type whose values gdb is not told.
func GDBUnknown(bits int, typ, names string) (out []GDBRegister) {
	for n := range strings.FieldsSeq(names) {
		out = append(out, GDBRegister{Name: n, Bits: bits, Type: typ})
	}
	return out
}

// Pointer gives the register of a name the type of a pointer, "code_ptr" or "data_ptr".
func (f *GDBFeature) Pointer(name, typ string) {
	for i := range f.Registers {
		if f.Registers[i].Name == name {
			f.Registers[i].Type = typ
		}
	}
}

// Numbered returns names made of a prefix and the numbers below n.
func Numbered(prefix string, n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprint(prefix, i))
	}
	return out
}
