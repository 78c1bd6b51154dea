package ppc64

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/arch/ppc64/ppc64asm"

	"kprobesim/cpus"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

// form is one or more instructions under test, and the state that they need beside a random one.
type form struct {
	name  string
	code  []uint32
	setup func(r *rand.Rand, v *state, at uint64)
	stub  uint64
	at    uint64
}

// state holds what a form begins or ends with.
type state struct {
	r    [32]uint64
	cr   uint64
	xer  uint64
	lr   uint64
	ctr  uint64
	mem  [sandboxSize]byte
	stub uint64
}

func (s *state) words() []uint64 { return append(s.r[:], s.cr, s.xer, s.lr, s.ctr) }

func (s *state) bytes() []byte {
	var b []byte
	for _, w := range s.words() {
		b = binary.BigEndian.AppendUint64(b, w)
	}
	return append(b, s.mem[:]...)
}

func parseState(b []byte) *state {
	s := &state{}
	get := func(i int) uint64 { return binary.BigEndian.Uint64(b[8*i:]) }
	for i := range s.r {
		s.r[i] = get(i)
	}
	s.cr, s.xer, s.lr, s.ctr = get(32), get(33), get(34), get(35)
	copy(s.mem[:], b[8*stateWords:])
	return s
}

// value draws a number, often one at an edge.
func value(r *rand.Rand) uint64 {
	edges := []uint64{0, 1, ^uint64(0), 1 << 31, 1<<31 - 1, 1 << 32, 1<<32 - 1, 1 << 63, 1<<63 - 1, 0xffffffff80000000}
	switch r.IntN(4) {
	case 0:
		return edges[r.IntN(len(edges))]
	case 1:
		return uint64(r.IntN(256)) - 128
	case 2:
		return r.Uint64() >> r.IntN(64)
	}
	return r.Uint64()
}

func randomState(r *rand.Rand, f *form) *state {
	s := &state{cr: uint64(r.Uint32()), lr: value(r), ctr: value(r), stub: f.stub}
	s.xer = uint64(r.IntN(8))<<29 | uint64(r.IntN(33))
	for i := range s.r {
		s.r[i] = value(r)
	}
	for i := range s.mem {
		s.mem[i] = byte(r.Uint32())
	}
	if f.setup != nil {
		f.setup(r, s, f.at)
	}
	return s
}

// TestAgainstQemu runs every form of the table under qemu and in the simulator from the same random states,
// and compares registers, condition register, XER and memory.
func TestAgainstQemu(t *testing.T) {
	path := qemu(t)
	scale := 40
	if testing.Short() {
		scale = 5
	}
	ran := map[ppc64asm.Op]bool{}
	for i, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(i), 1))
			compareForms(t, path, r, g.build(r), scale, ran)
		})
	}
	if !t.Failed() {
		checkCoverage(t, ran)
	}
}

func compareForms(t *testing.T, path string, r *rand.Rand, forms []*form, scale int, ran map[ppc64asm.Op]bool) {
	count := len(forms) * scale
	h := newHarness(count)
	for _, f := range forms {
		f.stub, f.at = h.stub(f.code)
	}
	var in []*state
	var table []byte
	for _, f := range forms {
		for range scale {
			s := randomState(r, f)
			in = append(in, s)
			table = append(table, s.bytes()...)
			table = binary.BigEndian.AppendUint64(table, f.stub)
		}
	}
	out, err := runQemu(t, path, elfFile(h, table, count))
	require.Need(t, err == nil && len(out) == count*outcomeBytes, "qemu: %v, %d bytes of results for %d vectors", err, len(out), count)
	sim, bad := newUserSim(t, h), 0
	for i, s := range in {
		f := forms[i/scale]
		want, got := parseState(out[i*outcomeBytes:]), sim.run(f, s)
		if d := differences(want, got); d != "" {
			if bad++; bad <= 10 {
				t.Errorf("%s (% x)\nfrom %x cr %#x xer %#x lr %#x ctr %#x\n%s", f.name, f.code, s.r, s.cr, s.xer, s.lr, s.ctr, d)
			}
			continue
		}
		for _, w := range f.code {
			if op, ok := operation(w); ok {
				ran[op] = true
			}
		}
	}
	t.Logf("%d forms, %d vectors, %d differences", len(forms), len(in), bad)
}

func differences(want, got *state) string {
	var out []string
	names := append(generalNames[:], "cr", "xer", "lr", "ctr")
	g := got.words()
	for i, w := range want.words() {
		if w != g[i] {
			out = append(out, fmt.Sprintf("  %s: qemu %#x, simulator %#x", names[i], w, g[i]))
		}
	}
	if want.mem != got.mem {
		out = append(out, fmt.Sprintf("  memory: qemu\n%x\nsimulator\n%x", want.mem, got.mem))
	}
	return strings.Join(out, "\n")
}

// userSim is a CPU in problem state that has the harness in its memory.
type userSim struct {
	*CPU
	w *world
	h *harness
}

const simText, simLow, simData = freePages, freePages + 0x200000, freePages + 0x210000

func newUserSim(t *testing.T, h *harness) *userSim {
	user := func(va, pa uint64, size int) mmu.Mapping {
		return mmu.Mapping{VA: va, PA: pa, Size: uint64(size), User: true, Writable: true, Exec: true}
	}
	w := newWorld(t, cpus.Throughput, nil, user(qemuText, simText, 4*len(h.text)), user(qemuLanding, simLow, 0x1000),
		user(sandbox&^0xfff, simData, 0x2000))
	w.words(simText, h.text...)
	w.words(simText+h.save-qemuText, insnSC) // the end of a form
	w.words(simLow, landing(), insnI(qemuLanding+4, h.save))
	return &userSim{CPU: w.cpu(), w: w, h: h}
}

func (u *userSim) run(f *form, s *state) *state {
	u.setMSR(userMSR)
	u.R[rPC] = f.at
	copy(u.R[:], s.r[:])
	u.setCR(s.cr, 0xff)
	u.setXER(s.xer)
	u.R[rLR], u.R[rCTR] = s.lr, s.ctr
	u.DropReservation()
	at := uint64(simData + sandbox&0xfff)
	u.Memory.Write(at, s.mem[:])
	out := &state{}
	if e := u.Run(u.Now() + 1e6); e.Reason != cpus.Native || u.PC() != vecSyscall {
		out.stub = u.PC()
		out.r[0] = 0xdead0000 + u.PC() // shows as a difference
	}
	copy(out.r[:], u.R[:32])
	out.cr, out.xer, out.lr, out.ctr = u.cr(), u.xer(), u.R[rLR], u.R[rCTR]
	copy(out.mem[:], u.Memory.Bytes(at, sandboxSize))
	return out
}

// elsewhere are rows whose instructions no program of user mode can compare with qemu, and what tests them.
var elsewhere = map[ppc64asm.Op]string{
	ppc64asm.SC:      "the end of every form",
	ppc64asm.RFID:    "TestAgainstQemuSystem",
	ppc64asm.MFMSR:   "TestMSR",
	ppc64asm.MTMSR:   "TestMSR",
	ppc64asm.MTMSRD:  "TestMSR",
	ppc64asm.SLBMTE:  "TestSLB",
	ppc64asm.SLBIE:   "TestSLB",
	ppc64asm.SLBIA:   "TestSLB",
	ppc64asm.SLBMFEE: "TestSLB",
	ppc64asm.SLBMFEV: "TestSLB",
	ppc64asm.TLBIE:   "TestTLB",
	ppc64asm.TLBIEL:  "TestTLB",
	ppc64asm.TLBSYNC: "TestAgainstQemuSystem",
	ppc64asm.MFTB:    "TestTimeBase: every implementation has its own time",
}

// checkCoverage wants every variant of the table to have been compared, or to be listed.
func checkCoverage(t *testing.T, ran map[ppc64asm.Op]bool) {
	for op := range variants {
		switch reason := elsewhere[op]; {
		case ran[op] && reason != "":
			t.Errorf("%v was compared: take it off the list", op)
		case !ran[op] && reason == "":
			t.Errorf("%v was never compared with qemu", op)
		}
	}
	t.Logf("%d of %d operations were compared", len(ran), len(variants))
}
