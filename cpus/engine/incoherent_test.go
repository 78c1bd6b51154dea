package engine

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

// codeAt is where tests of incoherent caches have code. Each CPU adds the third byte of the first instruction to register 1.
const codeAt = 0x1000

// incoherentToys are CPUs of one machine whose instruction caches no store reaches. The code adds 1.
func incoherentToys(t *testing.T, n int, through bool, change func(*cpus.Config)) []*toy {
	t.Helper()
	cfg := toyConfig(cpus.Window, 64)
	cfg.L1I.Incoherent, cfg.L1D.WriteThrough = true, through
	if change != nil {
		change(cfg)
	}
	if errs := cfg.Check(toyISA()); errs != nil {
		t.Fatal(errs)
	}
	m, all := mmu.NewMemory(1<<20), make([]*toy, n)
	var d *mmu.Directory
	if n > 1 {
		d = mmu.NewDirectory(n)
	}
	for i := range all {
		all[i] = toyBeside(m, cfg, i, all[0], d)
	}
	toyWrite(all[0], codeAt, adding(1)...)
	return all
}

// adding is code that adds a number to register 1.
func adding(n uint8) [][4]byte { return [][4]byte{{toyAdd, 1, 1, n}, {toyHalt}} }

// adds executes the code and returns what it adds.
func (c *toy) adds() uint64 {
	c.R[1] = 0
	c.goFrom(codeAt)
	return c.R[1]
}

// patch stores the instruction that adds a number, as a CPU does.
func (c *toy) patch(n uint8) {
	in := adding(n)[0]
	Store(&c.Core, codeAt, binary.LittleEndian.Uint32(in[:]))
}

// TestStoresReachFetchesBySteps has the first CPU change code that the last one has executed. Which steps are taken decides what
// that executes then: the line is to be cleaned unless data caches write through, then to be invalidated, and then the CPU
// that executes it is to synchronize its context.
func TestStoresReachFetchesBySteps(t *testing.T) {
	steps := map[byte]func(storing, executing *toy){
		'c': func(s, _ *toy) { s.CleanData(codeAt) },
		'C': func(s, _ *toy) { s.CleanAllData() },
		'o': func(s, _ *toy) { s.CleanData(codeAt + 64) },
		'i': func(s, _ *toy) { s.InvalidateFetch(codeAt) },
		'n': func(s, _ *toy) { s.InvalidateFetch(codeAt + 64) },
		'I': func(_, e *toy) { e.InvalidateAllFetch(false) },
		'E': func(s, _ *toy) { s.InvalidateAllFetch(true) },
		's': func(_, e *toy) { e.SyncContext() },
		'l': func(_, e *toy) { Load[uint32](&e.Core, codeAt) },
	}
	for _, x := range []struct {
		taken     string
		back, own [2]bool // whether the new code is executed, by write-back and write-through, of another CPU's and of its own
	}{
		{"", [2]bool{}, [2]bool{}},
		{"c", [2]bool{}, [2]bool{}},
		{"ci", [2]bool{}, [2]bool{}},
		{"cs", [2]bool{}, [2]bool{}},
		{"cis", [2]bool{true, true}, [2]bool{true, true}},
		{"ois", [2]bool{false, true}, [2]bool{false, true}},
		{"cns", [2]bool{}, [2]bool{}},
		{"is", [2]bool{false, true}, [2]bool{false, true}},
		{"ics", [2]bool{true, true}, [2]bool{true, true}},
		{"isc", [2]bool{true, true}, [2]bool{true, true}},
		{"Cis", [2]bool{true, true}, [2]bool{true, true}},
		{"cI", [2]bool{}, [2]bool{}},
		{"cIs", [2]bool{true, true}, [2]bool{true, true}},
		{"cEs", [2]bool{true, true}, [2]bool{true, true}},
		{"lis", [2]bool{true, true}, [2]bool{false, true}},
	} {
		for cpus, want := range [][2]bool{x.own, x.back} {
			for i, through := range []bool{false, true} {
				all := incoherentToys(t, cpus+1, through, nil)
				first, last := all[0], all[cpus]
				require.Equal(t, last.adds(), 1, "code that nobody has changed adds")
				first.patch(2)
				for _, step := range []byte(x.taken) {
					steps[step](first, last)
				}
				require.Equal(t, last.adds() == 2, want[i], "%d CPUs, write-through %t, steps %q: new code is executed", cpus+1, through, x.taken)
			}
		}
	}
}

// TestInvalidationOfOneCPU has a CPU invalidate its own instruction cache: another one keeps what it has.
func TestInvalidationOfOneCPU(t *testing.T) {
	for _, everywhere := range []bool{false, true} {
		all := incoherentToys(t, 2, true, nil)
		all[1].adds()
		all[0].patch(2)
		all[0].InvalidateAllFetch(everywhere)
		all[1].SyncContext()
		require.Equal(t, all[1].adds() == 2, everywhere, "invalidated everywhere %t: new code is executed by the other CPU", everywhere)
	}
}

// TestSyncTakesEffectOnce has code changed again behind a synchronization: it has no invalidation of the new line.
func TestSyncTakesEffectOnce(t *testing.T) {
	for _, all := range []bool{false, true} {
		c := incoherentToys(t, 1, true, nil)[0]
		c.adds()
		for n, want := range []uint64{2, 2, 2} {
			c.patch(uint8(2 + n))
			if n == 0 && all {
				c.InvalidateAllFetch(true)
			} else if n == 0 {
				c.InvalidateFetch(codeAt)
			}
			c.SyncContext()
			require.Equal(t, c.adds(), want, "all %t: after change %d the code adds", all, n)
		}
	}
}

// TestFetchLooksBelowDataCaches has code stored that no instruction cache has: a fetch finds it only where the data cache does not
// hold it back.
func TestFetchLooksBelowDataCaches(t *testing.T) {
	for _, n := range []int{1, 2} {
		for _, through := range []bool{false, true} {
			want := uint64(1)
			if through {
				want = 2
			}
			for executing := range n {
				all := incoherentToys(t, n, through, nil)
				all[0].patch(2)
				require.Equal(t, all[executing].adds(), want, "CPU %d of %d, write-through %t: a line that another fetches adds", executing, n, through)
				require.Equal(t, all[executing].adds(), want, "the second time")
			}
		}
	}
}

// TestStoresBehindAFetch has a CPU store to a line that it owns already and has fetched since. It keeps the bytes of the fetch.
func TestStoresBehindAFetch(t *testing.T) {
	for _, n := range []int{1, 2} {
		c := incoherentToys(t, n, true, nil)[0]
		c.patch(2)
		require.Equal(t, c.adds(), 2, "the line that was fetched adds")
		c.patch(3)
		require.Equal(t, c.adds(), 2, "%d CPUs: after a store to a line that is fetched, it adds", n)
		c.InvalidateFetch(codeAt)
		c.SyncContext()
		require.Equal(t, c.adds(), 3, "fetched anew, it adds")
	}
}

// TestOldestBytesAreKept has a CPU come back to a line behind a store to another line of its set: fetches find neither store.
func TestOldestBytesAreKept(t *testing.T) {
	for _, fetched := range []bool{false, true} {
		c := incoherentToys(t, 1, fetched, nil)[0]
		if fetched {
			c.adds()
		}
		c.patch(2)
		Store(&c.Core, codeAt+pageBytes, uint8(1))
		c.patch(3)
		c.ForgetCode()
		require.Equal(t, c.adds(), 1, "fetched before %t: behind two stores to its line, code adds", fetched)
	}
}

// TestStoresBehindACleaning has a CPU store to a line that was written back: fetches find what was written back, and not the store.
func TestStoresBehindACleaning(t *testing.T) {
	for what, clean := range map[string]func(c *toy){
		"a line": func(c *toy) { c.CleanData(codeAt) },
		"all":    func(c *toy) { c.CleanAllData() },
	} {
		c := incoherentToys(t, 1, false, nil)[0]
		c.patch(2)
		clean(c)
		c.patch(3)
		require.Equal(t, c.adds(), 2, "%s cleaned between two stores: code adds", what)
	}
}

// TestFirstStoreToALineThatWasRead has a CPU read a line from memory and from its cache before it stores to it.
func TestFirstStoreToALineThatWasRead(t *testing.T) {
	for _, n := range []int{1, 2} {
		c := incoherentToys(t, n, false, nil)[0]
		for _, at := range []uint64{codeAt, codeAt + pageBytes, codeAt} { // of one set
			Load[uint8](&c.Core, at)
		}
		c.patch(2)
		require.Equal(t, c.adds(), 1, "%d CPUs: behind a store that is held back, code adds", n)
	}
}

// TestDecodedCodeOfAnotherCPU has CPUs decode a line that they have of different times. Neither takes the instructions of the other.
func TestDecodedCodeOfAnotherCPU(t *testing.T) {
	for _, oldFirst := range []bool{false, true} {
		all := incoherentToys(t, 2, true, nil)
		all[1].adds()
		all[0].patch(2)
		for i := range 2 {
			c, want := all[0], uint64(2)
			if (i == 0) == oldFirst {
				c, want = all[1], 1
				c.forgetCode()
			}
			require.Equal(t, c.adds(), want, "old code first %t: CPU %d adds", oldFirst, c.Num)
		}
	}
}

// TestLinesThatLeave has first-level caches lose a line: the instruction cache fetches it again, and the data cache has written it
// back.
func TestLinesThatLeave(t *testing.T) {
	small := func(cfg *cpus.Config) {
		cfg.L1I.Size, cfg.L1I.Ways, cfg.L1D.Size, cfg.L1D.Ways = 1<<10, 2, 1<<10, 2
	}
	for _, n := range []int{1, 2} {
		for _, x := range []struct {
			code, data bool
			want       uint64
		}{{false, false, 1}, {true, false, 1}, {false, true, 1}, {true, true, 2}} {
			c := incoherentToys(t, n, false, small)[0]
			c.adds()
			c.patch(2)
			for i := range uint64(4) {
				if at := codeAt + (i+1)<<10; x.data {
					Load[uint64](&c.Core, at)
				}
			}
			for i := range uint64(4) {
				if at := codeAt + (i+1)<<10; x.code {
					toyWrite(c, at, [4]byte{toyHalt})
					c.goFrom(at)
				}
			}
			require.Equal(t, c.adds(), x.want, "%d CPUs; left the caches: code %t, data %t: it adds", n, x.code, x.data)
		}
	}
}

// TestOneLineInvalidatedAfterItLeft has a line invalidated, lost and changed again: the invalidation was of what has left.
func TestOneLineInvalidatedAfterItLeft(t *testing.T) {
	c := incoherentToys(t, 1, true, func(cfg *cpus.Config) { cfg.L1I.Size, cfg.L1I.Ways = 1<<10, 2 })[0]
	c.adds()
	c.InvalidateFetch(codeAt)
	for i := range uint64(4) {
		at := codeAt + (i+1)<<10
		toyWrite(c, at, [4]byte{toyHalt})
		c.goFrom(at)
	}
	c.patch(2)
	require.Equal(t, c.adds(), 2, "a line that is fetched again adds")
	c.patch(3)
	c.SyncContext()
	require.Equal(t, c.adds(), 2, "a line that was invalidated before it was fetched adds")
}

// TestWritesFromOutside has no CPU write: all see it at once, whatever was held back. The next store of a CPU is held back as the first.
func TestWritesFromOutside(t *testing.T) {
	for _, n := range []int{1, 2} {
		all := incoherentToys(t, n, false, nil)
		c, last := all[0], all[n-1]
		last.adds()
		c.patch(2)
		require.Equal(t, last.adds(), 1, "a store that is held back adds")
		toyWrite(c, codeAt, adding(3)...)
		require.Equal(t, last.adds(), 3, "%d CPUs: what was written from outside adds", n)
		c.patch(4)
		require.Equal(t, last.adds(), 3, "%d CPUs: a store behind it is seen: it adds", n)
	}
}

// TestWritesOverTwoLines has one write from outside reach into a second line.
func TestWritesOverTwoLines(t *testing.T) {
	c := incoherentToys(t, 1, true, nil)[0]
	const second = codeAt + 64
	toyWrite(c, second, adding(1)...)
	run := func() uint64 {
		c.R[1] = 0
		c.goFrom(second)
		return c.R[1]
	}
	run()
	in := adding(2)[0]
	Store(&c.Core, second, binary.LittleEndian.Uint32(in[:]))
	require.Equal(t, run(), 1, "a line that was stored to adds")
	c.Memory.Write(second-4, slices.Concat([]byte{toyNop, 0, 0, 0}, []byte{toyAdd, 1, 1, 3}))
	require.Equal(t, run(), 3, "the second line of a write adds")
}

// TestCodeAsExecuted has Code give the bytes of a line as the CPU executes them, beside another one as it is in memory. An observer is
// told the same.
func TestCodeAsExecuted(t *testing.T) {
	const second = codeAt + 64
	for _, x := range []struct {
		fetched uint64 // what the instruction cache has
		first   []byte
		second  []byte
	}{{codeAt, []byte{toyAdd, 1, 1, 5}, []byte{toyFault, 0, 0, 0}}, {second, []byte{toyAdd, 1, 1, 7}, []byte{toyHalt, 0, 0, 0}}} {
		c := incoherentToys(t, 1, true, nil)[0]
		toyWrite(c, second-4, [4]byte{toyAdd, 1, 1, 5}, [4]byte{toyHalt})
		c.missFetch(x.fetched)
		Store[uint32](&c.Core, second-4, toyAdd|1<<8|1<<16|7<<24)
		Store[uint32](&c.Core, second, toyFault)
		got := fmt.Sprint(c.Code(second-4, 8), c.Code(second-4, 4), c.Code(second, 4), c.Code(1<<30, 4))
		require.Equal(t, got, fmt.Sprint(slices.Concat(x.first, x.second), x.first, x.second, []byte(nil)), "fetched %#x: code is", x.fetched)
		var seen steps
		c.Observe(&seen)
		c.R[PC] = second - 4
		c.Steps(1, soon)
		require.That(t, len(seen) == 1 && slices.Equal(seen[0].Code, x.first), "an observer is told of %+v", seen)
	}
}

// TestSyncEndsTheRunningBlock has an instruction of a block change the one behind it, which is executed as it was unless the context
// is synchronized in between.
func TestSyncEndsTheRunningBlock(t *testing.T) {
	for _, syncs := range []bool{false, true} {
		c := incoherentToys(t, 1, false, nil)[0]
		const at = codeAt + 0x100
		toyWrite(c, at,
			c.do(Stores, func() { Store[uint32](&c.Core, at+8, toyAdd|1<<8|1<<16|9<<24) }),
			c.do(0, func() {
				c.CleanData(at)
				c.InvalidateFetch(at)
				if syncs {
					c.SyncContext()
				}
			}), adding(1)[0], [4]byte{toyHalt})
		c.R[1] = 0
		c.goFrom(at)
		want := uint64(1)
		if syncs {
			want = 9
		}
		require.Equal(t, c.R[1], want, "synchronized %t: the instruction behind it adds", syncs)
	}
}

// TestCoherentCachesNeedNoSteps has stores reach fetches at once, and the steps do nothing.
func TestCoherentCachesNeedNoSteps(t *testing.T) {
	c := newToy(t, toyConfig(cpus.Window, 64), 1<<20, codeAt, adding(1)...)
	require.That(t, !c.Incoherent() && incoherentToys(t, 1, true, nil)[0].Incoherent(), "which caches are incoherent is told wrong")
	c.adds()
	c.patch(2)
	require.Equal(t, c.adds(), 2, "a store to code adds")
	c.CleanData(codeAt)
	c.CleanAllData()
	c.InvalidateFetch(codeAt)
	c.InvalidateAllFetch(true)
	c.SyncContext()
	misses := c.Counts.L1IMisses
	require.That(t, c.adds() == 2 && c.Counts.L1IMisses == misses, "the steps have lines fetched again")
}

// TestInvalidatedLinesAreFetchedAgain prices the way: a synchronization costs the fetch of lines that were invalidated, and no more.
func TestInvalidatedLinesAreFetchedAgain(t *testing.T) {
	c := incoherentToys(t, 1, true, nil)[0]
	c.adds()
	for _, x := range []struct {
		at   uint64
		want uint64
	}{{codeAt, 1}, {codeAt + 64, 0}} {
		misses := c.Counts.L1IMisses
		c.InvalidateFetch(x.at)
		c.SyncContext()
		c.adds()
		require.Equal(t, c.Counts.L1IMisses-misses, x.want, "invalidated at %#x: lines are fetched again,", x.at)
	}
}

// TestFirstLines invalidates a line into which the last instruction of the line before reaches, also where that one is the first of memory.
func TestFirstLines(t *testing.T) {
	for _, end := range []uint64{granule, 2 * granule, codeAt + 2*granule} {
		c := incoherentToys(t, 1, true, nil)[0]
		toyWrite(c, end-2, adding(1)...)
		for n := uint8(1); n <= 2; n++ {
			c.R[1] = 0
			c.goFrom(end - 2)
			require.Equal(t, c.R[1], uint64(n), "the instruction into %#x adds", end)
			Store(&c.Core, end+1, n+1)
			c.InvalidateFetch(end)
			c.SyncContext()
		}
	}
}
