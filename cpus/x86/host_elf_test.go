package x86

import "encoding/binary"

// The program that the host executes: a static ELF64 or ELF32 file of two segments. Its text is a harness and
// the encodings under test; its data are a table of vectors. For each vector the harness copies the
// sandbox, loads flags and registers, jumps to the encoding, and stores what it finds afterwards into
// a second table, which it writes to standard output at the end.
//
// A signal ends an encoding early: its handler notes the number and continues behind the encoding with
// the registers of the fault.
const (
	hostText    = 0x400000
	hostCurrent = 0x10000000           // the words below
	hostStack   = hostCurrent + 0x8000 // of the harness, growing down
	hostAltSize = 0x4000               // the stack of signal handlers, behind the outcomes
	sandboxVA   = 0x1000ff80           // around a page boundary
	sandboxSize = 256
	sandboxMid  = sandboxVA + sandboxSize/2
	hostVectors = 0x10020000
	sandboxEnd  = 0x10011000 // behind it there is no page

	curIn     = hostCurrent
	curOut    = hostCurrent + 8
	curLeft   = hostCurrent + 16
	curTarget = hostCurrent + 24
	curSaved  = hostCurrent + 64 // 16 registers, flags, signal
	curFlags  = curSaved + 128
	curSignal = curSaved + 136
	curTrap   = curSaved + 144    // and error code, cr2, rip
	curAlt    = hostCurrent + 512 // stack_t
	curAct    = hostCurrent + 576 // kernel sigaction
	curTLS    = hostCurrent + 640 // user_desc of fs and of gs

	vectorBytes  = 18*8 + sandboxSize
	outcomeWords = 22
	outcomeBytes = outcomeWords*8 + sandboxSize
)

// host assembles the harness.
type host struct {
	abi
	b      []byte
	labels map[string]uint64
	fixups map[int]string // offset of a rel32 to a label
}

func (h *host) at() uint64                { return hostText + uint64(len(h.b)) }
func (h *host) emit(b ...byte)            { h.b = append(h.b, b...) }
func (h *host) u32(v uint64)              { h.b = append(h.b, le32(uint32(v))...) }
func (h *host) label(name string)         { h.labels[name] = h.at() }
func (h *host) movImm(reg byte, v uint64) { h.emit(0xb8 | reg); h.u32(v) }

// syscall makes a system call by its place in the tables of the ABI.
func (h *host) syscall(n int) {
	h.movImm(rax, h.numbers[n])
	h.emit(h.trap...)
}

// wide emits an instruction that is 64 bits wide in 64-bit mode.
func (h *host) wide(b ...byte) {
	if h.bits == 64 {
		h.emit(0x48)
	}
	h.emit(b...)
}

// abs emits an instruction with an absolute 32-bit address: opcode bytes, then ModRM with reg.
func (h *host) abs(addr uint64, reg byte, op ...byte) {
	h.emit(op...)
	h.emit(reg&7<<3|4, 0x25)
	h.u32(addr)
}

// toMem and fromMem move a register to and from an absolute address.
func (h *host) toMem(addr uint64, reg byte)   { h.abs(addr, reg, h.rex(reg, 0x89)...) }
func (h *host) fromMem(reg byte, addr uint64) { h.abs(addr, reg, h.rex(reg, 0x8b)...) }

// rex puts the prefix of a 64-bit register in front of an opcode.
func (h *host) rex(reg byte, op ...byte) []byte {
	if h.bits == 32 {
		return op
	}
	return append([]byte{0x48 | reg>>3<<2}, op...)
}

// move copies bytes between strings; rsi and rdi are set.
func (h *host) move(n uint64) {
	h.movImm(rcx, n*8/uint64(h.bits))
	h.emit(0xf3)
	h.wide(0xa5)
}

func (h *host) branch(name string, op ...byte) {
	h.emit(op...)
	h.fixups[len(h.b)] = name
	h.u32(0)
}

// harness writes everything but the encodings. n is the number of vectors.
func harness(n int, a abi) *host {
	h := &host{abi: a, labels: map[string]uint64{}, fixups: map[int]string{}}
	h.setup()
	h.load()
	h.save()
	h.finish(n)
	for off, name := range h.fixups {
		binary.LittleEndian.PutUint32(h.b[off:], uint32(h.labels[name]-(hostText+uint64(off)+4)))
	}
	return h
}

// setup installs the signal handlers and segment bases.
func (h *host) setup() {
	h.movImm(h.params[0], curAlt)
	h.movImm(h.params[1], 0)
	h.syscall(sysAltStack)
	for _, sig := range []uint64{4, 5, 7, 8, 11} {
		h.movImm(h.params[0], sig)
		h.movImm(h.params[1], curAct)
		h.movImm(h.params[2], 0)
		h.emit(h.eight...)
		h.syscall(sysAction)
	}
	h.bases(h)
}

// load starts one vector.
func (h *host) load() {
	h.label("loop")
	h.fromMem(rbx, curIn)
	h.wide(0x8d, 0xb3) // lea 144(%rbx),%rsi
	h.u32(144)
	h.movImm(rdi, sandboxVA)
	h.move(sandboxSize)
	h.wide(0x8b, 0x83) // mov 136(%rbx),%rax
	h.u32(136)
	h.toMem(curTarget, rax)
	h.emit(0x31, 0xc0)
	for i := range uint64(outcomeWords - 17) {
		h.toMem(curSignal+8*i, rax)
	}
	h.movImm(rsp, hostStack)
	h.emit(0xff, 0xb3) // push 128(%rbx)
	h.u32(128)
	h.emit(0x9d) // popf
	for _, r := range append([]byte{0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}[:h.bits/4&^7-1], rbx) {
		h.emit(h.rex(r, 0x8b, 0x83|r&7<<3)...) // mov 8*r(%rbx),%r
		h.u32(uint64(r) * 8)
	}
	h.abs(curTarget, 4, 0xff) // jmp *target
}

// save ends one vector. Its first bytes are where encodings continue; the 64 bytes at it also serve
// as the addresses that the simulator's exceptions go to, which only their number matters of.
func (h *host) save() {
	h.label("save")
	for r := byte(0); r < byte(h.bits/4&^7); r++ {
		h.toMem(curSaved+uint64(r)*8, r)
	}
	h.movImm(rsp, hostStack)
	h.emit(0x9c)                   // pushf
	h.abs(curFlags, 0, 0x8f)       // pop flags
	h.emit(0x68, 2, 2, 0, 0, 0x9d) // push $0x202; popf
	h.fromMem(rdi, curOut)
	h.movImm(rsi, curSaved)
	h.move(outcomeWords * 8)
	h.movImm(rsi, sandboxVA)
	h.move(sandboxSize)
	h.toMem(curOut, rdi)
	h.abs(curIn, 0, 0x81) // add $vectorBytes, in
	h.u32(vectorBytes)
	h.abs(curLeft, 1, 0xff) // dec left
	h.branch("loop", 0x0f, 0x85)
}

// finish writes the results and leaves; the signal handler follows.
func (h *host) finish(n int) {
	buf, left := h.params[1], h.params[2]
	h.movImm(buf, hostVectors+uint64(n)*vectorBytes)
	h.movImm(left, uint64(n)*outcomeBytes)
	h.label("write")
	h.movImm(h.params[0], 1)
	h.syscall(sysWrite)
	h.wide(0x85, 0xc0)           // test %rax,%rax
	h.branch("exit", 0x0f, 0x8e) // jle
	h.wide(0x01, 0xc0|buf)       // add %rax,buf
	h.wide(0x29, 0xc0|left)      // sub %rax,left
	h.branch("write", 0x0f, 0x85)
	h.label("exit")
	h.movImm(h.params[0], 0)
	h.syscall(sysExit)
	h.label("handler")
	h.handler(h)
	h.label("restorer")
	h.syscall(sysReturn)
}

// program assembles the ELF file. text is the harness with the encodings; table holds n vectors.
func program(h *host, text, table []byte, n int) []byte {
	data := make([]byte, hostVectors-hostCurrent)
	put := func(at, v uint64) { copy(data[at-hostCurrent:], le64(v)[:h.bits/8]) }
	put(curIn, hostVectors)
	put(curOut, hostVectors+uint64(n)*vectorBytes)
	put(curLeft, uint64(n))
	word := uint64(h.bits / 8)
	// Registers of a form may point to some KiB around the sandbox. Linux takes a stack pointer there for one of a handler
	// that is under way.
	put(curAlt, hostVectors+uint64(n)*(vectorBytes+outcomeBytes))
	put(curAlt+2*word, hostAltSize)
	put(curAct, h.labels["handler"])
	put(curAct+word, 0x4c000004) // SA_SIGINFO, RESTORER, ONSTACK, NODEFER
	put(curAct+2*word, h.labels["restorer"])
	for i, x := range [][2]uint32{{fsBase, 0xfffff}, {gsBase, gsLimit}} {
		for j, v := range []uint32{^uint32(0), x[0], x[1], 0x41 | x[1]>>19<<4} { // usable, 32 bits, limit in pages
			copy(data[curTLS-hostCurrent+16*i+4*j:], le32(v))
		}
	}
	data = append(data, table...)
	dataOff := uint64(elfHead+len(text)+0xfff) &^ 0xfff
	out := make([]byte, dataOff)
	copy(out, h.header([]segmentHeader{
		{1, 5, elfHead, hostText, uint64(len(text)), uint64(len(text))},
		{1, 6, dataOff, hostCurrent, sandboxEnd - hostCurrent, sandboxEnd - hostCurrent},
		{1, 6, dataOff + hostVectors - hostCurrent, hostVectors, uint64(len(table)), uint64(len(table) + n*outcomeBytes + hostAltSize)},
		{0x6474e551, 6, 0, 0, 0, 0}, // without it data can be executed in 32-bit mode
	}))
	copy(out[elfHead:], text)
	return append(out, data...)
}
