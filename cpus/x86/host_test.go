package x86

import (
	"bytes"
	"context"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/arch/x86/x86asm"

	"kprobesim/cpus"
	"kprobesim/cpus/engine"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// groups are the parts of the comparison; each becomes one program.
var groups = []struct {
	name  string
	build func(g *gen)
}{
	{"arithmetic", buildArithmetic},
	{"moves", buildMoves},
	{"shifts", buildShifts},
	{"multiply", buildMultiply},
	{"bits", buildBits},
	{"exchange", buildExchange},
	{"conditions", buildConditions},
	{"control", buildControl},
	{"stack", buildStack},
	{"strings", buildStrings},
	{"flags", buildFlags},
	{"faults", buildFaults},
	{"sequences", buildSequences},
	{"legacy", buildLegacy},
	{"selectors", buildSelectors},
	{"prefixes", buildPrefixes},
	{"vectors", buildVectors},
	{"floats", buildFloats},
}

// hostPatience is how long a program of vectors may take, which takes less than a second when idle.
const hostPatience = time.Minute

// TestAgainstHost runs every form natively and in the simulator from the same states and compares
// registers, defined flags, memory and faults.
func TestAgainstHost(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		hosttools.Unable(t, "the comparison with the host's processor", "it needs linux/amd64")
	}
	scale := 4
	switch {
	case testing.Short():
		scale = 2
	case hosttools.Whole(t, "20 times the states of each instruction", "4 times"):
		scale = 20
	}
	known := departuresOf(t)
	ran, whole := map[function]bool{}, true
	wide := slices.ContainsFunc(abis(), func(a abi) bool { return a.bits == 32 && a.runs(t) != nil })
	if wide {
		hosttools.Partly(t, "queries of the selector of 32-bit code beside the host's", "it executes no programs of 32 bits, and has no such segment")
	}
	for _, a := range abis() {
		t.Run(fmt.Sprintf("%d bits", a.bits), func(t *testing.T) {
			if err := a.runs(t); err != nil {
				whole = false
				hosttools.Unable(t, fmt.Sprintf("the comparison with the host's processor in its mode of %d bits", a.bits), err.Error())
			}
			canonical := a.needsCanonical(t)
			if canonical {
				hosttools.Partly(t, "instructions with a stack pointer in no canonical form beside the host's", "its hypervisor delivers no exception of theirs")
			}
			for i, x := range groups {
				t.Run(x.name, func(t *testing.T) {
					g := newGen(a.bits, uint64(i)+1, scale)
					g.wide, g.canonical = wide, canonical
					x.build(g)
					compareGroup(t, g, a, known, ran)
				})
			}
		})
	}
	if !t.Failed() && whole {
		known.check(t)
		checkCoverage(t, ran, known.rows())
	}
}

// compareGroup notes in ran the functions of the instructions that completed on both sides.
func compareGroup(t *testing.T, g *gen, a abi, known *departures, ran map[function]bool) {
	var of []*form
	var vs []*vector
	for _, f := range g.forms {
		for range f.n {
			of = append(of, f)
			vs = append(vs, g.vector(f))
		}
	}
	if len(vs) == 0 {
		t.Skip("does not apply: nothing of it exists in this mode")
	}
	h := harness(len(vs), a)
	text := layout(h, g.forms)
	out := runNatively(t, g, h, text, of, vs)
	sim := newUserSim(t, a, text, h.labels["save"])
	bad, decoder := 0, &CPU{long: a.bits == 64}
	for i, v := range vs {
		f, want := of[i], parseOutcome(out[i*outcomeBytes:])
		got := sim.run(f, v)
		d := difference(f, v, want, got)
		for _, x := range known.adapting(f.code, a.bits) {
			before := d
			x.adaptOutcome(want, got)
			d = difference(f, v, want, got)
			known.note(x, d != before)
		}
		if x, other := known.of(f.code, a.bits); x != nil {
			known.note(x, d != "")
			if other == nil {
				continue
			}
			f = f.with(other)
			d = difference(f, v, want, sim.runOther(of[i], f, v))
		}
		if d != "" {
			if bad++; bad <= 12 {
				t.Errorf("%s\n  code % x\n  from %s\n%s", f.name, f.code, v, d)
			}
			continue
		}
		if want.signal == 0 {
			noteRan(decoder, f, a.bits, ran)
		}
	}
	t.Logf("%d forms, %d vectors, %d differences", len(g.forms), len(vs), bad)
}

// layout puts the encodings behind the harness, each with a jump to its end.
func layout(h *host, forms []*form) []byte {
	text := append([]byte{}, h.b...)
	for _, f := range forms {
		text = append(text, bytes.Repeat([]byte{0xcc}, int(f.at-hostText)-len(text))...)
		text = append(text, f.code...)
		text = append(text, jump32(hostText+uint64(len(text)), h.labels["save"])...)
	}
	return text
}

// needsCanonical tries an exception under a stack pointer in no canonical form. A hypervisor that delivers exceptions in the place of
// the processor may try for ever.
func (a abi) needsCanonical(t *testing.T) bool {
	if a.bits == 32 {
		return false
	}
	g := newGen(a.bits, 1, 1)
	f := g.raw("ud2", 0, 0x0f, 0x0b).also(func(v *vector) { v.regs[rsp] = 1 << 62 })
	h := harness(1, a)
	_, err := natively(t, h, layout(h, g.forms), []*form{f}, []*vector{g.vector(f)}, 5*time.Second)
	return err != nil
}

// runNatively is natively for a program that must come to its end. Where stack pointers must be in canonical form, an interrupt may have struck
// an instruction that computes with one as if it were a number: then it is tried again.
func runNatively(t *testing.T, g *gen, h *host, text []byte, of []*form, vs []*vector) []byte {
	out, err := natively(t, h, text, of, vs, hostPatience)
	for tries := 0; g.canonical && err != nil && tries < 2; tries++ {
		out, err = natively(t, h, text, of, vs, hostPatience)
	}
	require.Need(t, err == nil, "the program of vectors failed on the host: %v", err)
	require.Need(t, len(out) == len(vs)*outcomeBytes, "%d bytes of results for %d vectors of %d", len(out), len(vs), outcomeBytes)
	return out
}

// natively writes and executes the program.
func natively(t *testing.T, h *host, text []byte, of []*form, vs []*vector, patience time.Duration) ([]byte, error) {
	var table []byte
	for i, v := range vs {
		table = append(table, v.bytes(of[i].at)...)
	}
	path := filepath.Join(t.TempDir(), "vectors")
	require.NoError(t, os.WriteFile(path, program(h, text, table, len(vs)), 0o700))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return osexec.CommandContext(ctx, path).Output()
}

const comparedFlags = arith | flagDF | flagAC | flagID | flagNT

// difference describes in what got differs from the host's result.
func difference(f *form, v *vector, want, got *outcome) string {
	var s []string
	if want.signal != got.signal {
		s = append(s, fmt.Sprintf("  signal: host %d, simulator %d", want.signal, got.signal))
	}
	s = append(s, faultDifference(want, got)...)
	for i := range want.regs {
		if want.regs[i] != got.regs[i] {
			s = append(s, fmt.Sprintf("  %s: host %#x, simulator %#x", regNames[i], want.regs[i], got.regs[i]))
		}
	}
	mask := uint64(comparedFlags) &^ f.undef
	if f.undefOf != nil {
		mask &^= f.undefOf(v)
	}
	if want.signal == 8 {
		mask &^= arith // a division that faults leaves them undefined
	}
	if (want.flags^got.flags)&mask != 0 {
		s = append(s, fmt.Sprintf("  flags: host %#x, simulator %#x, compared %#x", want.flags, got.flags, mask))
	}
	for i := range want.mem {
		if want.mem[i] != got.mem[i] {
			s = append(s, fmt.Sprintf("  memory from byte %d: host %x, simulator %x", i, want.mem[i:min(i+16, sandboxSize)],
				got.mem[i:min(i+16, sandboxSize)]))
			break
		}
	}
	return strings.Join(s, "\n")
}

// faultDifference compares what the kernel is told of a fault. Of a page of its own half of the addresses
// Linux tells user mode that it was there, so that nothing can be learnt from the error code.
func faultDifference(want, got *outcome) (s []string) {
	if want.signal == 0 || got.signal == 0 {
		return nil
	}
	for _, x := range []struct {
		name      string
		want, got uint64
	}{
		{"vector", want.trap, got.trap},
		{"error code", want.code | want.hidden(), got.code | want.hidden()},
		{"address of the instruction", want.rip, got.rip},
	} {
		if x.want != x.got {
			s = append(s, fmt.Sprintf("  %s: host %#x, simulator %#x", x.name, x.want, x.got))
		}
	}
	if want.trap == vecPF && want.address != got.address {
		s = append(s, fmt.Sprintf("  cr2: host %#x, simulator %#x", want.address, got.address))
	}
	return s
}

// hidden are the bits of the error code that Linux sets whatever they were.
func (o *outcome) hidden() uint64 {
	if o.trap == vecPF && o.address >= 1<<47-0x1000 {
		return pfPresent
	}
	return 0
}

// function names the Go function of an operation in one of its forms; zero code stands for any.
type function struct {
	op   x86asm.Op
	code uintptr
}

// noteRan decodes the instructions of a form by a CPU of its mode and notes their functions.
func noteRan(c *CPU, f *form, bits int, ran map[function]bool) {
	for i := 0; i < len(f.code); {
		in, op := c.Decode(f.code[i:], f.at+uint64(i))
		x, _ := disassemble(f.code[i:], bits)
		ran[function{x.Op, address(in.Exec)}], ran[function{op: x.Op}] = true, true
		i += int(op.Len)
	}
}

func address(f exec) uintptr { return reflect.ValueOf(f).Pointer() }

// userSim is a simulated CPU in user mode with the program's text and sandbox mapped.
type userSim struct {
	*CPU
	mem  *world
	save uint64
	warm bool // the micro-TLB has the sandbox
}

// signals are those by which Linux reports an exception.
var signals = map[uint64]uint64{
	vecDE: 8, vecDB: 5, vecBP: 5, vecOF: 11, vecBR: 11, vecUD: 4, vecNP: 7, vecSS: 7, vecGP: 11, vecPF: 11, vecAC: 7, vecMF: 8, vecXF: 8,
}

// endOfForm is the vector by which the simulated program says that a form is done.
const endOfForm = 31

func newUserSim(t *testing.T, a abi, text []byte, save uint64) *userSim {
	w := newWorld(t, a.isa, cpus.Throughput, nil)
	w.mapUser(hostText, 0x200000, len(text), pageExec)
	w.mapUser(hostCurrent, 0x810000, int(sandboxVA&^0xfff-hostCurrent), pageWrite)
	w.mapUser(sandboxVA&^0xfff, 0x801000, 0x1000, pageWrite)
	w.mapUser(sandboxMid, 0x807000, 0x1000, pageWrite)
	w.mem.Write(0x200000, text)
	w.mem.Write(0x200000+save-hostText, []byte{0xcd, endOfForm}) // user mode ends by an interrupt of its own
	w.gates(func(v int) (uint64, uint8) { return save + 1 + uint64(v), 0 })
	w.bus.Native = [2]uint64{save, save + 1 + 32}
	c := w.cpu()
	c.cr4 |= cr4OSFXSR | cr4OSXMMEXCPT
	return &userSim{CPU: c, mem: w, save: save}
}

// touch accesses the pages of the sandbox.
func (s *userSim) touch() {
	for _, va := range []uint64{sandboxVA &^ 0xfff, sandboxMid} {
		v, _ := load[uint8](s.CPU, va)
		store(s.CPU, va, v)
	}
}

// runOther executes other in the place of a form of the same length.
func (s *userSim) runOther(f, other *form, v *vector) *outcome {
	at := 0x200000 + f.at - hostText
	s.mem.mem.Write(at, other.code)
	defer s.mem.mem.Write(at, f.code)
	return s.run(other, v)
}

// run executes one form from v.
func (s *userSim) run(f *form, v *vector) *outcome {
	s.mem.user(s.CPU)
	s.R = [engine.Registers]uint64{}
	copy(s.R[:], v.regs[:])
	if s.long {
		s.segBase[segFS], s.segBase[segGS] = fsBase, gsBase
	}
	s.mem.mem.Write(0x801000+0x1000-sandboxSize/2, v.mem[:sandboxSize/2])
	s.mem.mem.Write(0x807000, v.mem[sandboxSize/2:])
	s.setFlags(v.flags, ^uint64(0))
	s.R[rRIP] = f.at
	if s.warm {
		s.touch()
	}
	o := &outcome{}
	if e := s.Run(s.Now() + 1e9); e.Reason != cpus.Native {
		o.signal = 1000 + uint64(e.Reason)
	}
	o.flags = s.flags()
	copy(o.regs[:], s.R[:])
	if vec := s.R[rRIP] - s.save - 1; o.signal == 0 {
		o.signal = signals[vec] // none for the end
		frame := s.R[rsp]
		if hasCode[int(vec)] {
			o.code = s.mem.load(frame) & s.AddrMask
			frame += s.word()
		}
		if o.signal != 0 {
			o.trap, o.address = vec, s.cr2
		}
		o.rip = s.mem.load(frame) & s.AddrMask
		o.flags = s.mem.load(frame+2*s.word()) & s.AddrMask &^ flagRF
		o.regs[rsp] = s.mem.load(frame+3*s.word()) & s.AddrMask
	}
	copy(o.mem[:], s.mem.mem.Bytes(0x801000+0x1000-sandboxSize/2, sandboxSize/2))
	copy(o.mem[sandboxSize/2:], s.mem.mem.Bytes(0x807000, sandboxSize/2))
	return o
}
