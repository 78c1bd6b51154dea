package sim

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

// lowest is find as it is described: every place is tried.
func lowest(h *heap, from, size, align uint64) (uint64, bool) {
	for at := (from + align - 1) &^ (align - 1); at+size <= h.hi; at += align {
		free := true
		for _, b := range h.used {
			free = free && (b.hi <= at || at+size <= b.lo)
		}
		if free {
			return at, true
		}
	}
	return 0, false
}

// TestHeapFindsTheLowestPlace hands out and takes back at random, with drawn pages and without.
func TestHeapFindsTheLowestPlace(t *testing.T) {
	full := false
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 1))
		m := &Machine{mem: mmu.NewMemory(1 << 20), heap: newHeap(0x40000, 0x50000, 0x1000000, Layout{})}
		h := &m.heap
		if seed%2 != 0 {
			h.pages, h.offset = rand.NewPCG(seed, 2), 0x40
		}
		for range 600 {
			if rng.IntN(3) == 0 && len(h.used) > 0 {
				b := h.used[rng.IntN(len(h.used))]
				require.NoError(t, m.Free(h.base+b.lo))
				require.Need(t, m.Free(h.base+b.lo) != nil, "freed twice")
				continue
			}
			size, align := []uint64{16, 40, 256, 900, 4096}[rng.IntN(5)], uint64(16)<<rng.IntN(5)
			from := h.begin()
			if size >= pageBytes {
				if h.pages != nil {
					continue // where the search begins is drawn anew
				}
				from = h.lo
			}
			want, ok := lowest(h, from, size, align)
			if !ok {
				want, ok = lowest(h, h.lo, size, align)
			}
			full = full || !ok
			if got, err := m.Alloc(size, align); (err == nil) != ok || ok && got != h.base+want {
				t.Fatalf("seed %d: %d bytes aligned to %d at %#x (%v), want %#x (%v)", seed, size, align, got, err, h.base+want, ok)
			}
		}
	}
	require.That(t, full, "the heap was never full")
}

// TestNear finds what lies at an address of the heap where the kernel executes memory, up to the end of that mapping.
func TestNear(t *testing.T) {
	const heap, text = 0xc0000000, 0xf0000000
	m := &Machine{mem: mmu.NewMemory(1 << 20), space: Space{Heap: heap, Maps: []mmu.Mapping{
		{VA: 0x1000, Exec: true, Size: 1 << 16}, {VA: 0x2000, PA: 0, Exec: false}, {VA: text, PA: 0x10000, Exec: true, Limit: 0x20000},
	}}}
	for pa, want := range map[uint64]bool{0: false, 0xffff: false, 0x10000: true, 0x2ffff: true, 0x30000: false, 1 << 20: false} {
		got, ok := m.Near(heap + pa)
		require.That(t, ok == want && (!ok || got == text+pa-0x10000) && (ok || got == 0), "%#x of the heap is executed at %#x, %v", pa, got, ok)
	}
	m.heap = newHeap(0x10000, 0x40000, heap, Layout{})
	for i, want := range []uint64{text, text + 0x8000, text + 0x10000, text + 0x18000, 0} {
		at, err := m.AllocNear(0x7001)
		require.That(t, at == want && (err == nil) == (want != 0), "module %d is at %#x, %v; want %#x", i, at, err, want)
	}
	require.NoError(t, m.FreeNear(text+0x8000))
	require.That(t, m.FreeNear(text+0x8000) != nil && m.FreeNear(text+0x10001) != nil, "what is not allocated is freed")
	require.Got(m.AllocNear(0x8000))(t, text+0x8000, "a module in the place of another")
	m.heap = newHeap(0x18000, 0x40000, heap, Layout{})
	for _, size := range []uint64{0, 1<<20 + 1, 1 << 63, 0xffff_ffff_ffff_0000} {
		require.That(t, require.Err(m.AllocNear(size)) != nil, "memory of %#x bytes for a module", size)
	}
}

// TestRunQueueFits tries all small queues: one fits that has the CPUs that run, each where its place says.
func TestRunQueueFits(t *testing.T) {
	fits := 0
	for n := range 4 * 4 * 4 * 5 * 5 * 4 * 4 {
		digit := func(base int) int {
			d := n % base
			n /= base
			return d
		}
		doing := []activity{activity(digit(4)), activity(digit(4))}
		size := digit(4)
		q := &runQueue{pos: []int{digit(4) - 1, digit(4) - 1}, time: make([]clock.Ticks, 2)}
		q.heap = append(q.heap, []int{digit(5) - 1, digit(5) - 1, 0}[:size]...)
		want := size <= 2
		for cpu, a := range doing {
			is := q.pos[cpu] >= 0 && q.pos[cpu] < size && q.heap[q.pos[cpu]] == cpu
			want = want && a <= asleep && is == (a == running) && (is || q.pos[cpu] < 0)
		}
		in := map[int]bool{}
		for _, cpu := range q.heap {
			want = want && (cpu == 0 || cpu == 1) && !in[cpu] && doing[cpu] == running
			in[cpu] = true
		}
		require.Need(t, q.fits(doing) == want, "%v with %v: %v", q, doing, !want)
		if want {
			fits++
		}
	}
	require.That(t, fits > 0 && !(&runQueue{pos: []int{-1}}).fits([]activity{parked}) && !(&runQueue{time: []clock.Ticks{0}}).fits([]activity{parked}), "%d fit", fits)
}

// TestQueueFits has each event of a queue be where its name says.
func TestQueueFits(t *testing.T) {
	for name, damage := range map[string]func(q *Queue){
		"":                    func(*Queue) {},
		"another slot":        func(q *Queue) { q.heap[0].id++ },
		"no slot":             func(q *Queue) { q.heap[0].id |= 3 },
		"another place":       func(q *Queue) { q.slots[0] ^= 1 },
		"a free one too high": func(q *Queue) { q.free = append(q.free, 3) },
	} {
		var q Queue
		for range 3 {
			q.Push(1, nil)
		}
		q.Cancel(q.heap[2].id)
		damage(&q)
		require.Equal(t, q.fits(), name == "", "a queue with %q", name)
	}
}

// TestBind gives functions to events that are there, by their names, and to no others.
func TestBind(t *testing.T) {
	var q Queue
	a, b := q.Push(5, nil), q.Push(7, nil)
	q.Cancel(a)
	c := q.Push(9, nil) // in the slot of the first
	called := ""
	for id, want := range map[EventID]clock.Ticks{0: 0, a: 0, b: 7, c: 9, b + 1: 0, c + 5: 0, 1 << slotBits: 0} {
		at, ok := q.Bind(id, func() { called += fmt.Sprint(want) })
		require.That(t, at == want && ok == (want != 0), "event %#x is at %d, %v; want %d", id, at, ok, want)
	}
	for range 2 {
		_, f, _ := q.Pop()
		f()
	}
	require.Equal(t, called, "79", "functions of the events")
}

// TestNowBetweenTurns is the time of the last event where no CPU has its turn.
func TestNowBetweenTurns(t *testing.T) {
	var m Machine
	m.init(&Config{CPUs: 2})
	m.now = 7
	require.Equal(t, fmt.Sprint(m.Now(), m.slept, m.asleepAt), "7 [0 0] [-1 -1]", "a machine that has not run")
}

// TestRunQueue compares the two CPUs that are furthest behind with a search through all, over a long random history.
func TestRunQueue(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for n := 1; n <= 9; n++ {
		var q runQueue
		q.init(n)
		in := map[int]clock.Ticks{}
		least := func(but int) (cpu int, ok bool) {
			for i := range n {
				if at, is := in[i]; is && i != but && (!ok || at < in[cpu]) {
					cpu, ok = i, true
				}
			}
			return cpu, ok
		}
		for range 3000 {
			cpu := r.IntN(n)
			if r.IntN(4) == 0 {
				q.drop(cpu)
				delete(in, cpu)
			} else {
				in[cpu] = clock.Ticks(r.IntN(20))
				q.put(cpu, in[cpu])
			}
			first, ok := q.first()
			want, some := least(-1)
			require.Need(t, first == want && ok == some, "of %v the first is %d, %v", in, first, ok)
			second, ok := q.second()
			want, some = least(first)
			require.Need(t, !ok && (!some || len(in) < 2) || ok && some && second == want, "of %v the second is %d, %v", in, second, ok)
		}
	}
}
