//go:build linux && amd64

package x86

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"slices"
	sys "syscall"
	"testing"
	"unsafe"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// userDebugReg is where the debug registers stand in what PTRACE_POKEUSER writes (the kernel's struct user).
const userDebugReg = 848

// debugCase is a program with armed registers. Addresses are offsets: of instructions from the code's start,
// others from the data's.
type debugCase struct {
	code []byte
	regs [4]uint64
	kind [4]uint64
	dr7  uint64
}

// debugForms access memory at rbx plus a displacement of one byte, which is behind the bytes.
var debugForms = [][]byte{
	{0x8a, 0x43}, {0x8b, 0x43}, {0x66, 0x8b, 0x43}, {0x48, 0x8b, 0x43}, // loads
	{0x88, 0x43}, {0x89, 0x43}, {0x66, 0x89, 0x43}, {0x48, 0x89, 0x43}, // stores
	{0x01, 0x43}, {0x87, 0x43}, {0xff, 0x73}, {0x8f, 0x43}, {0x39, 0x43}, {0x48, 0x8d, 0x43}, {0xff, 0x43},
}

// drawDebugCase draws instructions, and a register or more on what they touch.
func drawDebugCase(rng *rand.Rand) (x debugCase) {
	var starts []uint64
	for range 24 {
		starts = append(starts, uint64(len(x.code)))
		x.code = append(append(x.code, debugForms[rng.IntN(len(debugForms))]...), byte(rng.IntN(48)))
	}
	for i := range 1 + rng.IntN(4) {
		kind := []uint64{watchExecution, watchWrites, watchAccesses}[rng.IntN(3)]
		length := []uint64{1, 2, 4, 8}[rng.IntN(4)]
		x.kind[i], x.regs[i] = kind, rng.Uint64N(56/length)*length
		if kind == watchExecution {
			length, x.regs[i] = 1, starts[rng.IntN(len(starts))]
		}
		x.dr7 |= 1<<(2*i) | (kind|map[uint64]uint64{1: 0, 2: 1, 4: 3, 8: 2}[length]<<2)<<(16+4*i)
	}
	return x
}

// address is that of a register, where code and data stand.
func (x *debugCase) address(i int, code, data uint64) uint64 {
	if x.kind[i] == watchExecution {
		return code + x.regs[i]
	}
	return data + x.regs[i]
}

// TestDebugRegistersAgainstHost runs random programs under random debug registers on the host, by ptrace, and in the
// simulator, and compares where the traps are and which registers raised them.
func TestDebugRegistersAgainstHost(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	known := departuresOf(t)
	traps := 0
	store := debugCase{code: []byte{0x88, 0x43, 0}, kind: [4]uint64{watchWrites}, dr7: 1 | watchWrites<<16}
	if some, err := store.onHost(t); err == nil && len(some) == 0 {
		hosttools.Unable(t, "comparing debug registers with the host's", "its hypervisor takes them and never tells of a watched store")
	}
	for i := range 60 {
		x := drawDebugCase(rng)
		want, err := x.onHost(t)
		if err != nil {
			hosttools.Unable(t, "comparing debug registers with the host's", err.Error())
		}
		w, c := startIn(t, ISA64(), append(append([]byte{}, x.code...), 0x0f, 0x0b)...)
		c.R[rbx], c.R[rsp] = w.at(testData), w.at(testData)+0x800
		for n := range 4 {
			c.dreg[n] = x.address(n, w.code(testCode), w.at(testData))
		}
		c.dreg[7] = x.dr7 | dr7Ones
		c.arm()
		got := x.inSimulator(w, c)
		for i := range known.known { // there is one at most
			known.note(&known.known[i], !slices.Equal(got, want))
			got = x.separate(got)
		}
		require.That(t, slices.Equal(got, want), "case %d, DR7 %#x, registers %#x, code % x:\nhost      %v\nsimulator %v", i, x.dr7, x.regs, x.code, want, got)
		traps += len(want)
	}
	require.That(t, traps >= 100, "%d traps in all cases: too few to compare anything", traps)
	known.check(t)
}

// debugTrap is where a trap is, from the code's start, and which registers raised it.
type debugTrap struct{ at, regs uint64 }

func (x debugTrap) String() string { return fmt.Sprintf("%#x:%x", x.at, x.regs) }

// separate makes two exceptions of one that reports both data and an instruction breakpoint: first the trap, then the
// fault.
func (x *debugCase) separate(traps []debugTrap) (out []debugTrap) {
	var instructions uint64
	for i, kind := range x.kind {
		if kind == watchExecution && x.dr7>>(2*i)&3 != 0 {
			instructions |= 1 << i
		}
	}
	for _, tr := range traps {
		for _, regs := range []uint64{tr.regs &^ instructions, tr.regs & instructions} {
			if regs != 0 {
				out = append(out, debugTrap{tr.at, regs})
			}
		}
	}
	return out
}

// inSimulator returns each trap as onHost does. The handler sets RF for an instruction breakpoint, as a kernel's does.
func (x *debugCase) inSimulator(w *world, c *CPU) (traps []debugTrap) {
	w.mem.Write(handlers-kernelMap+0x100, w.iret())
	for {
		tr := w.trapped(c)
		if tr.vector != vecDB {
			return traps
		}
		traps = append(traps, debugTrap{tr.rip - w.code(testCode), c.dreg[6] & 0xf})
		for i := range 4 {
			if c.dreg[6]>>i&1 != 0 && x.kind[i] == watchExecution {
				pa, _ := c.Translate(c.SP() + 16)
				w.mem.Store(binary.LittleEndian, pa, 8, tr.flags|flagRF)
			}
		}
		c.Halted, c.R[rRIP] = false, w.code(handlers)+0x100
	}
}

// onHost returns each trap.
func (x *debugCase) onHost(t *testing.T) (traps []debugTrap, err error) {
	t.Helper()
	runtime.LockOSThread() // a tracer is a thread
	defer runtime.UnlockOSThread()
	path := filepath.Join(t.TempDir(), "tracee")
	require.NoError(t, os.WriteFile(path, tracee(x.code), 0o700))
	cmd := osexec.Command(path)
	cmd.SysProcAttr = &sys.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("a traced program does not start: %w", err)
	}
	pid := cmd.Process.Pid
	defer func() {
		_ = cmd.Process.Kill()
		var status sys.WaitStatus
		_, _ = sys.Wait4(pid, &status, 0, nil)
	}()
	var status sys.WaitStatus
	var regs sys.PtraceRegs
	if _, err := sys.Wait4(pid, &status, 0, nil); err != nil {
		return nil, err
	}
	if err := sys.PtraceGetRegs(pid, &regs); err != nil {
		return nil, err
	}
	regs.Rbx, regs.Rsp, regs.Rip = traceeData, traceeData+0x800, traceeCode
	if err := sys.PtraceSetRegs(pid, &regs); err != nil {
		return nil, err
	}
	for n := range 4 {
		if x.dr7>>(2*n)&3 != 0 {
			err = pokeUser(pid, n, x.address(n, traceeCode, traceeData))
		}
		if err != nil {
			return nil, err
		}
	}
	if err := pokeUser(pid, 7, x.dr7); err != nil {
		return nil, err
	}
	for {
		if err := sys.PtraceCont(pid, 0); err != nil {
			return nil, err
		}
		if _, err := sys.Wait4(pid, &status, 0, nil); err != nil {
			return nil, err
		}
		if !status.Stopped() || status.StopSignal() != sys.SIGTRAP {
			return traps, nil // ud2 at the end
		}
		dr6, err := peekUser(pid, 6)
		if err == nil {
			err = sys.PtraceGetRegs(pid, &regs)
		}
		if err == nil {
			err = pokeUser(pid, 6, 0)
		}
		if err != nil {
			return nil, err
		}
		traps = append(traps, debugTrap{regs.Rip - traceeCode, dr6 & 0xf})
	}
}

// pokeUser and peekUser reach a debug register of the tracee.
func pokeUser(pid, n int, v uint64) error {
	_, _, e := sys.Syscall6(sys.SYS_PTRACE, sys.PTRACE_POKEUSR, uintptr(pid), uintptr(userDebugReg+8*n), uintptr(v), 0, 0)
	if e != 0 {
		return fmt.Errorf("debug register %d cannot be set: %w", n, e)
	}
	return nil
}

func peekUser(pid, n int) (uint64, error) {
	var v uint64
	_, _, e := sys.Syscall6(sys.SYS_PTRACE, sys.PTRACE_PEEKUSR, uintptr(pid), uintptr(userDebugReg+8*n), uintptr(unsafe.Pointer(&v)), 0, 0)
	if e != 0 {
		return 0, fmt.Errorf("debug register %d cannot be read: %w", n, e)
	}
	return v, nil
}

// tracee is an ELF file with the code and ud2 behind it, in one segment that may be written.
func tracee(code []byte) []byte {
	f := make([]byte, traceePage)
	copy(f, []byte{0x7f, 'E', 'L', 'F', 2, 1, 1})
	for off, v := range map[int]uint16{16: 2, 18: 62, 52: 64, 54: 56, 56: 1} {
		binary.LittleEndian.PutUint16(f[off:], v)
	}
	binary.LittleEndian.PutUint32(f[20:], 1)
	binary.LittleEndian.PutUint64(f[24:], traceeCode)
	binary.LittleEndian.PutUint64(f[32:], 64)
	binary.LittleEndian.PutUint32(f[64:], 1) // PT_LOAD
	binary.LittleEndian.PutUint32(f[68:], 7)
	binary.LittleEndian.PutUint64(f[80:], traceeText)
	binary.LittleEndian.PutUint64(f[96:], traceePage)
	binary.LittleEndian.PutUint64(f[104:], 4*traceePage)
	binary.LittleEndian.PutUint64(f[112:], traceePage)
	copy(f[traceeCode-traceeText:], append(append([]byte{}, code...), 0x0f, 0x0b))
	return f
}
