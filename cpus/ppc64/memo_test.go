package ppc64

import (
	"math/rand/v2"
	"slices"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
	"kprobesim/internal/clock"
	"kprobesim/mmu"
)

// eachMemo holds that CPUs end the same however much the window model remembers.
func eachMemo(t *testing.T, what string, f func() []*CPU) {
	t.Helper()
	cpustest.EachMemo(t, what, func(c *CPU) any { return c.R }, f, 600)
}

// TestMemoChangesNothing runs random code in loops, with interrupts that it causes, on cores with dispatch groups
// and without; and two CPUs that share memory.
func TestMemoChangesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	words := randomWords(r)
	for i := range 40 {
		shape, seed := anyShape(r, i%4 != 0), r.Uint64()
		var code []uint32
		for range 4 + r.IntN(40) {
			code = append(code, words[r.IntN(len(words))])
		}
		eachMemo(t, "random code", func() []*CPU { return memoRun(t, shape, code, seed, 1) })
		eachMemo(t, "neighbours", func() []*CPU { return memoRun(t, shape, code, seed, 2) })
	}
}

// randomWords are instructions of all kinds, among them some that cause interrupts and system calls.
func randomWords(r *rand.Rand) []uint32 {
	words := []uint32{
		insnSC, insnTrap, insnIsync, insnX(31, 0, 0, 0, 598), insnX(31, 3, 0, 4, 20), insnX(31, 3, 0, 4, 150) | 1,
		mtspr(9, 5), mfsprOf(6, 8), branchIf(12, 2, 8), branchIf(4, 6, 12), 18<<26 | 8 | 1, insnX(31, 3, 0, 0, 19),
	}
	for _, build := range []func(*rand.Rand) []*form{
		arithmeticForms, immediateForms, logicForms, rotationForms, comparisonForms, conditionForms, loadForms, storeForms, loadForms, storeForms,
	} {
		for _, f := range build(r) {
			words = append(words, f.code...)
		}
	}
	return words
}

// anyShape returns a change of a machine to a random one.
func anyShape(r *rand.Rand, grouped bool) func(cfg *cpus.Config) {
	seed := r.Uint64()
	return func(cfg *cpus.Config) {
		r := rand.New(rand.NewPCG(seed, 1))
		cfg.Width, cfg.Window = 5, 5*(1+r.IntN(20))
		cfg.Groups = cpus.Groups{On: grouped, BranchSlots: r.IntN(2)}
		cfg.FrontEnd = cpus.FrontEnd{FetchBytes: []int{0, 32}[r.IntN(2)], Queue: r.IntN(30)}
		const slot = clock.PerCycle / 5
		for _, name := range ISA().Classes {
			k := cpus.Cost{
				Issue: slot * clock.Ticks(1+r.IntN(2)), Latency: slot * clock.Ticks(r.IntN(40)), Latency2: slot * clock.Ticks(r.IntN(3)*r.IntN(20)),
				Port: []string{"", "alu", "branch"}[r.IntN(3)], Alone: grouped && r.IntN(8) == 0, InOrder: r.IntN(12) == 0,
			}
			if k.Alone {
				k.Issue *= clock.Ticks(1 + r.IntN(8))
			}
			cfg.Classes[name] = k
		}
	}
}

// memoRun executes code in a loop in user mode, on some CPUs in turns. Handlers go on behind what caused the
// interrupt.
func memoRun(t *testing.T, shape func(*cpus.Config), code []uint32, seed uint64, n int) []*CPU {
	w := newWorld(t, cpus.Window, nil, userMaps()...)
	shape(&w.cfg)
	if errs := w.cfg.Check(ISA()); errs != nil {
		t.Fatal(errs)
	}
	w.bus.Native = [2]uint64{1, 1}
	if n > 1 {
		w.bus.Directory = mmu.NewDirectory(n)
	}
	w.words(freePages, append(slices.Clone(code), insnI(4*uint64(len(code)), 0))...)
	for v := uint64(0x100); v < 0x1000; v += 0x80 {
		w.words(v, mfsprOf(20, 26), addiTo(20, 20, 4), mtspr(26, 20), insnRfid)
	}
	w.words(vecSyscall, insnRfid)
	r := rand.New(rand.NewPCG(seed, 1))
	var all []*CPU
	for range n {
		c := w.cpu()
		for i := range 32 {
			c.R[i] = userData + r.Uint64N(0x80)&^7
		}
		c.setMSR(userMSR)
		c.R[rPC] = userCode
		all = append(all, c)
	}
	for turn := range 60 {
		c := all[r.IntN(n)]
		if turn%2 == 0 || n > 1 {
			c.Steps(1+r.IntN(400), 1<<60)
		} else {
			c.Run(c.Now() + 60*400)
		}
	}
	return all
}
