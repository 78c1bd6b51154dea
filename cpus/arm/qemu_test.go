package arm

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/mmu"
)

// state holds what a form begins or ends with.
type state struct {
	r    [15]uint32
	cpsr uint32
	mem  [sandboxSize]byte
}

// compared are the bits of CPSR that the comparison is about: N, Z, C, V, Q and GE.
const compared = psrNZCV | psrQ | psrGE

func (s *state) bytes() []byte {
	var b []byte
	for _, w := range append(s.r[:], s.cpsr) {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return append(b, s.mem[:]...)
}

func parseState(b []byte) *state {
	s := &state{}
	get := func(i int) uint32 { return binary.LittleEndian.Uint32(b[4*i:]) }
	for i := range s.r {
		s.r[i] = get(i)
	}
	s.cpsr = get(15) & compared
	copy(s.mem[:], b[4*stateWords:])
	return s
}

// value draws a number, often one at an edge.
func value(r *rand.Rand) uint32 {
	edges := []uint32{0, 1, 1<<32 - 1, 1 << 31, 1<<31 - 1, 0x8000, 0x7fff, 0x80008000, 0x7fff7fff, 0x80808080, 0xffff0000}
	switch r.IntN(4) {
	case 0:
		return edges[r.IntN(len(edges))]
	case 1:
		return r.Uint32N(256) - 128
	case 2:
		return r.Uint32() >> r.IntN(32)
	}
	return r.Uint32()
}

func randomState(r *rand.Rand, f *form) *state {
	s := &state{cpsr: r.Uint32() & compared}
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

// TestAgainstQemu runs every row of the table under qemu and in the simulator from the same random states, and
// compares registers, flags and memory.
func TestAgainstQemu(t *testing.T) {
	path := qemu(t)
	scale := 40
	if testing.Short() {
		scale = 5
	}
	ran := map[*row]bool{}
	const part = 60 // rows of a program
	for i := 0; i < len(rows); i += part {
		r := rand.New(rand.NewPCG(uint64(i), 1))
		var forms []*form
		for _, k := range rows[i:min(i+part, len(rows))] {
			forms = append(forms, formsOf(r, k)...)
		}
		compareForms(t, path, r, forms, scale, ran)
	}
	if !t.Failed() {
		checkCoverage(t, ran)
	}
}

func compareForms(t *testing.T, path string, r *rand.Rand, forms []*form, scale int, ran map[*row]bool) {
	if len(forms) == 0 {
		return
	}
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
			table = binary.LittleEndian.AppendUint32(table, uint32(f.stub))
		}
	}
	out, err := runQemu(t, path, elfFile(h, table, count))
	if err != nil || len(out) != count*outcomeBytes {
		blame(t, path, r, forms)
		t.Fatalf("qemu: %v, %d bytes of results for %d vectors of %s and behind", err, len(out), count, forms[0].rows[0].name)
	}
	sim, bad := newUserSim(t, h), 0
	for i, s := range in {
		f := forms[i/scale]
		want, got := parseState(out[i*outcomeBytes:]), sim.run(f, s)
		if d := differences(want, got); d != "" {
			if bad++; bad <= 10 {
				text, _ := disasm(wordBytes(f.code), f.at, nil)
				t.Errorf("%s: %s (%x)\nfrom %x cpsr %#x\n%s", f.rows[0].name, text, f.code, s.r, s.cpsr, d)
			}
			continue
		}
		for _, k := range f.rows {
			ran[k] = true
		}
	}
	t.Logf("%d forms, %d vectors, %d differences", len(forms), len(in), bad)
}

// blame runs forms one by one and names the first of each row at which qemu gives up.
func blame(t *testing.T, path string, r *rand.Rand, forms []*form) {
	named := map[*row]bool{}
	for _, f := range forms {
		if named[f.rows[0]] {
			continue
		}
		h := newHarness(1)
		f.stub, f.at = h.stub(f.code)
		s := randomState(r, f)
		if _, err := runQemu(t, path, elfFile(h, binary.LittleEndian.AppendUint32(s.bytes(), uint32(f.stub)), 1)); err != nil {
			text, _ := disasm(wordBytes(f.code), f.at, nil)
			named[f.rows[0]] = true
			t.Errorf("%s: %s (%x): qemu: %v", f.rows[0].name, text, f.code, err)
		}
	}
}

func differences(want, got *state) string {
	var out []string
	for i, w := range want.r {
		if w != got.r[i] {
			out = append(out, fmt.Sprintf("  %s: qemu %#x, simulator %#x", generalNames[i], w, got.r[i]))
		}
	}
	if want.cpsr != got.cpsr {
		out = append(out, fmt.Sprintf("  cpsr: qemu %#x, simulator %#x", want.cpsr, got.cpsr))
	}
	if want.mem != got.mem {
		out = append(out, fmt.Sprintf("  memory: qemu\n%x\nsimulator\n%x", want.mem, got.mem))
	}
	return strings.Join(out, "\n")
}

// userSim is a CPU in user mode that has the harness in its memory.
type userSim struct{ *CPU }

const simText, simEnd, simData = freePages, freePages + 0x200000, freePages + 0x210000

func newUserSim(t *testing.T, h *harness) *userSim {
	user := func(va, pa uint64, size int) mmu.Mapping {
		return mmu.Mapping{VA: va, PA: pa, Size: uint64(size), User: true, Writable: true, Exec: true}
	}
	w := newWorld(t, cpus.Throughput, nil, user(qemuText, simText, 4*len(h.text)), user(qemuEnd&^0xfff, simEnd, 0x1000),
		user(sandbox&^0xfff, simData, 0x2000))
	w.words(simText, h.text...)
	w.words(simEnd+qemuEnd&0xfff, insnSVC) // the end of a form
	return &userSim{w.cpu()}
}

func (u *userSim) run(f *form, s *state) *state {
	u.setCPSR(s.cpsr|modeUser, ^uint32(0))
	u.setSCTLR(u.sctlr | sctlrSW)
	u.R[rPC] = f.at
	for i, v := range s.r {
		u.R[i] = uint64(v)
	}
	u.DropReservation()
	at := uint64(simData + sandbox&0xfff)
	u.Memory.Write(at, s.mem[:])
	out := &state{}
	e := u.Run(u.Now() + 1e6)
	spsr := u.spsr()
	if spsr == nil || e.Reason != cpus.Native || u.PC() != vectorTable+4*vecSupervisorCall || u.R[rLR] != qemuEnd+4 {
		out.r[0] = 0xdead0000 + uint32(u.PC()) // shows as a difference
		return out
	}
	out.cpsr = *spsr & compared
	u.setCPSR(modeSystem, psrMode)
	for i := range out.r {
		out.r[i] = uint32(u.R[i])
	}
	copy(out.mem[:], u.Memory.Bytes(at, sandboxSize))
	return out
}

// checkCoverage wants every row of the table to have been compared, or to be listed.
func checkCoverage(t *testing.T, ran map[*row]bool) {
	for _, k := range rows {
		switch reason := elsewhere[k.name]; {
		case ran[k] && reason != "":
			t.Errorf("%s was compared: take it off the list", k.name)
		case !ran[k] && reason == "":
			t.Errorf("%s was never compared with qemu", k.name)
		}
	}
	t.Logf("%d of %d rows were compared", len(ran), len(rows))
}
