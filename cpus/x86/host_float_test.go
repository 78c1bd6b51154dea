//go:build linux && amd64

package x86

import (
	"encoding/binary"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	sys "syscall"
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"kprobesim/cpus/float"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// floatStep draws a state whose vector registers hold numbers of a width, under any MXCSR.
func floatStep(rng *rand.Rand, width uint) *stepState {
	s := drawStep(rng, 64)
	s.mxcsr = drawMXCSR(rng)
	s.regs[rcx] = value(rng)
	for i := range s.xmm {
		for j := range int(128 / width) {
			s.xmm[i] = s.xmm[i].with(j, width, drawFloat(rng, width))
		}
	}
	return s
}

// TestDeliveredFloats steps what SSE and SSE2 compute on the host's processor and in the simulator, and compares MXCSR too,
// which only a debugger sees behind an exception that is delivered.
func TestDeliveredFloats(t *testing.T) {
	h, err := newStepped(t, 64)
	if err != nil {
		hosttools.Unable(t, "comparing floating-point exceptions with the host's processor", err.Error())
	}
	sim, rng, delivered := newStepSim(t, 64), rand.New(rand.NewPCG(19, 754)), 0
	rounds := 60
	if testing.Short() {
		rounds = 6
	}
	eachFloat(func(code []byte, width uint) {
		for range rounds {
			code := append(append([]byte{}, code...), 0xc1, byte(rng.Uint32()&7))
			from := floatStep(rng, width)
			want := require.Must(h.step(code, from))(t)
			if d := stepDifference(want, sim.step(code, from), 0); d != "" {
				t.Errorf("% x of %#x and %#x, mxcsr %#x:\n%s", code, from.xmm[0], from.xmm[1], from.mxcsr, d)
			}
			if want.signal == sys.SIGFPE {
				delivered++
			}
		}
	})
	if t.Logf("%d exceptions delivered", delivered); delivered < rounds {
		t.Errorf("%d exceptions delivered: too few to compare anything", delivered)
	}
}

// drawExtended draws a register of x87 with much that is special, among it what is no number.
func drawExtended(rng *rand.Rand) vec {
	if rng.IntN(4) > 0 { // a number of a shorter format
		return packed(float.Double.Unpack(drawFloat(rng, 64)))
	}
	v := vec{rng.Uint64(), rng.Uint64() & 0xffff}
	if rng.IntN(4) > 0 {
		v[0] |= 1 << 63
	}
	switch rng.IntN(8) {
	case 0:
		v[1] &= 0x8000
	case 1:
		v[1] |= 0x7fff
	case 2:
		v[1] = 0x3fff + rng.Uint64N(70)
	case 3:
		v[1] = v[1]&0x8000 | 0x7ff0 | rng.Uint64N(15)
	case 4:
		v[1] = v[1]&0x8000 | rng.Uint64N(70)
	case 5:
		v[0] &= 3 << 62
	}
	return v
}

// x87Step draws a state of the x87 unit, mostly with all exceptions masked and all registers filled.
func x87Step(rng *rand.Rand) *stepState {
	s := floatStep(rng, 64)
	x := &s.x87
	x.control = fcwReset&^0xf00 | uint16(rng.Uint32()&0xc00)
	x.control |= []uint16{3, 3, 3, 2, 0}[rng.IntN(5)] << fcwPrecision
	if rng.IntN(4) == 0 {
		x.control &^= uint16(rng.Uint32() & x87Exceptions)
	}
	x.status = uint16(rng.Uint32()) & (7<<fswTop | fswOrder | fswC1)
	if rng.IntN(8) == 0 {
		x.status |= uint16(rng.Uint32()&rng.Uint32()) & x87Exceptions
	}
	if x.status&^x.control&x87Exceptions != 0 {
		x.status |= fswSummary
	}
	if x.tags = 0xff; rng.IntN(3) == 0 {
		x.tags = uint8(rng.Uint32())
	}
	for i := range x.st {
		x.st[i] = drawExtended(rng)
	}
	for i := 0; i < 0x400; i += 8 { // around the operand, of any format
		at := s.mem[0x800+i:]
		binary.LittleEndian.PutUint64(at, drawFloat(rng, 64))
		if rng.IntN(2) == 0 {
			binary.LittleEndian.PutUint32(at, uint32(drawFloat(rng, 32)))
		}
	}
	s.regs[rax] = traceeData + 0x808 + 8*rng.Uint64N(64)
	copy(s.mem[0x800+8:], []byte{1})
	return s
}

// TestX87AgainstHost steps every encoding of x87 that the model has, from random states, and compares all of the unit.
func TestX87AgainstHost(t *testing.T) {
	if v := hostVendor(); v != vendorIntel {
		hosttools.Unable(t, "comparing x87 with the host's processor", fmt.Sprintf("nothing is known of the departures of vendor %q", v))
	}
	h, err := newStepped(t, 64)
	if err != nil {
		hosttools.Unable(t, "comparing x87 with the host's processor", err.Error())
	}
	sim, rng := newStepSim(t, 64), rand.New(rand.NewPCG(87, 754))
	rounds := *x87Rounds
	if testing.Short() {
		rounds = 4
	}
	missing := slices.Collect(maps.Keys(rows))
	missing = slices.DeleteFunc(missing, func(op x86asm.Op) bool { return !ofX87(op) || x87Functions[op] != 0 })
	for op := range 8 {
		for modrm := range 256 {
			code := []byte{byte(0xd8 | op), byte(modrm)}
			n := rounds
			if modrm < 0xc0 {
				if modrm&7 != 0 || modrm >= 0x40 {
					continue // of memory by rax alone
				}
				n *= 8
			}
			in, known := disassemble(append(code, make([]byte, 14)...), 64)
			if _, has := rows[in.Op]; !known || !has || x87Functions[in.Op] != 0 {
				continue
			}
			missing = slices.DeleteFunc(missing, func(op x86asm.Op) bool { return op == in.Op })
			bad := 0
			for range n {
				from := x87Step(rng)
				want, err := h.step(code, from)
				if err != nil {
					t.Fatal(err)
				}
				got := sim.step(code, from)
				forgetPointers(in.Op, from, want, got)
				if d := stepDifference(want, got, 0); d != "" {
					if bad++; bad <= 2 {
						t.Errorf("% x (%v) of\n    %x:\n%s", code, in, from.x87, d)
					}
				}
			}
			if bad > 0 {
				t.Errorf("% x (%v): %d of %d", code, in, bad, n)
			}
		}
	}
	for _, op := range missing {
		t.Errorf("%v: no encoding was compared", op)
	}
}

// x87Functions are the instructions whose results processors round as they like, within a unit, with the last bytes of their encodings.
var x87Functions = map[x86asm.Op]byte{
	x86asm.FSIN: 0xfe, x86asm.FCOS: 0xff, x86asm.FSINCOS: 0xfb, x86asm.FPTAN: 0xf2, x86asm.FPATAN: 0xf3,
	x86asm.F2XM1: 0xf0, x86asm.FYL2X: 0xf1, x86asm.FYL2XP1: 0xf9,
}

// TestX87FunctionsAgainstHost steps the functions of x87, and compares the unit. Results may be a unit of the last place apart, and two
// where rounding is directed (SDM vol. 1, 8.3.10); then C1 says of each which side it is on. A processor may raise the
// exception of an inexact result for one that is exact.
func TestX87FunctionsAgainstHost(t *testing.T) {
	h, err := newStepped(t, 64)
	if err != nil {
		hosttools.Unable(t, "comparing functions of x87 with the host's processor", err.Error())
	}
	sim, rng := newStepSim(t, 64), rand.New(rand.NewPCG(80, 87))
	rounds, off := 20**x87Rounds, 0
	if testing.Short() {
		rounds = 80
	}
	for _, op := range slices.Sorted(maps.Keys(x87Functions)) {
		code := []byte{0xd9, x87Functions[op]}
		for n := range rounds {
			from := x87Step(rng)
			if n%2 == 0 { // numbers that functions are used for
				for i := range 2 {
					from.x87.st[i] = vec{rng.Uint64() | 1<<63, rng.Uint64()&0x8000 | (0x3fff - 70 + rng.Uint64N(134))}
				}
			}
			x := float.UnpackExtended(from.x87.st[0][0], uint16(from.x87.st[0][1]))
			if x.Kind == float.Finite && (op == x86asm.F2XM1 && x.Exp >= 0 && x.Sig != 1<<63 || op == x86asm.FYL2XP1 && x.Exp >= -1) {
				continue // has no defined result
			}
			want := require.Must(h.step(code, from))(t)
			got := sim.step(code, from)
			allowed := uint64(1)
			if from.x87.control>>fcwRound&3 != 0 {
				allowed = 2
			}
			for i := range 2 {
				if d := unitsBetween(want.x87.st[i], got.x87.st[i]); d != 0 && d <= allowed {
					got.x87.st[i] = want.x87.st[i]
					off++
				}
			}
			const inexact = uint16(float.Inexact)
			if want.x87.status&inexact != 0 {
				got.x87.status = got.x87.status&^fswC1 | want.x87.status&(fswC1|inexact)
				if got.x87.status&^got.x87.control&inexact != 0 {
					got.x87.status |= fswSummary
				}
			}
			if d := stepDifference(want, got, 0); d != "" {
				t.Errorf("%v of\n    %x:\n%s", op, from.x87, d)
			}
		}
	}
	t.Logf("%d results are rounded otherwise", off)
}

// unitsBetween is how far two numbers are apart, in units of the last place.
func unitsBetween(a, b vec) uint64 {
	if a[1] < b[1] || a[1] == b[1] && a[0] < b[0] {
		a, b = b, a
	}
	switch {
	case a[1] == b[1]:
		return a[0] - b[0]
	case a[1] == b[1]+1:
		return 2*(a[0]-1<<63) + -b[0]
	}
	return math.MaxUint64
}

// forgetPointers clears the pointers to the last instruction and operand in an environment that was stored.
func forgetPointers(op x86asm.Op, from *stepState, states ...*stepState) {
	if op != x86asm.FNSTENV && op != x86asm.FNSAVE {
		return
	}
	for _, s := range states {
		if s.signal == sys.SIGTRAP {
			clear(s.mem[from.regs[rax]-traceeData+12:][:16])
		}
	}
}

// x87Rounds lets a search by hand be longer than the test.
var x87Rounds = flag.Int("x87-rounds", 20, "random states of x87 that each encoding is compared from")

// TestApproximations holds rcpss and rsqrtss of host and simulator to the manual's bound of each other: both may err by
// 1.5/4096 (SDM vol. 2, RCPSS).
func TestApproximations(t *testing.T) {
	h, err := newStepped(t, 64)
	if err != nil {
		hosttools.Unable(t, "comparing approximations with the host's processor", err.Error())
	}
	sim, rng := newStepSim(t, 64), rand.New(rand.NewPCG(20, 754))
	for i := range 400 {
		from := floatStep(rng, 32)
		from.xmm[1][0] &= 0x7fffffff
		code := []byte{0xf3, 0x0f, 0x52 | byte(i&1), 0xc1}
		want := require.Must(h.step(code, from))(t)
		got := sim.step(code, from)
		a, b := float64(math.Float32frombits(uint32(want.xmm[0][0]))), float64(math.Float32frombits(uint32(got.xmm[0][0])))
		if same := a == b || math.IsNaN(a) && math.IsNaN(b); !same && !(math.Abs(a-b) <= 2*1.5/4096*math.Abs(a)) && math.Abs(a) > 0x1p-125 {
			t.Errorf("% x of %#x: host %g, simulator %g", code, from.xmm[1][0], a, b)
		}
		want.xmm[0], got.xmm[0] = vec{}, vec{}
		if d := stepDifference(want, got, 0); d != "" {
			t.Errorf("% x of %#x:\n%s", code, from.xmm[1], d)
		}
	}
}
