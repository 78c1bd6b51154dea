package attaching

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
)

// Guest is the program in the machine.
type Guest interface {
	// Machine is its instruction set.
	Machine() elf.Machine
	// Call has it make a system call, whose arguments may be addresses in the memory that goes with it. An error is a negative number,
	// and an address is none.
	Call(number uint64, args [6]uint64, m *Memory) (int64, error)
	// Memory is empty memory for a call.
	Memory() *Memory
	// ReadFile reads a file of the guest, and WriteFile adds a text to one.
	ReadFile(path string) (string, error)
	WriteFile(path, text string) error
	// File is a program or library of the guest by its path, or by a name without a slash where it lies in a usual folder. It returns
	// the path as well.
	File(name string) (path string, content []byte, err error)
	// Begins reports an error where no instruction starts so many bytes behind the start of code.
	Begins(code []byte, offset uint64) error
}

// Memory goes with a system call, which reads and writes it. Behind the call it holds what the kernel has left there.
type Memory struct {
	Base uint64 // its address in the guest
	Data []byte
}

// put lays data out and returns their address in the guest.
func (m *Memory) put(b []byte) uint64 {
	m.Data = append(m.Data, make([]byte, -len(m.Data)&7)...)
	at := m.Base + uint64(len(m.Data))
	m.Data = append(m.Data, b...)
	return at
}

// Text lays a text out with a zero behind it.
func (m *Memory) Text(s string) uint64 { return m.put(append([]byte(s), 0)) }

// at returns the bytes at an address that put has returned.
func (m *Memory) at(addr uint64) []byte { return m.Data[addr-m.Base:] }

// fields is a structure of an interface of the kernel. What is not set is zero.
type fields []byte

func (f fields) u16(at int, v uint16) { binary.LittleEndian.PutUint16(f[at:], v) }
func (f fields) u32(at int, v uint32) { binary.LittleEndian.PutUint32(f[at:], v) }
func (f fields) u64(at int, v uint64) { binary.LittleEndian.PutUint64(f[at:], v) }

// Refused is a system call that the kernel refused.
type Refused struct {
	What  string
	Errno int
	Log   string // what the verifier said, if it was asked
}

// Error implements error.
func (r *Refused) Error() string {
	text := fmt.Sprintf("the kernel refused to %s: error %s", r.What, Errno(r.Errno))
	if r.Log != "" {
		text += "; the verifier says:\n" + r.Log
	}
	return text
}

// call makes a system call, by its number on x86-64, and turns the number of an error into an error.
func call(g Guest, what string, number uint64, m *Memory, args ...uint64) (int64, error) {
	var all [6]uint64
	copy(all[:], args)
	on := machineOf(g.Machine())
	if number == callMmap && on.word < 8 {
		all[5] /= page
	}
	result, err := g.Call(on.numbers[number], all, m)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	const most = 4095 // error numbers
	if result < 0 && result >= -most {
		return 0, &Refused{What: what, Errno: int(-result)}
	}
	return result, nil
}

// bpf makes the system call bpf(2).
func bpf(g Guest, what string, command uint64, m *Memory, attr fields) (int64, error) {
	at := m.put(attr)
	return call(g, what, callBPF, m, command, at, uint64(len(attr)))
}
