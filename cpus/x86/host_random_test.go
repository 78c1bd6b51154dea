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
	"strings"
	sys "syscall"
	"testing"
	"unsafe"

	"golang.org/x/arch/x86/x86asm"

	"kprobesim/cpus"
	"kprobesim/cpus/engine"
	"kprobesim/internal/hosttools"
)

// The tracee's last two pages are the data of a step. What is called here is behind them, for the simulator alone.
const (
	stepBytes = 2 * traceePage
	stepEnds  = 0x500000
)

// stepState is what an instruction starts from, and what it leaves.
type stepState struct {
	regs   [16]uint64
	rip    uint64
	flags  uint64
	xmm    [16]vec
	mem    []byte
	signal sys.Signal // SIGTRAP behind an instruction that completed
	addr   uint64     // of a page fault
}

// drawStep draws registers that point into the data more often than not.
func drawStep(rng *rand.Rand) *stepState {
	s := &stepState{rip: traceeCode, flags: rng.Uint64()&(arith|flagDF) | 0x202, mem: make([]byte, stepBytes)}
	for i := range s.regs {
		switch rng.IntN(8) {
		case 0:
			s.regs[i] = rng.Uint64()
		case 1:
			s.regs[i] = rng.Uint64N(64)
		default:
			s.regs[i] = traceeData + 0x200 + rng.Uint64N(stepBytes-0x400)
		}
	}
	s.regs[rcx] &= 0xffff // of rep
	if rng.IntN(4) > 0 {
		s.regs[rsp] &^= 7
	}
	for i := range s.xmm {
		s.xmm[i] = vec{rng.Uint64(), rng.Uint64()}
	}
	for i := 0; i < stepBytes; i += 8 {
		binary.LittleEndian.PutUint64(s.mem[i:], rng.Uint64())
	}
	return s
}

// drawBytes draws an instruction: prefixes now and then, any opcode, any operands.
func drawBytes(rng *rand.Rand) []byte {
	var code []byte
	for rng.IntN(3) == 0 && len(code) < 4 {
		code = append(code, []byte{0x66, 0x67, 0xf0, 0xf2, 0xf3, 0x2e, 0x64, 0x65, 0x40 | byte(rng.IntN(16))}[rng.IntN(9)])
	}
	if rng.IntN(2) == 0 {
		code = append(code, 0x40|byte(rng.IntN(16)))
	}
	if rng.IntN(3) == 0 {
		code = append(code, 0x0f)
	}
	for len(code) < 16 {
		code = append(code, byte(rng.Uint32()))
	}
	return code
}

// rareBytes begin instructions that the model once had wrong and random bytes seldom are: hints with REX, branches to
// addresses that are not canonical, prefixes that choose an instruction of which there is none.
var rareBytes = [][]byte{
	{0x4d, 0x0f, 0x1c},
	{0x4a, 0x0f, 0x1f},
	{0xf3, 0x48, 0x0f, 0x1a},
	{0x4d, 0x0f, 0x0d},
	{0x4f, 0x0f, 0x1e},
	{0x48, 0xc3},
	{0xc2},
	{0x41, 0xff, 0xd1},
	{0x66, 0x0f, 0xc3},
	{0xf2, 0x48, 0x0f, 0xc3},
	{0x66, 0x0f, 0x16, 0xcb},
	{0x66, 0x48, 0x0f, 0x12, 0xd3},
	{0xf3, 0x0f, 0xae, 0xe8},
	{0x66, 0x0f, 0xae, 0xe8},
	{0xf2, 0x0f, 0xae, 0x12},
	{0x66, 0x0f, 0xae, 0x5e},
	{0xf3, 0x0f, 0xae, 0x38},
	{0xf2, 0x0f, 0xae, 0xf0},
	{0xf3, 0x41, 0x90},
	{0x66, 0xf2, 0xe1},
	{0xf3, 0xe0},
	{0xf2, 0xe1},
	{0x66, 0x74},
	{0xff, 0x13},
	{0xf1},
}

// apart are operations whose results are the host's own: its kernel, its selectors, its clock, its identity.
func apart(x x86asm.Inst) bool {
	name := x.Op.String()
	for _, p := range []string{
		"SYS", "INT", "LAR", "LSL", "VER", "LCALL", "LJMP", "LRET", "IRET", "RDTSC", "RDPMC", "CPUID", "SGDT", "SIDT", "SLDT", "STR", "SMSW",
		"FX", "LFS", "LGS", "LSS", "XGET", "BSWAP",
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
		if r, ok := a.(x86asm.Reg); ok && r >= x86asm.ES && r <= x86asm.GS {
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
	case x86asm.BT, x86asm.BTS, x86asm.BTR, x86asm.BTC:
		return undefBit
	case x86asm.SHL, x86asm.SHR, x86asm.SAR, x86asm.SHLD, x86asm.SHRD, x86asm.ROL, x86asm.ROR, x86asm.RCL, x86asm.RCR:
		return flagOF | flagAF | flagCF
	}
	return 0
}

// TestRandomBytesAgainstHost steps the host's processor and the simulator over random bytes, one instruction at a time, and
// compares registers, flags, memory and faults. What the model refuses is counted and left out, but where the host
// finds no instruction the model must find none.
func TestRandomBytesAgainstHost(t *testing.T) {
	if v := hostVendor(); v != vendorIntel && v != vendorAMD {
		hosttools.Unable(t, "comparing random bytes with the host's processor", fmt.Sprintf("nothing is known of the departures of vendor %q", v))
	}
	departing := departuresOf(t)
	h, err := newStepped(t)
	if err != nil {
		hosttools.Unable(t, "comparing random bytes with the host's processor", err.Error())
	}
	sim := newStepSim(t)
	rng := rand.New(rand.NewPCG(14, 8))
	n, compared, refused, completed := 40_000, 0, 0, 0
	if testing.Short() {
		n = 4_000
	}
	for i := range n {
		code := drawBytes(rng)
		if i < 4*len(rareBytes) {
			code = append(append([]byte{}, rareBytes[i/4]...), code...)[:16]
		}
		x, known := disassemble(code, 64)
		if known && apart(x) {
			continue
		}
		from := drawStep(rng)
		got := sim.step(code, from)
		if got.signal == sys.SIGILL && sim.refuses(code) {
			refused++
			continue
		}
		want, err := h.step(code, from)
		if err != nil {
			t.Fatalf("case %d, % x: %v", i, code, err)
		}
		compared++
		if want.signal == sys.SIGTRAP {
			completed++
		}
		if d, other := departing.of(code, 64); d != nil {
			departing.note(d, stepDifference(want, got, undefinedBehind(x.Op)) != "")
			if other == nil {
				continue
			}
			code = other
			x, _ = disassemble(code, 64)
			got = sim.step(code, from)
			if d.unwritten && got.signal == sys.SIGSEGV && got.addr == 0 {
				got.mem = from.mem
			}
		}
		if strings.HasPrefix(x.Op.String(), "CMPS") && want.signal == sys.SIGSEGV {
			got.addr = want.addr // nobody says which operand is read first
		}
		if want.signal == sys.SIGTRAP && want.rip == traceeCode {
			from.flags, got.flags = want.flags, want.flags // nobody says what they are in the middle of a repetition
		}
		if x.AddrSize == 32 && want.signal == sys.SIGSEGV {
			clearUpper(want, got) // of the pointers of strings, which processors may have cut off by then
		}
		if d := stepDifference(want, got, undefinedBehind(x.Op)); d != "" {
			t.Errorf("case %d, % x (%v)\n  from %#x, flags %#x\n%s", i, code, x, from.regs, from.flags, d)
		}
	}
	t.Logf("%d compared, of which %d completed; %d refused by the model", compared, completed, refused)
	if completed < n/8 {
		t.Errorf("%d of %d completed: too few to compare anything", completed, n)
	}
	departing.check(t)
}

// clearUpper cuts the pointers of strings off to 32 bits.
func clearUpper(states ...*stepState) {
	for _, s := range states {
		s.regs[rsi] &= 1<<32 - 1
		s.regs[rdi] &= 1<<32 - 1
	}
}

// stepDifference says in what the two differ.
func stepDifference(want, got *stepState, undefined uint64) string {
	var s []string
	if want.signal != got.signal || want.addr != got.addr {
		s = append(s, fmt.Sprintf("  host %v at %#x, simulator %v at %#x", want.signal, want.addr, got.signal, got.addr))
	}
	if want.rip != got.rip {
		s = append(s, fmt.Sprintf("  rip: host %#x, simulator %#x", want.rip, got.rip))
	}
	for i := range want.regs {
		if want.regs[i] != got.regs[i] {
			s = append(s, fmt.Sprintf("  %s: host %#x, simulator %#x", regNames[i], want.regs[i], got.regs[i]))
		}
	}
	if want.signal != sys.SIGTRAP {
		undefined |= arith // a fault restarts, and of a division it leaves them undefined
	}
	if x := (want.flags ^ got.flags) & (arith | flagDF) &^ undefined; x != 0 {
		s = append(s, fmt.Sprintf("  flags: host %#x, simulator %#x", want.flags, got.flags))
	}
	for i := range want.xmm {
		if want.xmm[i] != got.xmm[i] {
			s = append(s, fmt.Sprintf("  xmm%d: host %#x, simulator %#x", i, want.xmm[i], got.xmm[i]))
		}
	}
	for i := range want.mem {
		if want.mem[i] != got.mem[i] {
			s = append(s, fmt.Sprintf("  memory at %#x: host % x, simulator % x", traceeData+i, want.mem[i:min(i+16, stepBytes)], got.mem[i:min(i+16, stepBytes)]))
			break
		}
	}
	return strings.Join(s, "\n")
}

// stepSim is the simulator's side.
type stepSim struct {
	w *world
	c *CPU
}

const stepPhys = 0x200000

func newStepSim(t *testing.T) *stepSim {
	w := newWorld(t, ISA64(), cpus.Throughput, nil)
	w.mapUser(traceeText, stepPhys, 4*traceePage, pteUser|pteWrite)
	w.mapUser(stepEnds, stepPhys+4*traceePage, traceePage, pageExec)
	for v := range 64 {
		kind := uint8(0x8e)
		if v == vecBP {
			kind = 0xee
		}
		w.gate(v, stepEnds+uint64(v), 0, kind)
	}
	w.bus.Native = [2]uint64{stepEnds, stepEnds + 64}
	c := w.cpu()
	c.cr4 |= cr4OSFXSR
	return &stepSim{w, c}
}

// refuses tells whether the model lacks what the bytes are, or may lack it because they are of a later extension or of
// x87. Hints are no extension.
func (s *stepSim) refuses(code []byte) bool {
	i := 0
	for i < len(code) && isPrefix(code[i], 64) {
		i++
	}
	if i+2 >= len(code) {
		return false
	}
	switch op, next := code[i], code[i+1]; {
	case op&0xf8 == 0xd8, op == 0xc4, op == 0xc5, op == 0x62, op == 0x8f && next&0x38 != 0:
		return true
	case op == 0x0f:
		return next != 0x0d && next&^7 != 0x18
	}
	return s.c.Counts.Unmodelled > 0
}

// step executes one instruction, with RFLAGS.TF set.
func (s *stepSim) step(code []byte, from *stepState) *stepState {
	c := s.c
	s.w.user(c)
	s.w.mem.Write(stepPhys+traceeData-traceeText, from.mem)
	s.w.mem.Write(stepPhys+traceeCode-traceeText, code)
	c.R = [engine.Registers]uint64{}
	copy(c.R[:], from.regs[:])
	c.fpu = fpu{control: fcwReset, mxcsr: mxcsrReset, xmm: from.xmm}
	c.setFlags(from.flags|flagTF, ^uint64(0))
	c.R[rRIP], c.Counts.Unmodelled, c.Halted = from.rip, 0, false
	out := &stepState{mem: make([]byte, stepBytes)}
	e := c.Run(c.Now() + 1e9)
	copy(out.regs[:], c.R[:])
	vec, frame := c.R[rRIP]-stepEnds, c.R[rsp]
	if e.Reason != cpus.Native || vec >= 64 {
		out.signal = sys.SIGKILL
		return out
	}
	if hasCode[int(vec)] {
		frame += 8
	}
	out.rip, out.flags, out.regs[rsp] = s.w.load(frame), s.w.load(frame+16), s.w.load(frame+24)
	out.signal = sys.Signal(signals[vec])
	if vec == vecPF {
		out.addr = c.cr2
	}
	out.xmm = c.fpu.xmm
	copy(out.mem, s.w.mem.Bytes(stepPhys+traceeData-traceeText, stepBytes))
	return out
}

// stepped is the host's side: a program that is traced.
type stepped struct {
	pid int
	mem *os.File
}

func newStepped(t *testing.T) (*stepped, error) {
	t.Helper()
	runtime.LockOSThread() // a tracer is a thread
	path := filepath.Join(t.TempDir(), "tracee")
	if err := os.WriteFile(path, tracee(nil), 0o700); err != nil {
		return nil, err
	}
	cmd := osexec.Command(path)
	cmd.SysProcAttr = &sys.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("a traced program does not start: %w", err)
	}
	h := &stepped{pid: cmd.Process.Pid}
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
	return h, err
}

// The part of fxsave's image with the vector registers, and ptrace's requests for the image and for a signal's cause.
const (
	fxImage    = 512
	fxVectors  = 160
	getFPRegs  = 14
	setFPRegs  = 15
	getSigInfo = 0x4202
)

func (h *stepped) ptrace(request int, at unsafe.Pointer) error {
	if _, _, e := sys.Syscall6(sys.SYS_PTRACE, uintptr(request), uintptr(h.pid), 0, uintptr(at), 0, 0); e != 0 {
		return e
	}
	return nil
}

// step executes one instruction.
func (h *stepped) step(code []byte, from *stepState) (*stepState, error) {
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
	if err := sys.PtraceGetRegs(h.pid, &regs); err != nil {
		return nil, err
	}
	if err := h.ptrace(getFPRegs, unsafe.Pointer(&fx)); err != nil {
		return nil, err
	}
	for i, p := range registersOf(&regs) {
		out.regs[i] = *p
	}
	for i := range out.xmm {
		at := fxVectors + 16*i
		out.xmm[i] = vec{binary.LittleEndian.Uint64(fx[at:]), binary.LittleEndian.Uint64(fx[at+8:])}
	}
	out.rip, out.flags = regs.Rip, regs.Eflags
	if out.signal == sys.SIGSEGV {
		var info [16]uint64
		if err := h.ptrace(getSigInfo, unsafe.Pointer(&info)); err != nil {
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
	if err := sys.PtraceGetRegs(h.pid, &regs); err != nil {
		return err
	}
	for i, p := range registersOf(&regs) {
		*p = from.regs[i]
	}
	regs.Rip, regs.Eflags, regs.Orig_rax = from.rip, from.flags, ^uint64(0)
	if err := sys.PtraceSetRegs(h.pid, &regs); err != nil {
		return err
	}
	var fx [fxImage]byte
	binary.LittleEndian.PutUint16(fx[:], fcwReset)
	binary.LittleEndian.PutUint32(fx[24:], mxcsrReset)
	for i, v := range from.xmm {
		at := fxVectors + 16*i
		binary.LittleEndian.PutUint64(fx[at:], v[0])
		binary.LittleEndian.PutUint64(fx[at+8:], v[1])
	}
	return h.ptrace(setFPRegs, unsafe.Pointer(&fx))
}

// registersOf names the registers by their number.
func registersOf(r *sys.PtraceRegs) [16]*uint64 {
	return [...]*uint64{
		&r.Rax, &r.Rcx, &r.Rdx, &r.Rbx, &r.Rsp, &r.Rbp, &r.Rsi, &r.Rdi, &r.R8, &r.R9, &r.R10, &r.R11, &r.R12, &r.R13, &r.R14, &r.R15,
	}
}
