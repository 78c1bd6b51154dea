package arm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
)

// randomProgram is a loop over random instructions that computes in registers and in the data page. r9 to r11
// hold the count and addresses.
func randomProgram(r *rand.Rand) []uint32 {
	var body []uint32
	compute := slices.Concat(dataRows(), multiplyRows, mediaRows, parallelRows(), saturatingRows)
	low := func() uint32 { return r.Uint32N(9) }
	for range 60 {
		k := compute[r.IntN(len(compute))]
		k.mask, k.value = 0, 0
		k.parse()
		w := k.word(r, [2]uint32{condAL, r.Uint32N(condAL)}[r.IntN(2)])
		in, op := decode(w, 0)
		switch {
		case find(w) == nil || find(w).name != k.name, op.Class == clUndefined, op.Flags != 0:
			continue
		case in.Operands.dst >= 9 && in.Operands.dst < rZero || in.Operands.s >= 9 && in.Operands.s < rZero && op.O2 == in.Operands.s:
			continue
		}
		body = append(body, w)
		switch r.IntN(6) {
		case 0:
			body = append(body, strAt(low(), 10, r.IntN(64)*4), ldrAt(low(), 10, r.IntN(64)*4))
		case 1:
			body = append(body, when32(r.Uint32N(condAL), strAt(low(), 10, 4)), when32(r.Uint32N(condAL), ldrAt(low(), 10, 4)))
		case 2:
			body = append(body, always32|0x088a0000|r.Uint32N(0x1ff)+1, always32|0x089a0000|r.Uint32N(0x1ff)+1) // stm, ldm r10
		case 3:
			body = append(body, always32|0x019b0f9f, always32|0x018b1f90) // ldrex r0, [r11]; strex r1, r0, [r11]
		case 4:
			body = append(body, r.Uint32N(condAL)<<28|0x0a000000, dataConstant(opADD, 1, low(), low(), 3))
		}
	}
	body = append(body, dataConstant(opSUB, 1, 9, 9, 1))
	return append(append(body, condNE<<28|0x0a000000|uint32(-len(body)-2)&0xffffff), insnSVC)
}

// TestWaysToRun executes random programs in every way and by every model: registers and memory are the same, and
// so is the time of a model.
func TestWaysToRun(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	ended := func(c *CPU) string {
		if c.PC() != vectorTable+4*vecSupervisorCall {
			return fmt.Sprintf("at %#x", c.PC())
		}
		return ""
	}
	for i := range 30 {
		code := randomProgram(r)
		start := func(model string) *CPU { return remodel(t, code, model) }
		cpustest.InEveryWay(t, fmt.Sprint("program ", i), []string{cpus.Throughput, cpus.Window, cpus.Scoreboard}, start, ended, unlike)
	}
}

// remodel is a user's world by a model, with the registers that random programs rely on.
func remodel(t *testing.T, code []uint32, model string) *CPU {
	w := newWorld(t, model, nil, userMaps()...)
	w.words(freePages, code...)
	c := w.cpu()
	c.setCPSR(modeUser, psrMode)
	c.R[rPC] = userCode
	for i := range 9 {
		c.R[i] = uint64(uint32(i) * 0x89abcdef)
	}
	c.R[9], c.R[10], c.R[11] = 20, userData+0x400, userData+0x200
	return c
}

// unlike tells what differs between two CPUs and their memory.
func unlike(a, b *CPU) string {
	for i := range rZero {
		if a.R[i] != b.R[i] {
			return fmt.Sprintf("register %d is %#x and %#x", i, a.R[i], b.R[i])
		}
	}
	if *a.spsr() != *b.spsr() {
		return fmt.Sprintf("the status was %#x and %#x", *a.spsr(), *b.spsr())
	}
	if !slices.Equal(a.Memory.Bytes(freePages, 0x8000), b.Memory.Bytes(freePages, 0x8000)) {
		return "memory differs"
	}
	return ""
}
