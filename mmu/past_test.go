package mmu

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// pastWorld is a machine of three CPUs that store bytes nobody stores again soon, beside a history of each byte.
type pastWorld struct {
	t       *testing.T
	mem     *Memory
	past    *Past
	cpus    []*StoreBuffer
	history [64][]byte // of each byte, as all CPUs have it
	seen    [3][64]int // the newest of the history that a CPU has seen
	own     [3][64]int // what a CPU has stored last, or -1
	logged  uint64     // stores of the window that are in the history
}

func newPastWorld(t *testing.T) *pastWorld {
	w := &pastWorld{t: t, mem: NewMemory(1 << 13)}
	w.past = NewPast(w.mem)
	for i := range w.own {
		b := w.past.Buffer(4, nil)
		w.cpus = append(w.cpus, b)
		for at := range w.own[i] {
			w.own[i][at] = -1
		}
	}
	for at := range w.history {
		w.history[at] = []byte{0}
	}
	return w
}

// at is a byte's physical address: half of them lie in another page.
func (w *pastWorld) at(i int) uint64 { return uint64(i&31 | i>>5<<12) }

// check holds what all have, and what each CPU sees: its own store while it waits, and never something older than before.
func (w *pastWorld) check() {
	w.t.Helper()
	for ; w.logged < w.past.last; w.logged++ {
		s := &w.past.log[(w.logged+1)%pastStores]
		for i := range w.history {
			if s.by >= 0 && overlaps(s.pa, s.n, w.at(i), 1) {
				w.history[i] = append(w.history[i], byte(s.now>>(8*(w.at(i)-s.pa))))
			}
		}
	}
	for i := range w.history {
		if v := w.mem.Bytes(w.at(i), 1)[0]; v != w.history[i][len(w.history[i])-1] {
			w.history[i] = append(w.history[i], v)
		}
	}
	for cpu, b := range w.cpus {
		b.Show()
		for i := range w.history {
			v, h := w.mem.Bytes(w.at(i), 1)[0], w.history[i]
			switch held := slices.ContainsFunc(b.held, func(s heldStore) bool { return overlaps(s.pa, s.n, w.at(i), 1) }); {
			case held && int(v) != w.own[cpu][i]:
				w.t.Fatalf("cpu %d sees %d at %d, and has stored %d", cpu, v, i, w.own[cpu][i])
			case held:
			default:
				at := slices.Index(h[w.seen[cpu][i]:], v)
				if at < 0 {
					w.t.Fatalf("cpu %d sees %d at %d, of %v from %d on", cpu, v, i, h, w.seen[cpu][i])
				}
				w.seen[cpu][i] += at
			}
		}
		b.Hide()
	}
}

// TestPast makes stores, loads, barriers and choices at random, as nobody would in this order.
func TestPast(t *testing.T) {
	for seed := range uint64(200) {
		w, r := newPastWorld(t), rand.New(rand.NewPCG(seed, 1))
		next := byte(0)
		for range 300 {
			cpu, i := r.IntN(3), r.IntN(64)
			b := w.cpus[cpu]
			coin := func(uint64) bool { return r.IntN(3) == 0 }
			b.Show()
			switch r.IntN(6) {
			case 0, 1:
				n := 1 << r.IntN(4)
				i = i &^ (n - 1)
				v := uint64(0)
				for k := range n {
					next++
					v |= uint64(next) << (8 * k)
					w.own[cpu][i+k] = int(next)
				}
				b.Store(w.at(i), v, n)
			case 2:
				b.Touch(w.at(i))
				b.Depend(uint64(r.IntN(int(w.past.last + 1))))
				b.Load(w.at(i), 1)
			case 3:
				b.Newest(w.at(i), 1)
			case 4:
				b.Order()
			case 5:
				if r.IntN(4) == 0 {
					b.DrainLast()
					b.SeeAll()
				}
			}
			b.Hide()
			if r.IntN(8) == 0 {
				next++
				w.check()
				w.mem.Write(w.at(i), []byte{next})
				w.check()
			}
			b.DrainWhere(coin)
			b.SeeWhere(func(int, uint64) bool { return r.IntN(2) == 0 })
			w.check()
		}
		for _, b := range w.cpus {
			b.DrainAll()
			b.SeeAll()
		}
		w.check()
	}
}
