package ppc64

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

// Kinds of caches that these tests know.
const (
	coherent = iota
	writeThrough
	writeBack // incoherent, as the next one
	kinds
)

var kindNames = [kinds]string{"coherent", "incoherent, data written through", "incoherent, data written back"}

// keep gives a world caches of a kind.
func (w *world) keep(kind int) {
	w.cfg.L1I.Incoherent = kind != coherent
	w.cfg.L1D.WriteThrough = kind == writeThrough
}

// Instructions on blocks, of the address in a register.

func dcbst(rb uint32) uint32  { return insnX(31, 0, 0, rb, 54) }
func icbiOf(rb uint32) uint32 { return insnX(31, 0, 0, rb, 982) }

// changed is a function that is changed, and the first of a few lines of code.
const changed = testCode + 0x1000

// fetchModel says what CPUs fetch, in the plainest way: every cache has bytes, and nothing is ever evicted.
type fetchModel struct {
	kind    int
	data    []line32         // newest
	below   []line32         // of the data caches
	owner   []int            // the CPU whose data cache has stores that are not below, or -1
	fetched []map[int]line32 // by CPU and line
	void    []map[int]bool   // invalidated, by CPU and line
	near    []map[int]bool   // in a cache of the second level, whose CPU asks nobody for it, by CPU and line
}

// line32 is a line of words.
type line32 [32]uint32

func (m *fetchModel) writeBack(line int) { m.below[line], m.owner[line] = m.data[line], -1 }

// access is a load of a CPU. One that asks others for the line has its stores written back.
func (m *fetchModel) access(cpu, line int) {
	if m.owner[line] != cpu && m.owner[line] >= 0 && !m.near[cpu][line] {
		m.writeBack(line)
	}
	m.near[cpu][line] = true
}

func (m *fetchModel) store(cpu, line, word int, v uint32) {
	if m.owner[line] != cpu && m.owner[line] >= 0 {
		m.writeBack(line)
	}
	for i := range m.near {
		m.near[i][line] = i == cpu
	}
	m.data[line][word] = v
	m.owner[line] = cpu
	if m.kind != writeBack {
		m.writeBack(line)
	}
}

func (m *fetchModel) invalidate(line int) {
	for cpu := range m.fetched {
		if _, ok := m.fetched[cpu][line]; ok {
			m.void[cpu][line] = true
		}
	}
}

func (m *fetchModel) sync(cpu int) {
	for line := range m.void[cpu] {
		delete(m.fetched[cpu], line)
	}
	m.void[cpu] = map[int]bool{}
}

func (m *fetchModel) execute(cpu, line, word int) uint32 {
	if m.kind == coherent {
		return m.data[line][word]
	}
	if _, ok := m.fetched[cpu][line]; !ok {
		m.near[cpu][line] = true // a fetch writes no stores back
		m.fetched[cpu][line] = m.below[line]
	}
	return m.fetched[cpu][line][word]
}

// TestFetchModel compares CPUs, step by step, with the model: random stores to a few lines of code, what
// software does about them, and executions.
func TestFetchModel(t *testing.T) {
	const lines = 5
	routines := []uint32{insnD(36, 4, 5, 0), dcbst(5), icbiOf(5), insnIsync, insnD(32, 6, 5, 0), insnX(31, 0, 0, 5, 86)}
	for kind := range kinds {
		for n := 1; n <= 3; n++ {
			stale := 0
			for seed := range uint64(20) {
				rng := rand.New(rand.NewPCG(seed, uint64(n)))
				w := newWorld(t, []string{cpus.Throughput, cpus.Window}[seed%2], routines)
				w.keep(kind)
				if n > 1 {
					w.bus.Directory = mmu.NewDirectory(n)
				}
				m := &fetchModel{kind: kind, data: make([]line32, lines), below: make([]line32, lines), owner: make([]int, lines)}
				for line := range lines {
					for i := range m.data[line] {
						m.data[line][i] = li(3, 0)
					}
					w.words(changed-kernelMap+128*uint64(line), m.data[line][:]...)
					m.writeBack(line)
				}
				var all []*CPU
				for range n {
					all = append(all, w.cpu())
					m.fetched, m.void = append(m.fetched, map[int]line32{}), append(m.void, map[int]bool{})
					m.near = append(m.near, map[int]bool{})
				}
				for step := range 400 {
					cpu, line, word := rng.IntN(n), rng.IntN(lines), rng.IntN(32)
					c := all[cpu]
					at := changed + 128*uint64(line) + 4*uint64(word)
					v := li(3, step+1)
					c.R[4], c.R[5] = uint64(v), at
					what := rng.IntN(8)
					switch what {
					case 0:
						m.store(cpu, line, word, v)
					case 1, 5: // dcbf too
						m.access(cpu, line)
						m.writeBack(line)
					case 2:
						m.access(cpu, line)
						m.invalidate(line)
					case 3:
						m.sync(cpu)
					case 4:
						m.access(cpu, line)
					}
					c.R[rPC] = testCode + 4*uint64(what)
					if what >= len(routines) {
						c.R[rPC] = at
					}
					if done, e := c.Steps(1, c.Now()+1e6); done != 1 {
						t.Fatalf("step %d: %+v", step, e)
					}
					if what < len(routines) {
						continue
					}
					want := m.execute(cpu, line, word)
					if want != m.data[line][word] {
						stale++
					}
					if got := c.R[3]; got != uint64(want&0xffff) {
						t.Fatalf("%s, %d CPUs, seed %d, step %d: cpu %d executes the word of step %d, want that of step %d (memory has %#x)",
							kindNames[kind], n, seed, step, cpu, int(got)-1, int(want&0xffff)-1,
							w.mem.Load(binary.BigEndian, at-kernelMap, 4))
					}
				}
			}
			if (stale > 0) != (kind != coherent) {
				t.Errorf("%s, %d CPUs: %d stale words were executed", kindNames[kind], n, stale)
			}
		}
	}
}

// TestEvictedCode lets lines leave the caches between a store and the code: an instruction cache that has lost
// the line looks below the data cache, which writes back what it loses.
func TestEvictedCode(t *testing.T) {
	const sets = 32 // of both first-level caches of the tests' machine
	for _, x := range []struct {
		name       string
		code, data bool // what is filled with other lines
		want       [kinds]uint64
	}{
		{"neither", false, false, [kinds]uint64{2, 1, 1}},
		{"code", true, false, [kinds]uint64{2, 2, 1}},
		{"data", false, true, [kinds]uint64{2, 1, 1}},
		{"both", true, true, [kinds]uint64{2, 2, 2}},
	} {
		for kind := range kinds {
			w := newWorld(t, cpus.Throughput, []uint32{insnD(36, 6, 5, 0), insnD(32, 8, 5, 0)})
			w.keep(kind)
			c := w.cpu()
			step := func(pc, r5 uint64) {
				c.R[rPC], c.R[5], c.R[6] = pc, r5, uint64(li(3, 2))
				if n, e := c.Steps(1, c.Now()+1e6); n != 1 {
					t.Fatalf("%#x: %+v", pc, e)
				}
			}
			for i := range uint64(9) {
				w.words(changed-kernelMap+i*sets*128, li(3, 1))
			}
			step(changed, 0)
			step(testCode, changed)
			for i := uint64(1); i < 9; i++ {
				if x.data {
					step(testCode+4, changed+i*sets*128)
				}
				if x.code {
					step(changed+i*sets*128, 0)
				}
			}
			c.R[3] = 0
			if step(changed, 0); c.R[3] != x.want[kind] {
				t.Errorf("%s evicted, %s: executed the word %d, want %d", x.name, kindNames[kind], c.R[3], x.want[kind])
			}
		}
	}
}

// TestCodeFromOutside holds that what no CPU stores is seen by every CPU at once, and that a CPU's next store
// is held back again.
func TestCodeFromOutside(t *testing.T) {
	w := newWorld(t, cpus.Throughput, []uint32{insnD(36, 6, 5, 0)})
	w.keep(writeBack)
	w.words(changed-kernelMap, li(3, 1))
	c := w.cpu()
	run := func(pc uint64) uint64 {
		c.R[rPC], c.R[5], c.R[6] = pc, changed, uint64(li(3, 9))
		c.Steps(1, c.Now()+1e6)
		return c.R[3]
	}
	run(testCode)
	run(changed)
	w.words(changed-kernelMap, li(3, 2))
	require.Equal(t, run(changed), 2, "executed the word after a write from outside")
	run(testCode)
	require.Equal(t, run(changed), 2, "executed the word after a store of the CPU")
}

// TestIncoherentTakesTheSameTime runs a program that changes no code: what caches know beside tags costs nothing.
func TestIncoherentTakesTheSameTime(t *testing.T) {
	const data, step, times = 0x200000, 72, 600
	code := append(address(5, data), address(6, times)...)
	code = append(code, mtspr(9, 6))
	loop := len(code)
	code = append(code, insnD(36, 5, 5, 0), insnD(32, 7, 5, 64), addiTo(5, 5, step), addTo(8, 8, 7))
	code = append(code, branchIf(16, 0, 4*(loop-len(code))), insnTrap)
	for _, model := range []string{cpus.Throughput, cpus.Window} {
		var took [kinds]int64
		for kind := range kinds {
			w := newWorld(t, model, code)
			w.keep(kind)
			c := w.cpu()
			c.setMSR(c.msr &^ msrDR)
			if v := to(t, c); v != vecProgram || c.R[5] != data+step*times {
				t.Fatalf("%s at %#x, r5 %#x", vectorName(v), c.srr[0], c.R[5])
			}
			took[kind] = int64(c.Now())
		}
		require.That(t, took[writeBack] == took[coherent] && took[writeThrough] == took[coherent], "%s: %d ticks by kind of cache", model, took)
	}
}

// steps are the words that an observer was shown, by address.
type steps map[uint64]uint32

func (s steps) Step(x *cpus.Step) { s[x.PC] = binary.BigEndian.Uint32(x.Code) }

// TestObservedCodeIsTheExecuted has a trap executed that was changed in memory. Its interrupt synchronizes, so that
// the new word would be fetched now, and the observer is shown the trap.
func TestObservedCodeIsTheExecuted(t *testing.T) {
	const sync, at = 0x7c0004ac, changed + 4
	code := []uint32{insnI(testCode, changed) | 1, insnD(36, 6, 5, 0), dcbst(5), sync, icbiOf(5)}
	code = append(code, insnI(testCode+4*uint64(len(code)), at))
	w := newWorld(t, cpus.Throughput, code)
	w.words(changed-kernelMap, insnBlr, insnTrap)
	w.keep(writeThrough)
	c := w.cpu()
	seen := steps{}
	c.Observe(seen)
	c.R[5], c.R[6] = at, uint64(li(3, 2))
	if v := to(t, c); v != vecProgram || c.srr[0] != at || seen[at] != insnTrap {
		t.Errorf("%s at %#x, where the observer has seen %#x", vectorName(v), c.srr[0], seen[at])
	}
}
