package ppc64

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
	"kprobesim/mmu"
)

// randomProgram is a loop over random instructions that computes in registers and in the data page.
func randomProgram(r *rand.Rand) []uint32 {
	var body []uint32
	pool := sequenceForms(r)
	for range 6 {
		for _, w := range pool[r.IntN(len(pool))].code[:10] {
			if dst := w >> 16 & 31; dst < 28 && w>>21&31 < 28 { // the others hold addresses and the count
				body = append(body, w)
			}
		}
		switch r.IntN(6) {
		case 3: // stmw, a load of one of its words, and lmw of the same, in one page or two
			d := []int{r.IntN(32) * 4, 0xbf0}[r.IntN(2)]
			body = append(body, insnD(47, 24, 30, d), insnD(32, r.Uint32N(24), 30, d+4*r.IntN(8)), insnD(46, 24, 30, d))
		case 4: // a doubleword across two pages, and a part of it again
			body = append(body, insnD(62, r.Uint32N(28), 30, 0xbfc), insnD(32, r.Uint32N(24), 30, 0xc00), insnD(58, r.Uint32N(24), 30, 0xbfc))
		case 5: // the same by bytes
			body = append(body, insnX(31, r.Uint32N(24), 29, 1+r.Uint32N(31), 725), insnX(31, r.Uint32N(16), 29, 1+r.Uint32N(31), 597))
		case 0:
			body = append(body, insnD(36, r.Uint32N(28), 30, r.IntN(64)*4), insnD(58, r.Uint32N(28), 30, r.IntN(32)*8))
		case 1:
			body = append(body, insnX(31, r.Uint32N(28), 0, 29, 20), insnX(31, r.Uint32N(28), 0, 29, 150)|1)
		case 2:
			body = append(body, branchIf(12, r.Uint32N(32), 8), addiTo(r.Uint32N(28), 1+r.Uint32N(27), 3))
		}
	}
	body = append(body, addiTo(31, 31, -1), compareImm(6, 31, 0))
	return append(append(body, branchIf(4, 26, -4*len(body))), insnSC)
}

// TestWaysToRun executes random programs in every way and by the models: registers and memory are the same, and so
// is the time of a model.
func TestWaysToRun(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	ended := func(c *CPU) string {
		if c.PC() != vecSyscall {
			return fmt.Sprintf("%s at %#x", vectorName(c.PC()), c.srr[0])
		}
		return ""
	}
	for i := range 30 {
		code := randomProgram(r)
		start := func(model string) *CPU { return remodel(t, code, model) }
		cpustest.InEveryWay(t, fmt.Sprint("program ", i), []string{cpus.Throughput, cpus.Window}, start, ended, unlike)
	}
}

// remodel is userWorld by a model, with the registers that random programs rely on.
func remodel(t *testing.T, code []uint32, model string) *CPU {
	second := mmu.Mapping{VA: userData + 0x1000, PA: freePages + 4*0x1000, Size: 0x1000, User: true, Writable: true}
	w := newWorld(t, model, nil, append(userMaps(), second)...)
	w.words(freePages, code...)
	c := w.cpu()
	c.setMSR(userMSR)
	c.R[rPC] = userCode
	for i := range 28 {
		c.R[i] = uint64(i) * 0x0123456789abcdef
	}
	c.R[29], c.R[30], c.R[31] = userData+0x200, userData+0x400, 20
	return c
}

// unlike tells what differs between two CPUs and their memory.
func unlike(a, b *CPU) string {
	for i := range rCR7 + 1 {
		if i != rSink && a.R[i] != b.R[i] {
			return fmt.Sprintf("register %d is %#x and %#x", i, a.R[i], b.R[i])
		}
	}
	if !slices.Equal(a.Memory.Bytes(freePages, 0x8000), b.Memory.Bytes(freePages, 0x8000)) {
		return "memory differs"
	}
	return ""
}
