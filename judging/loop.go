package judging

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// Copies of a block in the longer loop, and repetitions of a loop. The shorter loop has half the copies. The difference of the
// two loops' times has nothing of the loop itself.
const (
	long  = 100
	loops = 32
)

// enough is the instructions that the longer loop has at least.
const enough = 600

// copiesOf returns the copies of a block of so many instructions.
func copiesOf(instructions int) int { return max(long, enough/instructions&^1) }

// times returns how often more copies are repeated, where long ones are repeated loops times.
func times(loops, copies int) int { return loops * long / copies }

// Places in memory, the same on both sides. Pointers has the beginnings of the chains of a native.Job.
const (
	control  = 0x0f00_0000 // a page with the loop's own data
	savedSP  = control
	savedBP  = control + 8
	started  = control + 16
	count    = control + 64
	Pointers = control + 128
	fillWord = 0x3000_0a00 // memory is full of an address
	line     = 64
)

// registers returns the value of a register at the beginning of each repetition: a page for each, and another place in it.
func registers(n int) uint32 { return uint32(0x1000_0000 + n*0x0100_0000 + 0x400 + n*0x40) }

// assembler appends instructions.
type assembler struct{ bytes.Buffer }

// word appends a number of 32 bits behind an opcode.
func (a *assembler) word(opcode []byte, v ...uint32) {
	a.Write(opcode)
	for _, v := range v {
		_ = binary.Write(a, binary.LittleEndian, v) // a buffer takes it
	}
}

// stamp reads the time-stamp counter into RAX, behind everything before and before everything behind it.
func (a *assembler) stamp() {
	a.Write([]byte{0x0f, 0xae, 0xe8, 0x0f, 0x31, 0x0f, 0xae, 0xe8}) // lfence; rdtsc; lfence
	a.Write([]byte{0x48, 0xc1, 0xe2, 32, 0x48, 0x09, 0xd0})         // shl $32,%rdx; or %rdx,%rax
}

// Loop is a program that repeats code. On the host it is a function that returns what the repetitions took by the time-stamp
// counter. In the simulator it ends by halting.
type Loop struct {
	Before []byte // executed once
	Each   []byte // executed at the head of each repetition
	Body   []byte
	Copies int // of the body in a repetition
	Times  int // repetitions
	After  []byte
}

// Absolute appends an address, which is below 2 GiB, to an opcode.
func Absolute(opcode []byte, at uint32) []byte { return binary.LittleEndian.AppendUint32(opcode, at) }

// Now is a program that returns the time-stamp counter.
func Now() []byte {
	a := &assembler{}
	a.stamp()
	a.WriteByte(0xc3)
	return a.Bytes()
}

// settled returns what gives all registers and flags the same values at the beginning of each repetition. Each register
// waits for its old value, so that chains of copies go on from one repetition to the next.
func settled() []byte {
	a := &assembler{}
	for r := range 16 {
		prefix, n := []byte{}, byte(r&7)
		if r > 7 {
			prefix = []byte{0x41}
		}
		a.Write(append(slices.Clone(prefix), 0x83, 0xe0|n, 0)) // and $0
		a.word(append(prefix, 0x81, 0xc8|n), registers(r))     // or
	}
	return a.Bytes()
}

// program returns a loop of copies of a block.
func program(block []byte, copies, times int, native bool) []byte {
	l := Loop{Each: settled(), Body: block, Copies: copies, Times: times}
	if native {
		return l.Native()
	}
	return l.Simulated()
}

// Native returns the program for the host.
func (l *Loop) Native() []byte {
	a := &assembler{}
	a.word([]byte{0x48, 0x89, 0x24, 0x25}, savedSP)
	a.word([]byte{0x48, 0x89, 0x2c, 0x25}, savedBP)
	a.stamp()
	a.word([]byte{0x48, 0x89, 0x04, 0x25}, started)
	l.repeat(a)
	a.stamp()
	a.word([]byte{0x48, 0x2b, 0x04, 0x25}, started)
	a.word([]byte{0x48, 0x8b, 0x24, 0x25}, savedSP)
	a.word([]byte{0x48, 0x8b, 0x2c, 0x25}, savedBP)
	a.WriteByte(0xc3)
	return a.Bytes()
}

// Simulated returns the program for the simulator.
func (l *Loop) Simulated() []byte {
	a := &assembler{}
	l.repeat(a)
	a.WriteByte(0xf4)
	return a.Bytes()
}

// repeat appends the repetitions, which begin at the same place of a line in all programs.
func (l *Loop) repeat(a *assembler) {
	a.Write(l.Before)
	a.word([]byte{0xc7, 0x04, 0x25}, count, uint32(l.Times)) // movl
	a.Write(bytes.Repeat([]byte{0x90}, -a.Len()&(line-1)|line))
	head := a.Len()
	a.Write(l.Each)
	a.Write(bytes.Repeat(l.Body, l.Copies))
	a.word([]byte{0xff, 0x0c, 0x25}, count)                // decl
	a.word([]byte{0x0f, 0x85}, uint32(head-(a.Len()+2+4))) // jnz
	a.Write(l.After)
}
