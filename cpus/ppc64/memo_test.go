package ppc64

import (
	"math/rand/v2"
	"slices"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	remember "kprobesim/internal/host"
	"kprobesim/mmu"
)

// rememberings are bounds of what the window model remembers: nothing, as built, all at once, little.
var rememberings = [][2]int{{0, 0}, {remember.Memo.Blocks, remember.Memo.Runs}, {remember.Memo.Blocks, 0}, {600, 0}, {8, 0}}

// eachMemo calls f under all of rememberings and compares registers, time and counters of the CPUs that it returns.
func eachMemo(t *testing.T, what string, f func() []*CPU) {
	t.Helper()
	built := remember.Memo
	defer func() { remember.Memo = built }()
	var plain []*CPU
	for _, r := range rememberings {
		remember.Memo.Blocks, remember.Memo.Runs = r[0], r[1]
		all := f()
		if plain == nil {
			plain = all
		}
		for i, c := range all {
			want := plain[i]
			c.Book()
			want.Book()
			if c.R != want.R || c.Now() != want.Now() || c.Counts != want.Counts {
				t.Fatalf("%s, cpu %d, remembering %d from run %d: %d instructions in %d ticks to %#x, want %d in %d to %#x", what, i,
					r[0], r[1], c.Counts.Instructions, c.Now(), c.PC(), want.Counts.Instructions, want.Now(), want.PC())
			}
		}
	}
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
