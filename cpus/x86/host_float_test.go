//go:build linux && amd64

package x86

import (
	"math"
	"math/rand/v2"
	sys "syscall"
	"testing"

	"kprobesim/internal/hosttools"
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
			want, err := h.step(code, from)
			if err != nil {
				t.Fatal(err)
			}
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
		want, err := h.step(code, from)
		if err != nil {
			t.Fatal(err)
		}
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
