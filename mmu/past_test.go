package mmu

import (
	"math/rand/v2"
	"slices"
	"testing"

	"kprobesim/internal/require"
)

// pastCPUs is the number of CPUs of a model, and pastRoom that of stores that wait.
const (
	pastCPUs = 3
	pastRoom = 4
)

// pastModel follows the description of Past without its short cuts: it has all stores that there ever were.
type pastModel struct {
	log     []*modelStore
	of      map[uint64][]*modelStore // by byte
	last    uint64                   // of those that can be unseen
	readers map[[2]uint64]bool       // pages and CPUs
	cpus    [pastCPUs]modelCPU
}

type modelCPU struct {
	held           []*modelStore
	epoch          int
	stored         uint64
	depends        uint64
	blinded, losts int
}

type modelStore struct {
	pa           uint64
	n            int
	v            uint64
	at           uint64 // in the order of all, 0 for those that nobody can miss
	by           int
	number, view uint64
	epoch        int
	unseen       [pastCPUs]bool
}

func (s *modelStore) has(pa uint64, n int) bool {
	return max(s.pa, pa) < min(s.pa+uint64(s.n), pa+uint64(n))
}

func hasSome(all []*modelStore, s *modelStore) bool {
	return slices.ContainsFunc(all, func(o *modelStore) bool { return o.has(s.pa, s.n) })
}

// see has a CPU see some stores, and older ones of the same bytes.
func (m *pastModel) see(cpu int, some func(s *modelStore) bool) {
	var seen []*modelStore
	for _, s := range slices.Backward(m.log) {
		if s.unseen[cpu] && (some(s) || hasSome(seen, s)) {
			s.unseen[cpu] = false
			seen = append(seen, s)
		}
	}
}

func (m *pastModel) seeAt(cpu int, pa uint64, n int) {
	m.see(cpu, func(s *modelStore) bool { return s.has(pa, n) })
}

func (m *pastModel) blind(cpu int) bool {
	return slices.ContainsFunc(m.log, func(s *modelStore) bool { return s.unseen[cpu] })
}

// add makes a store the newest one. What is too old is seen by all.
func (m *pastModel) add(s *modelStore, counts bool) {
	if counts {
		m.last++
		s.at = m.last
		for cpu := range m.cpus {
			m.see(cpu, func(o *modelStore) bool { return o.at > 0 && o.at+pastStores <= m.last })
		}
	}
	m.log = append(m.log, s)
	for i := range s.n {
		m.of[s.pa+uint64(i)] = append(m.of[s.pa+uint64(i)], s)
	}
}

func (m *pastModel) private(cpu int, pa uint64) bool {
	for o := range m.cpus {
		if o != cpu && m.readers[[2]uint64{pa >> 12, uint64(o)}] {
			return false
		}
	}
	return true
}

// publish has a store leave its CPU.
func (m *pastModel) publish(s *modelStore) {
	private := m.private(s.by, s.pa)
	for cpu := range m.cpus {
		if private || cpu == s.by {
			m.seeAt(cpu, s.pa, s.n)
		}
	}
	m.add(s, !private)
	for cpu := range m.cpus {
		if c := &m.cpus[cpu]; !private && cpu != s.by {
			if !m.blind(cpu) {
				c.blinded++
			}
			c.losts += int(s.pa)*16 + s.n
			s.unseen[cpu] = true
		}
	}
}

func (m *pastModel) leave(cpu, i int) {
	c := &m.cpus[cpu]
	s := c.held[i]
	c.held = slices.Delete(c.held, i, i+1)
	m.publish(s)
}

func (m *pastModel) store(cpu int, pa, v uint64, n int) {
	c := &m.cpus[cpu]
	s := &modelStore{pa: pa, n: n, v: v, by: cpu, view: c.depends, epoch: c.epoch}
	if m.private(cpu, pa) && (len(c.held) == 0 || c.held[0].epoch == c.epoch) && !hasSome(c.held, s) {
		m.publish(s)
		return
	}
	if c.stored++; len(c.held) == pastRoom {
		m.leave(cpu, 0)
	}
	s.number = c.stored
	c.held = append(c.held, s)
	if isPastCode(pa) {
		m.drainLast(cpu)
		for o := range m.cpus {
			m.seeAt(o, pa, n)
		}
	}
}

func (m *pastModel) drainLast(cpu int) {
	c := &m.cpus[cpu]
	if len(c.held) == 0 {
		return
	}
	last := c.held[len(c.held)-1]
	first := []*modelStore{last}
	for _, s := range slices.Backward(c.held[:len(c.held)-1]) {
		if s.epoch != last.epoch || hasSome(first, s) {
			first = append(first, s)
		}
	}
	for _, s := range slices.Backward(first) {
		m.leave(cpu, slices.Index(c.held, s))
	}
}

func (m *pastModel) drainWhere(cpu int, f func(number uint64) bool) {
	c := &m.cpus[cpu]
	for i := 0; i < len(c.held); {
		if s := c.held[i]; s.epoch == c.held[0].epoch && !hasSome(c.held[:i], s) && f(s.number) {
			m.leave(cpu, i)
		} else {
			i++
		}
	}
}

func (m *pastModel) seeWhere(cpu int, f func(by int, number uint64) bool) {
	for _, s := range slices.Clone(m.log) {
		if s.unseen[cpu] && f(s.by, s.number) {
			m.see(cpu, func(o *modelStore) bool { return o == s })
		}
	}
}

func (m *pastModel) touch(cpu int, pa uint64) {
	if page := [2]uint64{pa >> 12, uint64(cpu)}; !m.readers[page] {
		m.readers[page] = true
		m.see(cpu, func(*modelStore) bool { return true })
	}
}

func (m *pastModel) load(cpu int, pa uint64, n int) (view uint64) {
	c := &m.cpus[cpu]
	m.see(cpu, func(s *modelStore) bool { return s.has(pa, n) && s.at <= c.depends })
	for _, s := range slices.Backward(c.held) {
		if s.pa <= pa && pa+uint64(n) <= s.pa+uint64(s.n) {
			return max(s.view, c.depends)
		}
	}
	if view = c.depends; m.last > pastStores {
		view = max(view, m.last-pastStores)
	}
	for _, s := range m.log {
		if s.at > 0 && s.has(pa, n) && !s.unseen[cpu] {
			view = max(view, s.at)
		}
	}
	return view
}

func (m *pastModel) newest(cpu int, pa uint64, n int) {
	held := m.cpus[cpu].held
	for i := len(held) - 1; i >= 0; i-- {
		if held[i].has(pa, n) {
			m.drain(cpu, i+1)
			break
		}
	}
	m.seeAt(cpu, pa, n)
}

func (m *pastModel) drain(cpu, n int) {
	for range min(n, len(m.cpus[cpu].held)) {
		m.leave(cpu, 0)
	}
}

// written is a store from outside, which all see.
func (m *pastModel) written(pa uint64, v byte) {
	m.add(&modelStore{pa: pa, n: 1, v: uint64(v), by: -1}, true)
	for cpu := range m.cpus {
		m.seeAt(cpu, pa, 1)
		m.cpus[cpu].losts += int(pa)*16 + 1
	}
}

// byteAt has a byte as a CPU sees it: of its own youngest store, or of the newest one of all that it does not miss. CPU -1 misses none.
func (m *pastModel) byteAt(cpu int, pa uint64) byte {
	all := m.of[pa]
	if cpu >= 0 {
		all = slices.DeleteFunc(slices.Clone(all), func(s *modelStore) bool { return s.unseen[cpu] })
		for _, s := range m.cpus[cpu].held {
			if s.has(pa, 1) {
				all = append(all, s)
			}
		}
	}
	if len(all) == 0 {
		return 0
	}
	s := all[len(all)-1]
	return byte(s.v >> (8 * (pa - s.pa)))
}

// pastPlaces are bytes of two pages; the last eight of the first one are code.
const pastPlaces = 64

func pastPlace(i int) uint64 { return uint64(i&31 | i>>5<<12) }

func isPastCode(pa uint64) bool { return pa >= 24 && pa < 32 }

// pastWorld is a machine beside a model of it.
type pastWorld struct {
	t     *testing.T
	r     *rand.Rand
	mem   *Memory
	past  *Past
	cpus  []*StoreBuffer
	told  [pastCPUs]modelCPU
	model *pastModel
}

func newPastWorld(t *testing.T, seed uint64) *pastWorld {
	w := &pastWorld{t: t, r: rand.New(rand.NewPCG(seed, 1)), mem: NewMemory(1 << 13), model: &pastModel{of: map[uint64][]*modelStore{}, readers: map[[2]uint64]bool{}}}
	w.past = NewPast(w.mem)
	for i := range pastCPUs {
		b := w.past.Buffer(pastRoom, [][2]uint64{{24, 32}})
		if told := &w.told[i]; i > 0 {
			b.Tell(func() { told.blinded++ }, func(pa uint64, n int) { told.losts += int(pa)*16 + n })
		}
		w.cpus = append(w.cpus, b)
	}
	return w
}

// check compares what all have, what each CPU sees, and what it was told of.
func (w *pastWorld) check() {
	w.t.Helper()
	for i := range pastPlaces {
		got, want := w.mem.Bytes(pastPlace(i), 1)[0], w.model.byteAt(-1, pastPlace(i))
		require.Need(w.t, got == want, "all have %d at %d, want %d", got, i, want)
	}
	for cpu, b := range w.cpus {
		c := &w.model.cpus[cpu]
		require.Need(w.t, b.Held() == len(c.held) && b.Stored() == c.stored && b.Unseen() == w.model.blind(cpu), "cpu %d holds %d of %d stores and misses some is %v", cpu, b.Held(), b.Stored(), b.Unseen())
		require.Need(w.t, cpu == 0 || w.told[cpu].blinded == c.blinded && w.told[cpu].losts == c.losts, "cpu %d is told of other stores than there are", cpu)
		b.Show()
		for i := range pastPlaces {
			got, want := w.mem.Bytes(pastPlace(i), 1)[0], w.model.byteAt(cpu, pastPlace(i))
			require.Need(w.t, got == want, "cpu %d sees %d at %d, want %d", cpu, got, i, want)
		}
		b.Hide()
	}
}

// TestPast makes stores, loads, barriers and choices at random, as nobody would in this order.
func TestPast(t *testing.T) {
	for seed := range uint64(100) {
		w := newPastWorld(t, seed)
		for range 200 {
			w.step()
			w.check()
		}
	}
}

// step does something in a turn of a CPU, and then something between two turns.
func (w *pastWorld) step() {
	m, r, cpu := w.model, w.r, w.r.IntN(pastCPUs)
	b, n := w.cpus[cpu], 1<<w.r.IntN(4)
	pa := pastPlace(r.IntN(pastPlaces) &^ (n - 1))
	b.Show()
	switch r.IntN(14) {
	case 0, 1, 2, 3:
		v := r.Uint64()
		b.Store(pa, v, n)
		m.store(cpu, pa, v, n)
	case 4, 5:
		b.Touch(pa)
		m.touch(cpu, pa)
	case 6, 7:
		on := m.last - min(m.last, r.Uint64N(2*pastStores))
		b.Depend(on)
		m.cpus[cpu].depends = on
		got, want := b.Load(pa, n), m.load(cpu, pa, n)
		require.Need(w.t, b.Depends() == on && got == want, "a load that depends on %d makes %d, want %d", on, got, want)
	case 8:
		b.Newest(pa, n)
		m.newest(cpu, pa, n)
	case 9, 10:
		b.Order()
		m.cpus[cpu].epoch++
	case 11:
		b.DrainLast()
		m.drainLast(cpu)
	case 12:
		to := m.last + 1 - min(m.last, r.Uint64N(2*pastStores))
		b.SeeUpTo(to)
		m.see(cpu, func(s *modelStore) bool { return s.at <= to })
	case 13:
		n := r.IntN(pastRoom)
		b.Drain(n)
		m.drain(cpu, n)
	}
	b.Hide()
	salt := r.Uint64()
	coin := func(number uint64) bool { return (number+1)*salt>>60 < 5 }
	switch r.IntN(8) {
	case 0:
		v := byte(r.Uint32())
		w.mem.Write(pa, []byte{v})
		m.written(pa, v)
	case 1:
		b.SeeAll()
		m.see(cpu, func(*modelStore) bool { return true })
	case 2, 3:
		b.DrainWhere(coin)
		m.drainWhere(cpu, coin)
	case 4, 5:
		f := func(by int, number uint64) bool { return coin(number<<2 + uint64(by)) }
		b.SeeWhere(f)
		m.seeWhere(cpu, f)
	}
}
