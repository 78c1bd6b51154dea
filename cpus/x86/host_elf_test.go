package x86

import (
	"bytes"
	"encoding/binary"
)

// The program that the host executes: a static ELF64 file of two segments. Its text is a harness and
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
	hostAlt     = hostCurrent + 0x8000 // of signal handlers, 16 KiB
	sandboxVA   = 0x1000ff80           // around a page boundary
	sandboxSize = 256
	sandboxMid  = sandboxVA + sandboxSize/2
	hostVectors = 0x10020000

	curIn     = hostCurrent
	curOut    = hostCurrent + 8
	curLeft   = hostCurrent + 16
	curTarget = hostCurrent + 24
	curSaved  = hostCurrent + 64 // 16 registers, flags, signal
	curFlags  = curSaved + 128
	curSignal = curSaved + 136
	curAlt    = hostCurrent + 512 // stack_t
	curAct    = hostCurrent + 576 // kernel sigaction

	vectorBytes  = 18*8 + sandboxSize
	outcomeBytes = vectorBytes
)

// host assembles the harness.
type host struct {
	b      []byte
	labels map[string]uint64
	fixups map[int]string // offset of a rel32 to a label
}

func (h *host) at() uint64                { return hostText + uint64(len(h.b)) }
func (h *host) emit(b ...byte)            { h.b = append(h.b, b...) }
func (h *host) u32(v uint64)              { h.b = append(h.b, le32(uint32(v))...) }
func (h *host) label(name string)         { h.labels[name] = h.at() }
func (h *host) movImm(reg byte, v uint64) { h.emit(0xb8 | reg); h.u32(v) }
func (h *host) syscall(n uint64)          { h.movImm(rax, n); h.emit(0x0f, 0x05) }

// abs emits an instruction with an absolute 32-bit address: opcode bytes, then ModRM with reg.
func (h *host) abs(addr uint64, reg byte, op ...byte) {
	h.emit(op...)
	h.emit(reg&7<<3|4, 0x25)
	h.u32(addr)
}

// toMem and fromMem move a 64-bit register to and from an absolute address.
func (h *host) toMem(addr uint64, reg byte)   { h.abs(addr, reg, 0x48|reg>>3<<2, 0x89) }
func (h *host) fromMem(reg byte, addr uint64) { h.abs(addr, reg, 0x48|reg>>3<<2, 0x8b) }

func (h *host) branch(name string, op ...byte) {
	h.emit(op...)
	h.fixups[len(h.b)] = name
	h.u32(0)
}

// harness writes everything but the encodings. n is the number of vectors.
func harness(n int) *host {
	h := &host{labels: map[string]uint64{}, fixups: map[int]string{}}
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
	h.movImm(rdi, curAlt)
	h.emit(0x31, 0xf6)
	h.syscall(131) // sigaltstack
	for _, sig := range []uint64{4, 5, 7, 8, 11} {
		h.movImm(rdi, sig)
		h.movImm(rsi, curAct)
		h.emit(0x31, 0xd2, 0x41, 0xba, 8, 0, 0, 0)
		h.syscall(13) // rt_sigaction
	}
	for _, x := range [][2]uint64{{0x1002, fsBase}, {0x1001, gsBase}} {
		h.movImm(rdi, x[0])
		h.movImm(rsi, x[1])
		h.syscall(158) // arch_prctl
	}
}

// fsBase and gsBase lie in the sandbox.
const (
	fsBase = sandboxVA + 64
	gsBase = sandboxVA + 96
)

// load starts one vector.
func (h *host) load() {
	h.label("loop")
	h.fromMem(rbx, curIn)
	h.emit(0x48, 0x8d, 0xb3) // lea 144(%rbx),%rsi
	h.u32(144)
	h.movImm(rdi, sandboxVA)
	h.movImm(rcx, sandboxSize/8)
	h.emit(0xf3, 0x48, 0xa5) // rep movsq
	h.emit(0x48, 0x8b, 0x83) // mov 136(%rbx),%rax
	h.u32(136)
	h.toMem(curTarget, rax)
	h.emit(0x31, 0xc0)
	h.toMem(curSignal, rax)
	h.movImm(rsp, hostStack)
	h.emit(0xff, 0xb3) // push 128(%rbx)
	h.u32(128)
	h.emit(0x9d) // popf
	for _, r := range []byte{0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 3} {
		h.emit(0x48|r>>3<<2, 0x8b, 0x83|r&7<<3) // mov 8*r(%rbx),%r
		h.u32(uint64(r) * 8)
	}
	h.abs(curTarget, 4, 0xff) // jmp *target
}

// save ends one vector. Its first bytes are where encodings continue; the 64 bytes at it also serve
// as the addresses that the simulator's exceptions go to, which only their number matters of.
func (h *host) save() {
	h.label("save")
	for r := byte(0); r < 16; r++ {
		h.toMem(curSaved+uint64(r)*8, r)
	}
	h.movImm(rsp, hostStack)
	h.emit(0x9c)                   // pushf
	h.abs(curFlags, 0, 0x8f)       // pop flags
	h.emit(0x68, 2, 2, 0, 0, 0x9d) // push $0x202; popf
	h.fromMem(rdi, curOut)
	h.movImm(rsi, curSaved)
	h.movImm(rcx, 18)
	h.emit(0xf3, 0x48, 0xa5)
	h.movImm(rsi, sandboxVA)
	h.movImm(rcx, sandboxSize/8)
	h.emit(0xf3, 0x48, 0xa5)
	h.toMem(curOut, rdi)
	h.abs(curIn, 0, 0x48, 0x81) // add $vectorBytes, in
	h.u32(vectorBytes)
	h.abs(curLeft, 1, 0x48, 0xff) // dec left
	h.branch("loop", 0x0f, 0x85)
}

// finish writes the results and leaves; the signal handler follows.
func (h *host) finish(n int) {
	h.movImm(rsi, hostVectors+uint64(n)*vectorBytes)
	h.movImm(rdx, uint64(n)*outcomeBytes)
	h.label("write")
	h.movImm(rdi, 1)
	h.syscall(1)
	h.emit(0x48, 0x85, 0xc0)     // test %rax,%rax
	h.branch("exit", 0x0f, 0x8e) // jle
	h.emit(0x48, 0x01, 0xc6)     // add %rax,%rsi
	h.emit(0x48, 0x29, 0xc2)     // sub %rax,%rdx
	h.branch("write", 0x0f, 0x85)
	h.label("exit")
	h.emit(0x31, 0xff)
	h.syscall(231)
	h.label("handler")
	h.toMem(curSignal, rdi)
	h.movImm(rax, h.labels["save"])
	h.emit(0x48, 0x89, 0x82) // mov %rax,168(%rdx): rip of the context
	h.u32(168)
	h.emit(0xc3)
	h.label("restorer")
	h.syscall(15)
}

// program assembles the ELF file. text is the harness with the encodings; table holds n vectors.
func program(h *host, text, table []byte, n int) []byte {
	data := make([]byte, hostVectors-hostCurrent)
	put := func(at, v uint64) { binary.LittleEndian.PutUint64(data[at-hostCurrent:], v) }
	put(curIn, hostVectors)
	put(curOut, hostVectors+uint64(n)*vectorBytes)
	put(curLeft, uint64(n))
	put(curAlt, hostAlt)
	put(curAlt+16, 0x4000)
	put(curAct, h.labels["handler"])
	put(curAct+8, 0x4c000004) // SA_SIGINFO, RESTORER, ONSTACK, NODEFER
	put(curAct+16, h.labels["restorer"])
	data = append(data, table...)

	var b bytes.Buffer
	word := func(v ...any) {
		for _, x := range v {
			_ = binary.Write(&b, binary.LittleEndian, x) // a Buffer takes everything
		}
	}
	const head = 0x1000
	word([16]byte{0x7f, 'E', 'L', 'F', 2, 1, 1}, uint16(2), uint16(62), uint32(1), uint64(hostText), uint64(64),
		uint64(0), uint32(0), uint16(64), uint16(56), uint16(2), uint16(64), uint16(0), uint16(0))
	dataOff := uint64(head+len(text)+0xfff) &^ 0xfff
	word(uint32(1), uint32(5), uint64(head), uint64(hostText), uint64(hostText), uint64(len(text)), uint64(len(text)), uint64(0x1000))
	word(uint32(1), uint32(6), dataOff, uint64(hostCurrent), uint64(hostCurrent), uint64(len(data)),
		uint64(len(data)+n*outcomeBytes), uint64(0x1000))
	out := append(b.Bytes(), make([]byte, int(dataOff)-b.Len()+0)...)
	copy(out[head:], text)
	return append(out, data...)
}
