package ppc64

import (
	"debug/elf"
	"encoding/binary"
	"testing"

	"kprobesim/cpus/cpustest"
	"kprobesim/internal/hosttools"
)

// The program that qemu executes: a static ELF64 file without a library. Its text is a harness and one stub
// for each form; its data are a table of vectors. For each vector the harness copies registers and sandbox
// to fixed places and enters the form's stub. The stub loads all registers, executes the form, and goes to
// the common end, which stores what it finds. The fixed places lie below 32 KiB, where an instruction
// reaches them without a base register.
const (
	qemuLow     = 0x4000            // the current registers
	qemuCR      = qemuLow + 32*8    // then XER, LR, CTR
	qemuIn      = qemuLow + 0x200   // next vector
	qemuOut     = qemuLow + 0x208   // next outcome
	qemuLeft    = qemuLow + 0x210   // vectors
	qemuLanding = qemuLow + 0x1000  // where absolute branches of forms go
	qemuText    = 0x1000000         // below 32 MiB: absolute branches reach it
	sandbox     = 0x2000000 + 0xf80 // across a boundary of pages
	sandboxSize = 256
	qemuVectors = 0x20000000
	qemuResults = 0x30000000

	stateWords   = 36 // 32 registers, CR, XER, LR, CTR
	vectorBytes  = 8*(stateWords+1) + sandboxSize
	outcomeBytes = 8*stateWords + sandboxSize
)

// harness assembles the program.
type harness struct {
	at   uint64
	text []uint32
	save uint64 // the common end
}

func (h *harness) here() uint64        { return h.at + 4*uint64(len(h.text)) }
func (h *harness) emit(code ...uint32) { h.text = append(h.text, code...) }
func (h *harness) jump(to uint64)      { h.emit(insnI(h.here(), to)) }

// copyWords copies doublewords from what r3 points at to r4, through r5 and r6, and leaves both behind.
func (h *harness) copyWords(n int) {
	h.emit(li(5, n), mtspr(9, 5))
	loop := h.here()
	h.emit(ldAt(6, 3, 0), stdAt(6, 4, 0), addiTo(3, 3, 8), addiTo(4, 4, 8))
	h.emit(branchIf(16, 0, int(loop-h.here())))
}

// newHarness writes everything but the stubs.
func newHarness(outcomes int) *harness {
	h := &harness{at: qemuText}
	next := h.here()
	h.emit(ldAt(3, 0, qemuIn), li(4, qemuLow))
	h.copyWords(stateWords)
	h.emit(address(4, sandbox)...)
	h.copyWords(sandboxSize / 8)
	h.emit(ldAt(6, 3, 0), addiTo(3, 3, 8), stdAt(3, 0, qemuIn), mtspr(9, 6), 0x4e800420)
	h.save = h.here()
	for r := range uint32(32) {
		h.emit(stdAt(r, 0, qemuLow+8*int(r)))
	}
	h.emit(0x7c000026, stdAt(0, 0, qemuCR)) // mfcr r0
	for i, spr := range []uint32{1, 8, 9} {
		h.emit(mfsprOf(0, spr), stdAt(0, 0, qemuCR+8+8*i))
	}
	h.emit(li(3, qemuLow), ldAt(4, 0, qemuOut))
	h.copyWords(stateWords)
	h.emit(address(3, sandbox)...)
	h.copyWords(sandboxSize / 8)
	h.emit(stdAt(4, 0, qemuOut), ldAt(3, 0, qemuLeft), addiTo(3, 3, -1), stdAt(3, 0, qemuLeft), compareImm(0, 3, 0))
	h.emit(branchIf(4, 2, int(next-h.here())))
	h.writeResults(outcomes)
	return h
}

// writeResults writes the outcomes to standard output, as often as it takes, and exits.
func (h *harness) writeResults(outcomes int) {
	h.emit(address(30, qemuResults)...)
	h.emit(address(31, uint64(outcomes*outcomeBytes))...)
	again := h.here()
	h.emit(li(0, 4), li(3, 1), ori(4, 30, 0), ori(5, 31, 0), insnSC)
	h.emit(addTo(30, 30, 3), insnX(31, 31, 3, 31, 40), compareImm(0, 31, 0)) // subf r31,r3,r31
	h.emit(branchIf(12, 1, int(again-h.here())))
	h.emit(li(0, 1), li(3, 0), insnSC)
}

// stub loads all registers and executes a form. It returns the addresses of the stub and of the form.
func (h *harness) stub(code []uint32) (stub, form uint64) {
	stub = h.here()
	h.emit(ldAt(0, 0, qemuCR), 0x7c0ff120) // mtcrf 255,r0
	for i, spr := range []uint32{1, 8, 9} {
		h.emit(ldAt(0, 0, qemuCR+8+8*i), mtspr(spr, 0))
	}
	for r := range uint32(32) {
		h.emit(ldAt(r, 0, qemuLow+8*int(r)))
	}
	form = h.here()
	h.emit(code...)
	h.jump(h.save)
	h.emit(landing()) // where branches of forms go
	h.jump(h.save)
	return stub, form
}

// landing changes a register, so that a branch that was taken shows.
func landing() uint32 { return insnD(26, 31, 31, 0x5555) } // xori

// elfFile builds the file.
func elfFile(h *harness, vectors []byte, count int) []byte {
	low := make([]byte, 0x2000)
	binary.BigEndian.PutUint64(low[qemuIn-qemuLow:], qemuVectors)
	binary.BigEndian.PutUint64(low[qemuOut-qemuLow:], qemuResults)
	binary.BigEndian.PutUint64(low[qemuLeft-qemuLow:], uint64(count))
	binary.BigEndian.PutUint32(low[qemuLanding-qemuLow:], landing())
	binary.BigEndian.PutUint32(low[qemuLanding-qemuLow+4:], insnI(qemuLanding+4, h.save))
	binary.BigEndian.PutUint64(low[0x1800:], qemuText) // the descriptor of the entry
	segs := []cpustest.Segment{
		{At: qemuLow, Flags: 7, Data: low, Size: 0x2000},
		{At: qemuText, Flags: 5, Data: wordBytes(h.text)},
		{At: sandbox &^ 0xfff, Flags: 6, Data: nil, Size: 0x2000},
		{At: qemuVectors, Flags: 4, Data: vectors},
		{At: qemuResults, Flags: 6, Data: nil, Size: uint64(count*outcomeBytes) + 8},
	}
	return elfOf(qemuLow+0x1800, segs)
}

// elfOf is an executable of the first ABI, whose entry is a descriptor.
func elfOf(entry uint64, segs []cpustest.Segment) []byte {
	return cpustest.Executable(64, binary.BigEndian, elf.EM_PPC64, 1, entry, segs)
}

func wordBytes(words []uint32) []byte {
	var b []byte
	for _, w := range words {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

// qemu returns the emulator's path, or skips the test.
func qemu(t *testing.T) string {
	t.Helper()
	return hosttools.Emulator(t, "qemu-ppc64")
}

// runQemu runs a program and returns what it printed and its error, if any.
func runQemu(t *testing.T, path string, program []byte) ([]byte, error) {
	t.Helper()
	return hosttools.Emulate(t, path, program, "-cpu", "power5+")
}
