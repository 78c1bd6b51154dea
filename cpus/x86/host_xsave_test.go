//go:build linux && amd64

package x86

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	sys "syscall"
	"testing"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// TestAreaAgainstHost steps xsave, its forms and xrstor over random states, areas and headers, and compares the state, the area and the
// fault. The host's kernel restores the state of a program, and its processor may then hold all of it to be in use, so no component is
// as after a reset. Bits of edx:eax and of headers that a host may have components for are left alone, and so is the mask of MXCSR.
func TestAreaAgainstHost(t *testing.T) {
	if v := hostVendor(); v != vendorAMD {
		hosttools.Unable(t, "comparing XSAVE with the host's processor", fmt.Sprintf("nothing is known of the departures of vendor %q", v))
	}
	forms := [][]byte{codeXsave, codeXsaveopt, codeXsavec, codeXrstor, codeXrstor, codeXrstor}
	const from, at = traceeData + 0x400, 0x400
	for _, bits := range []int{64, 32} {
		h, err := newStepped(t, bits)
		if err != nil {
			hosttools.Unable(t, "comparing XSAVE with the host's processor", err.Error())
		}
		sim, rng := newStepSim(t, bits), rand.New(rand.NewPCG(13, uint64(bits)))
		ran := map[string]int{}
		for i := range hosttools.Part(t, "areas of XSAVE", 6000, 1500) {
			code := append([]byte{}, forms[i%len(forms)]...)
			if bits == 64 && rng.IntN(2) == 0 {
				code = append([]byte{0x48}, code...)
			}
			s := areaStep(rng, usedState(rng, bits), at)
			s.regs[rbx] = from
			if rng.IntN(20) == 0 {
				s.regs[rbx] += 16 << rng.IntN(3) // 64 bytes on there is no good header either
			}
			want, got := require.Must(h.step(code, s))(t), sim.step(code, s)
			if want.signal == sys.SIGILL && i < len(forms) {
				hosttools.Unable(t, "comparing XSAVE with the host's processor", fmt.Sprintf("it has no % x", code))
			}
			mask := s.regs[rbx] - traceeData + 28
			copy(want.mem[mask:mask+4], got.mem[mask:])
			if d := stepDifference(want, got, 0); d != "" {
				t.Fatalf("case %d, % x, eax %#x, header %x:\n%s", i, code, s.regs[rax], s.mem[at+512:at+576], d)
			}
			if want.signal == sys.SIGTRAP {
				ran[fmt.Sprintf("%x", forms[i%len(forms)])]++
			}
		}
		for _, code := range forms {
			require.That(t, ran[fmt.Sprintf("%x", code)] >= 200, "% x completed %d times", code, ran[fmt.Sprintf("%x", code)])
		}
	}
}

// usedState is a state of x87 and SSE that differs from that after a reset everywhere.
func usedState(rng *rand.Rand, bits int) *stepState {
	s := drawStep(rng, bits)
	s.x87 = x87State{control: fcwReset &^ 0x300, status: uint16(rng.Uint32()) & (7 << fswTop), tags: uint8(rng.Uint32())}
	for i := range s.x87.st {
		s.x87.st[i] = vec{rng.Uint64() | 1, rng.Uint64() & 0xffff}
	}
	s.mxcsr = mxcsrReset | uint32(rng.IntN(64))
	return s
}

// areaStep draws an area and what is asked for.
func areaStep(rng *rand.Rand, s *stepState, at uint64) *stepState {
	s.regs[rax], s.regs[rdx] = rng.Uint64()&(3|0xfff<<20), rng.Uint64()&0xffff
	put := func(i, v uint64) { binary.LittleEndian.PutUint64(s.mem[at+i:], v) }
	put(0, uint64(fcwReset)|rng.Uint64()&(7<<(16+fswTop))|rng.Uint64()&(0xff<<32))
	put(8, 0)
	put(16, 0)
	put(24, rng.Uint64()&0xffff)
	for i := range uint64(7) {
		put(520+8*i, 0)
	}
	has := rng.Uint64N(4)
	put(512, has)
	if rng.IntN(2) == 0 {
		put(520, compacted|has|rng.Uint64N(4))
	}
	if rng.IntN(5) == 0 { // something that is refused, or that nobody looks at
		i := 8 * rng.Uint64N(8)
		put(512+i, []uint64{1 << 30, 3, compacted, 1 << 62, rng.Uint64() &^ (0xfffff &^ 3)}[rng.IntN(5)])
	}
	if rng.IntN(10) == 0 {
		put(24, 1<<18)
	}
	return s
}
