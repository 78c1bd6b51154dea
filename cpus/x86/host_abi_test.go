package x86

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
)

// Places in abi.numbers.
const (
	sysAltStack = iota
	sysAction
	sysWrite
	sysExit
	sysReturn
)

// abi holds the facts of Linux in one mode that the program needs.
type abi struct {
	bits    int
	isa     *cpus.ISA
	machine uint16    // of the ELF header
	numbers [5]uint64 // of the system calls
	trap    []byte    // the instruction that makes one
	params  [3]byte   // registers of their parameters
	eight   []byte    // puts 8 into the fourth
	bases   func(h *host)
	handler func(h *host)
}

func abis() []abi {
	return []abi{
		{
			bits: 64, isa: ISA64(), machine: 62, numbers: [5]uint64{131, 13, 1, 231, 15}, trap: []byte{0x0f, 0x05},
			params: [3]byte{rdi, rsi, rdx}, eight: []byte{0x41, 0xba, 8, 0, 0, 0}, bases: bases64, handler: handler64,
		},
		{
			bits: 32, isa: isaPAE(), machine: 3, numbers: [5]uint64{186, 174, 4, 252, 173}, trap: []byte{0xcd, 0x80},
			params: [3]byte{rbx, rcx, rdx}, eight: []byte{0xbe, 8, 0, 0, 0}, bases: bases32, handler: handler32,
		},
	}
}

// fsBase and gsBase lie in the sandbox. In 32-bit mode gs ends behind gsLimit.
const (
	fsBase  = sandboxVA + 64
	gsBase  = sandboxVA + 96
	gsLimit = 0x4f
)

func bases64(h *host) {
	for _, x := range [][2]uint64{{0x1002, fsBase}, {0x1001, gsBase}} {
		h.movImm(rdi, x[0])
		h.movImm(rsi, x[1])
		h.movImm(rax, 158) // arch_prctl
		h.emit(h.trap...)
	}
}

func bases32(h *host) {
	for i, sreg := range []byte{4, 5} {
		at := uint64(curTLS + 16*i)
		h.movImm(rbx, at)
		h.movImm(rax, 243) // set_thread_area
		h.emit(h.trap...)
		h.fromMem(rax, at)
		h.emit(0x8d, 0x04, 0xc5, 3, 0, 0, 0, 0x8e, 0xc0|sreg<<3) // lea 3(,%eax,8),%eax; mov %eax,%sreg
	}
}

// handler64 and handler32 note the signal and go on at "save".

func handler64(h *host) {
	h.toMem(curSignal, rdi)
	for i, at := range []uint64{200, 192, 216, 168} { // trapno, err, cr2, rip of the context
		h.emit(0x48, 0x8b, 0x82) // mov at(%rdx),%rax
		h.u32(at)
		h.toMem(curTrap+8*uint64(i), rax)
	}
	h.movImm(rax, h.labels["save"])
	h.emit(0x48, 0x89, 0x82) // mov %rax,168(%rdx): rip of the context
	h.u32(168)
	h.emit(0xc3)
}

func handler32(h *host) {
	h.emit(0x8b, 0x44, 0x24, 4) // mov 4(%esp),%eax
	h.toMem(curSignal, rax)
	h.emit(0x8b, 0x54, 0x24, 12) // mov 12(%esp),%edx
	for i, at := range []uint64{68, 72, 104, 76} {
		h.emit(0x8b, 0x82) // mov at(%edx),%eax
		h.u32(at)
		h.toMem(curTrap+8*uint64(i), rax)
	}
	for _, at := range []uint64{28, 32} { // es and ds, which may be null
		h.emit(0xc7, 0x82) // movl $userDS,at(%edx)
		h.u32(at)
		h.u32(userDS)
	}
	h.movImm(rax, h.labels["save"])
	h.emit(0x89, 0x82) // mov %eax,76(%edx): eip of the context
	h.u32(76)
	h.emit(0xc3)
}

// elfHead is where the text begins in the file.
const elfHead = 0x1000

// segmentHeader is a program header without its alignment.
type segmentHeader struct {
	kind, flags            uint32
	offset, va, file, size uint64
}

// header is the ELF header with the program headers.
func (a *abi) header(segments []segmentHeader) []byte {
	var b bytes.Buffer
	put := func(v ...any) {
		for _, x := range v {
			if u, ok := x.(uint64); ok && a.bits == 32 {
				x = uint32(u)
			}
			_ = binary.Write(&b, binary.LittleEndian, x) // a Buffer takes everything
		}
	}
	class, head, entry := byte(2), uint64(64), uint16(56)
	if a.bits == 32 {
		class, head, entry = 1, 52, 32
	}
	put([16]byte{0x7f, 'E', 'L', 'F', class, 1, 1}, uint16(2), a.machine, uint32(1), uint64(hostText), head,
		uint64(0), uint32(0), uint16(head), entry, uint16(len(segments)), uint16(64), uint16(0), uint16(0))
	for _, s := range segments {
		if put(s.kind); a.bits == 64 {
			put(s.flags)
		}
		if put(s.offset, s.va, s.va, s.file, s.size); a.bits == 32 {
			put(s.flags)
		}
		put(uint64(0x1000))
	}
	return b.Bytes()
}

// runs tries a program that does nothing: the host may not allow its execution, or lack the mode.
func (a *abi) runs(t *testing.T) error {
	h := harness(0, *a)
	text := append([]byte{}, h.b...)
	copy(text, jump32(hostText, h.labels["exit"]))
	path := filepath.Join(t.TempDir(), "nothing")
	require.NoError(t, os.WriteFile(path, program(h, text, nil, 0), 0o700))
	if err := osexec.Command(path).Run(); err != nil {
		return fmt.Errorf("a program of %d bits in %s cannot be executed: %w", a.bits, filepath.Dir(path), err)
	}
	return nil
}
