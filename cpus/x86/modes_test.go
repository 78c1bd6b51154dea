package x86

import (
	"encoding/binary"
	"testing"

	"kprobesim/cpus"
)

// modes are the modes and page-table formats that a kernel may run in.
func modes() []*cpus.ISA { return []*cpus.ISA{ISA64(), ISA32(), isaPAE()} }

// eachMode runs a test in every mode.
func eachMode(t *testing.T, f func(t *testing.T, isa *cpus.ISA)) {
	for _, isa := range modes() {
		t.Run(isa.Name, func(t *testing.T) { f(t, isa) })
	}
}

// iret returns from a handler.
func (w *world) iret() []byte {
	if w.isa.Bits == 32 {
		return []byte{0xcf}
	}
	return []byte{0x48, 0xcf}
}

// dropWord takes the error code from the stack.
func (w *world) dropWord() []byte {
	if w.isa.Bits == 32 {
		return []byte{0x83, 0xc4, 4}
	}
	return []byte{0x48, 0x83, 0xc4, 8}
}

// moved gives the address in this world of one in the direct map of 64-bit mode; other values stay.
func (w *world) moved(v uint64) uint64 {
	if v >= directMap && v < directMap+worldRAM {
		return w.at(v)
	}
	return v
}

// userCS is the selector of user code.
func (w *world) userCS() uint64 {
	if w.isa.Bits == 32 {
		return userCS32
	}
	return userCS
}

// frame puts the words of an exception frame on the stack.
func (w *world) frame(c *CPU, words ...uint64) {
	c.R[rsp] = w.at(testStack) - 0x100
	for i, v := range words {
		w.mem.Store(binary.LittleEndian, c.SP()-w.data+uint64(i)*c.word(), int(c.word()), v)
	}
}
