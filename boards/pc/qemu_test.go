package pc_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// access is one access of a script: a byte that is read from a port, or one that is written to it.
type access struct {
	port  uint16
	value uint8
	read  bool
}

// script lists what both machines are asked.
type script []access

func (s *script) out(pairs ...int) {
	for i := 0; i < len(pairs); i += 2 {
		*s = append(*s, access{port: uint16(pairs[i]), value: uint8(pairs[i+1])})
	}
}

func (s *script) in(ports ...uint16) {
	for _, p := range ports {
		*s = append(*s, access{port: p, read: true})
	}
}

// TestPortsAgainstQemu asks the interrupt controllers, the serial port and the memory of the clock the same on qemu's PC and
// on this one. Only what does not depend on time is asked: input 4 comes from the serial port's empty transmitter.
// A request that falls before its acknowledge is left out: qemu keeps it, which the data sheet does not.
func TestPortsAgainstQemu(t *testing.T) {
	qemu := hosttools.Need(t, "qemu-system-x86_64", "qemu-system-x86", "the ports of a PC are not compared with qemu's")
	rng := rand.New(rand.NewPCG(1, 2))
	s := setUp()
	for range 6000 {
		s.draw(rng)
	}
	want := s.onQemu(t, qemu)
	_, _, d := newLegacy(t, "ready")
	got := s.run(d)
	require.Need(t, len(got) == len(want), "qemu answers %d times, want %d", len(want), len(got))
	reads, bad := 0, 0
	for i, a := range s {
		if !a.read {
			continue
		}
		known := uint8(0xff)
		if a.port == 0x20 {
			known = 0xfe // qemu's timer may ask for input 0 once more, which is masked
		}
		if (got[reads]^want[reads])&known != 0 && bad < 10 {
			bad++
			t.Errorf("access %d, port %#x: qemu %#x, here %#x; before it %v", i, a.port, want[reads], got[reads], s[max(i-8, 0):i])
		}
		reads++
	}
	counts := map[uint8]int{}
	for _, v := range got {
		counts[v]++
	}
	require.That(t, len(counts) >= 20, "only %d different answers: %v", len(counts), counts)
}

// setUp stops the timer and initializes what the script talks to.
func setUp() (s script) {
	s.out(0x43, 0x30, 0x3fb, 3, 0x3f9, 0, 0x3fc, 8, 0x3fa, 0)
	s.out(0xa0, 0x11, 0xa1, 0x38, 0xa1, 2, 0xa1, 1, 0xa1, 0xff)
	s.out(0x20, 0x11, 0x21, 0x30, 0x21, 4, 0x21, 1, 0x21, 1)
	return s
}

// draw adds a few accesses.
func (s *script) draw(rng *rand.Rand) {
	v := rng.IntN(256)
	switch rng.IntN(12) {
	case 0:
		s.out(0x3f9, 0, 0x3f9, 2) // input 4 falls and rises
	case 1:
		s.out(0x21, v&rng.IntN(256)|1)
	case 2, 3:
		s.out(0x20, v&0xe7)
	case 4:
		s.out(0x20, 0x08|v&0x60|[]int{0, 2, 3}[rng.IntN(3)])
	case 5:
		s.out(0x20, 0x0c)
		s.in(0x20)
	case 6, 7:
		s.in(0x20, 0x21)
	case 8:
		s.out(0x3ff, v, 0x3fb, v&0x7f)
		s.in(0x3ff, 0x3fb, 0x3fc, 0x3fd)
	case 9:
		s.out(0x3fb, 0x83, 0x3f8, v, 0x3f9, v^0x55)
		s.in(0x3f8, 0x3f9)
		s.out(0x3fb, 3)
		s.in(0x3f9)
	case 10:
		s.out(0x21, 1, 0x20, 0x48, 0x20, 0x64, 0x20, 0x0c) // takes what input 4 asks for before it falls
		s.in(0x20)
		s.out(0x20, 0x64, 0x3f9, 0, 0x3fa, v&1, 0x3fc, 0x18|v&7)
		s.in(0x3fa)
		if v&8 == 0 {
			s.out(0x3f8, v)
			s.in(0x3fd, 0x3f8, 0x3fd)
		}
		s.out(0x3fc, 8)
	case 11:
		s.out(0x70, 0x40|v&0x3f, 0x71, v^0x3c)
		s.in(0x71, 0x64+0x100, 0x3e8)
	}
}

// run asks a device.
func (s script) run(d cpus.Device) (out []uint8) {
	for _, a := range s {
		if a.read {
			out = append(out, uint8(d.Load(uint64(a.port), 1)))
		} else {
			d.Store(uint64(a.port), 1, uint64(a.value))
		}
	}
	return out
}

// Places of the program for qemu, and ports of qemu's own: one whose bytes go to a file, one that ends the machine.
const (
	programAt  = 0x100000
	headBytes  = 32
	scriptAt   = programAt + 0x100
	fileBytes  = 0x200000
	doneStatus = 1
)

// onQemu runs the script by a program of 32-bit code that qemu loads by the Multiboot specification 0.6.96. Each access is a
// word: port, value, and 1 for a write or 2 for a read.
func (s script) onQemu(t *testing.T, qemu string) []byte {
	t.Helper()
	code := []byte{
		0xbe, 0, 0, 0, 0, // mov $script,%esi
		0xad, 0x89, 0xc1, 0xc1, 0xe9, 24, // next: lods; mov %eax,%ecx; shr $24,%ecx
		0xe3, 18, // jecxz done
		0x0f, 0xb7, 0xd0, 0xc1, 0xe8, 16, // movzwl %ax,%edx; shr $16,%eax
		0x49, 0x75, 3, // dec %ecx; jnz read
		0xee, 0xeb, 0xec, // out %al,(%dx); jmp next
		0xec, 0xe6, 0xe9, 0xeb, 0xe7, 0x90, // read: in (%dx),%al; out %al,$0xe9; jmp next
		0x31, 0xc0, 0xe6, 0xf4, // done: xor %eax,%eax; out %al,$0xf4
	}
	binary.LittleEndian.PutUint32(code[1:], scriptAt)
	const magic, flags = 0x1badb002, 1 << 16 // the addresses are in the header
	image := make([]byte, scriptAt-programAt)
	for i, v := range []uint32{magic, flags, 1<<32 - magic - flags, programAt, programAt, 0, programAt + fileBytes, programAt + headBytes} {
		binary.LittleEndian.PutUint32(image[4*i:], v)
	}
	copy(image[headBytes:], code)
	for _, a := range append(slices.Clone(s), access{}) {
		w := uint32(a.port) | uint32(a.value)<<16 | 1<<24
		switch {
		case a == access{}:
			w = 0
		case a.read:
			w += 1 << 24
		}
		image = binary.LittleEndian.AppendUint32(image, w)
	}
	dir := t.TempDir()
	kernel, answers := filepath.Join(dir, "ports.bin"), filepath.Join(dir, "answers")
	require.NoError(t, os.WriteFile(kernel, image, 0o600))
	cmd := exec.CommandContext(t.Context(), qemu, "-machine", "pc,accel=tcg", "-m", "64", "-display", "none", "-serial", "null", "-no-reboot",
		"-debugcon", "file:"+answers, "-device", "isa-debug-exit,iobase=0xf4", "-kernel", kernel)
	var text bytes.Buffer
	cmd.Stderr = &text
	var exit *exec.ExitError
	err := cmd.Run()
	require.Need(t, errors.As(err, &exit) && exit.ExitCode() == doneStatus, "qemu ends with %v: %s", err, text.String())
	got := require.Must(os.ReadFile(answers))(t)
	// what firmware wrote to the same port stands before
	n := 0
	for _, a := range s {
		n += map[bool]int{true: 1}[a.read]
	}
	return got[max(len(got)-n, 0):]
}
