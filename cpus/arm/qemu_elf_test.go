package arm

import (
	"debug/elf"
	"encoding/binary"
	"testing"

	"kprobesim/cpus/cpustest"
	"kprobesim/internal/hosttools"
)

// The program that qemu executes: a static ELF file without a library. Its text is a harness and one stub for
// each form; its data are a table of vectors. For each vector the harness copies registers and sandbox to
// fixed places and enters the form's stub. The stub loads the flags and all registers, executes the form, and
// goes to the common end, which stores what it finds. That end stands close before its data, which it
// reaches relative to the program counter: no register is free.
const (
	qemuEnd     = 0x10f00 // the common end
	qemuState   = 0x11000 // r0 to r14, CPSR
	qemuIn      = qemuState + 0x100
	qemuOut     = qemuState + 0x104
	qemuLeft    = qemuState + 0x108
	qemuText    = 0x20000
	sandbox     = 0x2000000 + 0xf80 // across a boundary of pages
	sandboxSize = 256
	qemuVectors = 0x20000000
	qemuResults = 0x30000000

	stateWords   = 16 // r0 to r14, CPSR
	vectorBytes  = 4*(stateWords+1) + sandboxSize
	outcomeBytes = 4*stateWords + sandboxSize
)

// harness assembles the program.
type harness struct {
	at   uint64
	text []uint32
	end  []uint32 // the common end
}

func (h *harness) here() uint64        { return h.at + 4*uint64(len(h.text)) }
func (h *harness) emit(code ...uint32) { h.text = append(h.text, code...) }
func (h *harness) jump(to uint64)      { h.emit(branchTo(h.here(), to)) }

// copyWords copies words in eights from what r1 points at to r2, through r4 to r11, and leaves both behind.
func copyWords(n int) []uint32 {
	var out []uint32
	for range n / 8 {
		out = append(out, always32|0x08b10ff0, always32|0x08a20ff0)
	}
	return out
}

// newHarness writes everything but the stubs.
func newHarness(outcomes int) *harness {
	h := &harness{at: qemuText}
	next := h.here()
	h.emit(0xf57ff01f) // clrex
	h.emit(constantTo(0, qemuIn)...)
	h.emit(constantTo(2, qemuState)...)
	h.emit(ldrAt(1, 0, 0))
	h.emit(copyWords(stateWords)...)
	h.emit(constantTo(2, sandbox)...)
	h.emit(copyWords(sandboxSize / 4)...)
	h.emit(ldrAt(3, 1, 0), dataConstant(opADD, 0, 1, 1, 4), strAt(1, 0, 0), always32|0x012fff13) // bx r3
	after := h.here()
	h.emit(constantTo(0, qemuIn)...)
	h.emit(constantTo(1, qemuState)...)
	h.emit(ldrAt(2, 0, 4))
	h.emit(copyWords(stateWords)...)
	h.emit(constantTo(1, sandbox)...)
	h.emit(copyWords(sandboxSize / 4)...)
	h.emit(strAt(2, 0, 4), ldrAt(3, 0, 8), dataConstant(opSUB, 1, 3, 3, 1), strAt(3, 0, 8))
	h.emit(branchTo(h.here(), next)&^(15<<28) | condNE<<28)
	h.writeResults(outcomes)
	h.makeEnd(after)
	return h
}

// makeEnd writes the common end: r14 first, then all others by way of it.
func (h *harness) makeEnd(after uint64) {
	h.end = append(h.end, strAt(14, 15, qemuState+56-qemuEnd-8))
	h.end = append(h.end, constantTo(14, qemuState)...)
	h.end = append(h.end, always32|0x088e1fff, strAt(13, 14, 52), always32|0x010f0000, strAt(0, 14, 60)) // stm r14, {r0-r12}; mrs r0, cpsr
	h.end = append(h.end, branchTo(qemuEnd+4*uint64(len(h.end)), after))
}

// writeResults writes the outcomes to standard output, as often as it takes, and exits.
func (h *harness) writeResults(outcomes int) {
	h.emit(constantTo(8, qemuResults)...)
	h.emit(constantTo(9, uint32(outcomes*outcomeBytes))...)
	again := h.here()
	h.emit(dataConstant(opMOV, 0, 0, 7, 4), dataConstant(opMOV, 0, 0, 0, 1), data(opMOV, 0, 0, 1, 8), data(opMOV, 0, 0, 2, 9), insnSVC)
	h.emit(data(opADD, 0, 8, 8, 0), data(opSUB, 1, 9, 9, 0))
	h.emit(branchTo(h.here(), again)&^(15<<28) | condNE<<28)
	h.emit(dataConstant(opMOV, 0, 0, 7, 1), dataConstant(opMOV, 0, 0, 0, 0), insnSVC)
}

// stub loads all registers and executes a form. It returns the addresses of the stub and of the form.
func (h *harness) stub(code []uint32) (stub, form uint64) {
	stub = h.here()
	h.emit(constantTo(14, qemuState)...)
	h.emit(ldrAt(0, 14, 60), always32|0x012cf000, always32|0x089e7fff) // msr cpsr_fs, r0; ldm r14, {r0-r14}
	form = h.here()
	h.emit(code...)
	h.jump(qemuEnd)
	h.emit(landing) // where branches of forms go
	h.jump(qemuEnd)
	return stub, form
}

// landing changes a register, so that a branch that was taken shows: eor r0, r0, #0x55.
const landing = always32 | 0x02200055

// elfFile builds the file.
func elfFile(h *harness, vectors []byte, count int) []byte {
	low := make([]byte, 0x1000)
	binary.LittleEndian.PutUint32(low[qemuIn-qemuState:], qemuVectors)
	binary.LittleEndian.PutUint32(low[qemuOut-qemuState:], qemuResults)
	binary.LittleEndian.PutUint32(low[qemuLeft-qemuState:], uint32(count))
	end := make([]byte, 0x1000)
	copy(end[qemuEnd&0xfff:], wordBytes(h.end))
	return elfOf(qemuText, []cpustest.Segment{
		{At: qemuEnd &^ 0xfff, Flags: 5, Data: end, Size: 0x1000},
		{At: qemuState, Flags: 6, Data: low, Size: 0x1000},
		{At: qemuText, Flags: 5, Data: wordBytes(h.text)},
		{At: sandbox &^ 0xfff, Flags: 6, Data: nil, Size: 0x2000},
		{At: qemuVectors, Flags: 4, Data: vectors},
		{At: qemuResults, Flags: 6, Data: nil, Size: uint64(count*outcomeBytes) + 8},
	})
}

// elfOf is an executable for Linux.
func elfOf(entry uint64, segs []cpustest.Segment) []byte {
	const eabi5 = 0x05000000
	return cpustest.Executable(32, binary.LittleEndian, elf.EM_ARM, eabi5, entry, segs)
}

// qemu returns the emulator's path, or skips the test.
func qemu(t *testing.T) string {
	t.Helper()
	return hosttools.Emulator(t, "qemu-arm")
}

// runQemu runs a program and returns what it printed and its error, if any.
func runQemu(t *testing.T, path string, program []byte) ([]byte, error) {
	t.Helper()
	return hosttools.Emulate(t, path, program, "-cpu", "cortex-a15")
}
