package judging

import (
	"bytes"
	"encoding/binary"
)

// Copies of a block in the longer and in the shorter loop, and repetitions of a loop. The difference of the two loops' times
// has nothing of the loop itself.
const (
	long  = 100
	short = 50
	loops = 32
)

// Places in memory, the same on both sides.
const (
	control  = 0x0f00_0000 // a page with the loop's own data
	savedSP  = control
	savedBP  = control + 8
	started  = control + 16
	count    = control + 64
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

// program returns code that repeats copies of a block. For the host it is a function that returns what the repetitions
// took by the time-stamp counter; for the simulator it ends by hlt.
func program(block []byte, copies, loops int, native bool) []byte {
	a := &assembler{}
	if native {
		a.word([]byte{0x48, 0x89, 0x24, 0x25}, savedSP)
		a.word([]byte{0x48, 0x89, 0x2c, 0x25}, savedBP)
		a.stamp()
		a.word([]byte{0x48, 0x89, 0x04, 0x25}, started)
	}
	a.word([]byte{0xc7, 0x04, 0x25}, count, uint32(loops))
	a.Write(bytes.Repeat([]byte{0x90}, -a.Len()&(line-1)|line)) // the loop begins at the same place of a line
	head := a.Len()
	a.Write([]byte{0x0f, 0xae, 0xe8}) // lfence
	for r := range 16 {
		opcode := []byte{0xb8 + byte(r&7)}
		if r > 7 {
			opcode = append([]byte{0x41}, opcode...)
		}
		a.word(opcode, registers(r))
	}
	a.Write([]byte{0x85, 0xc0}) // test %eax,%eax: the flags
	a.Write(bytes.Repeat(block, copies))
	a.word([]byte{0xff, 0x0c, 0x25}, count)                // decl
	a.word([]byte{0x0f, 0x85}, uint32(head-(a.Len()+2+4))) // jnz
	if !native {
		a.WriteByte(0xf4)
		return a.Bytes()
	}
	a.stamp()
	a.word([]byte{0x48, 0x2b, 0x04, 0x25}, started)
	a.word([]byte{0x48, 0x8b, 0x24, 0x25}, savedSP)
	a.word([]byte{0x48, 0x8b, 0x2c, 0x25}, savedBP)
	a.WriteByte(0xc3)
	return a.Bytes()
}
