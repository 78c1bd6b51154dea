//go:build linux && amd64

package x86

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"strings"
	sys "syscall"
	"testing"
	"unsafe"

	"golang.org/x/arch/x86/x86asm"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// apart are operations whose results are the host's own: its kernel, its selectors, its clock, its identity.
func apart(x x86asm.Inst) bool {
	name := x.Op.String()
	for _, p := range []string{
		"SYS", "INT", "LAR", "LSL", "VER", "LCALL", "LJMP", "LRET", "IRET", "RDTSC", "RDPMC", "CPUID", "SGDT", "SIDT", "SLDT", "STR", "SMSW",
		"FX", "RCP", "RSQRT", "LDS", "LES", "LFS", "LGS", "LSS", "XGET",
		"XSAVE", "XRSTOR", // whose components are more on the host; TestAreaAgainstHost has them
		"POPF", // sets ID, which a tracer cannot set back
	} {
		if strings.HasPrefix(name, p) && !strings.HasPrefix(name, "INTO") {
			return true
		}
	}
	if (x.Op == x86asm.SHLD || x.Op == x86asm.SHRD) && x.DataSize == 16 || x.Op == x86asm.LZCNT || x.Op == x86asm.TZCNT {
		return true // undefined beyond 16 bits; on the host not what they are on the model
	}
	for _, a := range x.Args {
		if r, ok := a.(x86asm.Reg); ok && r >= x86asm.ES && r <= x86asm.GS && x.Op != x86asm.PUSH {
			return true
		}
	}
	return false
}

// undefinedBehind are the flags that an operation leaves undefined, at most.
func undefinedBehind(op x86asm.Op) uint64 {
	switch op {
	case x86asm.AND, x86asm.OR, x86asm.XOR, x86asm.TEST:
		return undefLogic
	case x86asm.MUL, x86asm.IMUL:
		return undefMul
	case x86asm.DIV, x86asm.IDIV:
		return arith
	case x86asm.BSF, x86asm.BSR:
		return undefScan
	case x86asm.DAA, x86asm.DAS:
		return flagOF
	case x86asm.AAA, x86asm.AAS:
		return flagOF | flagSF | flagZF | flagPF
	case x86asm.AAM, x86asm.AAD:
		return flagOF | flagAF | flagCF
	case x86asm.BT, x86asm.BTS, x86asm.BTR, x86asm.BTC:
		return undefBit
	case x86asm.SHL, x86asm.SHR, x86asm.SAR, x86asm.SHLD, x86asm.SHRD, x86asm.ROL, x86asm.ROR, x86asm.RCL, x86asm.RCR:
		return flagOF | flagAF | flagCF
	}
	return 0
}

// hostSteps and hostSeed let a search by hand be longer than the test, and another one.
var (
	hostSteps = flag.Int("host-steps", 40_000, "random instructions that are compared with the host's processor in each mode")
	hostSeed  = flag.Uint64("host-seed", 8, "what the random instructions are drawn by")
)

// TestRandomBytesAgainstHost steps the host's processor and the simulator over random bytes, one instruction at a time, and
// compares registers, flags, memory and faults. What the model refuses is counted and left out, but where the host
// finds no instruction the model must find none.
func TestRandomBytesAgainstHost(t *testing.T) {
	if v := hostVendor(); v != vendorIntel && v != vendorAMD {
		hosttools.Unable(t, "comparing random bytes with the host's processor", fmt.Sprintf("nothing is known of the departures of vendor %q", v))
	}
	departing, whole := departuresOf(t), true
	for _, bits := range []int{64, 32} {
		t.Run(fmt.Sprintf("%d bits", bits), func(t *testing.T) {
			h, err := newStepped(t, bits)
			if err != nil {
				whole = false
				hosttools.Unable(t, "comparing random bytes with the host's processor", err.Error())
			}
			compareSteps(t, h, bits, departing)
		})
	}
	if whole {
		departing.check(t)
	}
}

// stepComparison compares steps in one mode, and counts them.
type stepComparison struct {
	*testing.T
	host      *stepped
	sim       *stepSim
	departing *departures

	compared, refused, completed int
}

// compareSteps is TestRandomBytesAgainstHost in one mode.
func compareSteps(t *testing.T, h *stepped, bits int, departing *departures) {
	x := stepComparison{T: t, host: h, sim: newStepSim(t, bits), departing: departing}
	for _, e := range append(edges64, edges32...) {
		if e.bits == bits {
			x.compare(e.name, e.bytes(), e.from())
		}
	}
	rng := rand.New(rand.NewPCG(14, *hostSeed))
	n := *hostSteps
	switch {
	case testing.Short():
		n /= 10
	case !hosttools.Whole(t, "random instructions beside the host's, in full number", "a sixth of them"):
		n /= 6
	}
	for i := range n {
		code := drawBytes(rng, bits)
		if rare := rareBytes[bits]; i < 16*len(rare) {
			code = append(append([]byte{}, rare[i/16]...), code...)[:16]
		}
		if in, known := disassemble(code, bits); !known || !apart(in) {
			x.compare(fmt.Sprintf("case %d", i), code, drawStep(rng, bits))
		}
	}
	t.Logf("%d compared, of which %d completed; %d refused by the model", x.compared, x.completed, x.refused)
	require.That(t, x.completed >= n/8, "%d of %d completed: too few to compare anything", x.completed, n)
}

// compare steps host and simulator.
func (x *stepComparison) compare(name string, code []byte, from *stepState) {
	bits := x.host.bits
	x.host.fit(from)
	in, known := disassemble(code, bits)
	got := x.sim.step(code, from)
	refuses := got.signal == sys.SIGILL && x.sim.refuses(code)
	if refuses && !lacksForm(in, known) {
		x.refused++
		return
	}
	want, err := x.host.step(code, from)
	if err != nil {
		x.Fatalf("%s, % x: %v", name, code, err)
	}
	x.compared++
	if want.signal == sys.SIGTRAP {
		x.completed++
	}
	if d, other := x.departing.of(code, bits); d != nil {
		x.departing.note(d, stepDifference(want, got, undefinedBehind(in.Op)) != "")
		if other == nil {
			return
		}
		code = other
		in, _ = disassemble(code, bits)
		got = x.sim.step(code, from)
	}
	if refuses && want.signal != sys.SIGILL {
		x.Errorf("%s, % x (%v): the model lacks a form of an instruction that it has", name, code, in)
		return
	}
	for _, d := range x.departing.adapting(code, bits) {
		before := stepDifference(want, got, undefinedBehind(in.Op))
		d.adapt(from, want, got)
		x.departing.note(d, stepDifference(want, got, undefinedBehind(in.Op)) != before)
	}
	if in.AddrSize < bits && want.signal == sys.SIGSEGV {
		clearUpper(in.AddrSize, want, got) // of the pointers of strings, which processors may have cut off by then
	}
	if imageOfX87(in.Op) {
		want.addr, got.addr = want.addr&^0xfff, got.addr&^0xfff // which part of an image is reached first is the processor's
	}
	if d := stepDifference(want, got, undefinedBehind(in.Op)); d != "" {
		x.Errorf("%s, % x (%v)\n  from %#x, flags %#x\n%s", name, code, in, from.regs, from.flags, d)
	}
}

// lacksForm reports an instruction that has a row: the model knows it, though not in the form that was drawn. Most of x87,
// branches of 32-bit mode to addresses of 16 bits and clflushopt are lacking on purpose.
func lacksForm(x x86asm.Inst, known bool) bool {
	r, has := rows[x.Op]
	if x.Mode == 32 && x.DataSize == 16 && plainEnd(r.class) || x.Op == x86asm.CLFLUSH {
		return false
	}
	return known && has && x.Opcode>>24&0xf8 != 0xd8
}

// imageOfX87 recognizes what reads or writes the environment of x87, or its whole state.
func imageOfX87(op x86asm.Op) bool {
	return op == x86asm.FLDENV || op == x86asm.FNSTENV || op == x86asm.FNSAVE || op == x86asm.FRSTOR
}

// clearUpper cuts the pointers of strings off to some bits.
func clearUpper(bits int, states ...*stepState) {
	for _, s := range states {
		s.regs[rsi] &= 1<<bits - 1
		s.regs[rdi] &= 1<<bits - 1
	}
}

// stepped is the host's side: a program that is traced.
type stepped struct {
	pid  int
	bits int
	mem  *os.File
	// canonical says that the stack pointer must be an address in canonical form, or the program gets a general protection exception in
	// front of any instruction. Hosts are so whose hypervisor returns to user mode in the place of the processor.
	canonical bool
}

func newStepped(t *testing.T, bits int) (*stepped, error) {
	t.Helper()
	runtime.LockOSThread() // a tracer is a thread
	path := filepath.Join(t.TempDir(), "tracee")
	if err := os.WriteFile(path, traceeOf(bits), 0o700); err != nil {
		return nil, err
	}
	cmd := osexec.Command(path)
	cmd.SysProcAttr = &sys.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("a traced program does not start: %w", err)
	}
	h := &stepped{pid: cmd.Process.Pid, bits: bits}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		var status sys.WaitStatus
		_, _ = sys.Wait4(h.pid, &status, 0, nil)
		runtime.UnlockOSThread()
	})
	var status sys.WaitStatus
	if _, err := sys.Wait4(h.pid, &status, 0, nil); err != nil {
		return nil, err
	}
	var err error
	h.mem, err = os.OpenFile(fmt.Sprintf("/proc/%d/mem", h.pid), os.O_RDWR, 0)
	if err == nil && bits == 32 {
		err = h.isolate()
	}
	if err == nil && bits == 64 {
		h.canonical, err = h.needsCanonical()
	}
	if h.canonical {
		hosttools.Partly(t, "instructions with a stack pointer in no canonical form, or with RF, beside the host's", "its hypervisor lets no program have them")
	}
	return h, err
}

// needsCanonical tries a nop.
func (h *stepped) needsCanonical() (bool, error) {
	x := &stepState{rip: traceeCode, flags: 0x202, mem: make([]byte, stepBytes), mxcsr: mxcsrReset, x87: x87State{control: fcwReset}}
	x.regs[rsp] = 1 << 62
	out, err := h.step([]byte{0x90}, x)
	return err == nil && out.signal == sys.SIGSEGV, err
}

// fit gives a state a stack pointer that the host can have. Such a hypervisor also loses RF.
func (h *stepped) fit(from *stepState) {
	if h.canonical {
		from.regs[rsp] = signed48(from.regs[rsp])
		from.flags &^= flagRF
	}
}

// isolate gives a program of 32 bits its segments, and takes away all memory behind its own, to which a random address
// could point.
func (h *stepped) isolate() error {
	for i, d := range stepSegments {
		at := [4]uint32{uint32(userFS/8 + i), uint32(d.base), uint32(d.limit), 0x41 | uint32(d.kind>>2&1)<<1}
		if err := h.ptrace(setThreadArea, uintptr(at[0]), unsafe.Pointer(&at)); err != nil {
			return fmt.Errorf("a segment of the traced program cannot be set: %w", err)
		}
	}
	unmap := &stepState{rip: traceeCode, flags: 0x202, mem: make([]byte, stepBytes), mxcsr: mxcsrReset, x87: x87State{control: fcwReset}}
	unmap.regs[rax], unmap.regs[rbx], unmap.regs[rcx] = 91, stepEnds, 0xffffe000-stepEnds
	out, err := h.step([]byte{0xcd, 0x80}, unmap)
	if err == nil && out.regs[rax] != 0 {
		err = fmt.Errorf("munmap: %w", sys.Errno(-int32(out.regs[rax])))
	}
	return err
}

// traceeOf is tracee without code, for a mode.
func traceeOf(bits int) []byte {
	f := tracee(nil)
	if bits == 64 {
		return f
	}
	a := abi{bits: 32, machine: 3}
	copy(f, make([]byte, traceeCode-traceeText))
	copy(f, a.header([]segmentHeader{{1, 7, 0, traceeText, traceePage, 4 * traceePage}}))
	binary.LittleEndian.PutUint32(f[24:], traceeCode)
	return f
}

// The part of fxsave's image with the vector registers, and ptrace's requests for the image and for a signal's cause.
const (
	fxImage    = 512
	fxVectors  = 160
	getFPRegs  = 14
	setFPRegs  = 15
	getSigInfo = 0x4202
	// of a program of 32 bits
	setThreadArea = 26
)

// ptrace makes a request. Those for registers are the tracer's, 64 bits wide whatever the mode of the program is, as
// constants of package syscall are not.
func (h *stepped) ptrace(request int, addr uintptr, at unsafe.Pointer) error {
	if _, _, e := sys.Syscall6(sys.SYS_PTRACE, uintptr(request), uintptr(h.pid), addr, uintptr(at), 0, 0); e != 0 {
		return e
	}
	return nil
}

// step executes one instruction, from a state that fits.
func (h *stepped) step(code []byte, from *stepState) (*stepState, error) {
	h.fit(from)
	if err := h.prepare(code, from); err != nil {
		return nil, err
	}
	if err := sys.PtraceSingleStep(h.pid); err != nil {
		return nil, err
	}
	var status sys.WaitStatus
	if _, err := sys.Wait4(h.pid, &status, 0, nil); err != nil {
		return nil, err
	}
	if !status.Stopped() {
		return nil, fmt.Errorf("the traced program ended: %v", status)
	}
	out := &stepState{signal: status.StopSignal(), mem: make([]byte, stepBytes)}
	var regs sys.PtraceRegs
	var fx [fxImage]byte
	if err := h.ptrace(sys.PTRACE_GETREGS, 0, unsafe.Pointer(&regs)); err != nil {
		return nil, err
	}
	if err := h.ptrace(getFPRegs, 0, unsafe.Pointer(&fx)); err != nil {
		return nil, err
	}
	for i, p := range registersOf(&regs) {
		out.regs[i] = *p
	}
	for i := range out.xmm {
		at := fxVectors + 16*i
		out.xmm[i] = vec{binary.LittleEndian.Uint64(fx[at:]), binary.LittleEndian.Uint64(fx[at+8:])}
	}
	out.x87 = x87State{control: binary.LittleEndian.Uint16(fx[:]), status: binary.LittleEndian.Uint16(fx[2:]), tags: fx[4]}
	for i := range out.x87.st {
		out.x87.st[i] = vec{binary.LittleEndian.Uint64(fx[32+16*i:]), uint64(binary.LittleEndian.Uint16(fx[40+16*i:]))}
	}
	out.rip, out.flags, out.mxcsr = regs.Rip, regs.Eflags, binary.LittleEndian.Uint32(fx[24:])
	if out.signal == sys.SIGSEGV {
		var info [16]uint64
		if err := h.ptrace(getSigInfo, 0, unsafe.Pointer(&info)); err != nil {
			return nil, err
		}
		if code := int32(info[1]); code == 1 || code == 2 { // not mapped, not permitted
			out.addr = info[2]
		}
	}
	_, err := h.mem.ReadAt(out.mem, traceeData)
	return out, err
}

// prepare gives the program its state. A null memory image would lose what the kernel keeps beside the registers, so the
// image is read before.
func (h *stepped) prepare(code []byte, from *stepState) error {
	if _, err := h.mem.WriteAt(from.mem, traceeData); err != nil {
		return err
	}
	if _, err := h.mem.WriteAt(code, traceeCode); err != nil {
		return err
	}
	var regs sys.PtraceRegs
	if err := h.ptrace(sys.PTRACE_GETREGS, 0, unsafe.Pointer(&regs)); err != nil {
		return err
	}
	for i, p := range registersOf(&regs) {
		*p = from.regs[i]
	}
	regs.Rip, regs.Eflags, regs.Orig_rax = from.rip, from.flags, ^uint64(0)
	if h.bits == 32 {
		regs.Fs, regs.Gs, regs.Fs_base, regs.Gs_base = userFS, userGS, stepSegments[0].base, stepSegments[1].base
	}
	if err := h.ptrace(sys.PTRACE_SETREGS, 0, unsafe.Pointer(&regs)); err != nil {
		return err
	}
	var fx [fxImage]byte
	binary.LittleEndian.PutUint16(fx[:], from.x87.control)
	binary.LittleEndian.PutUint16(fx[2:], from.x87.status)
	fx[4] = from.x87.tags
	for i, v := range from.x87.st {
		binary.LittleEndian.PutUint64(fx[32+16*i:], v[0])
		binary.LittleEndian.PutUint16(fx[40+16*i:], uint16(v[1]))
	}
	binary.LittleEndian.PutUint32(fx[24:], from.mxcsr)
	for i, v := range from.xmm {
		at := fxVectors + 16*i
		binary.LittleEndian.PutUint64(fx[at:], v[0])
		binary.LittleEndian.PutUint64(fx[at+8:], v[1])
	}
	return h.ptrace(setFPRegs, 0, unsafe.Pointer(&fx))
}

// registersOf names the registers by their number.
func registersOf(r *sys.PtraceRegs) [16]*uint64 {
	return [...]*uint64{
		&r.Rax, &r.Rcx, &r.Rdx, &r.Rbx, &r.Rsp, &r.Rbp, &r.Rsi, &r.Rdi, &r.R8, &r.R9, &r.R10, &r.R11, &r.R12, &r.R13, &r.R14, &r.R15,
	}
}
