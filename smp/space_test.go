package smp

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"kprobesim/image"
	"kprobesim/internal/require"
)

// ledger counts what services have of the heap.
type ledger struct {
	Guest
	Pages
	live map[uint64]bool
	left int // allocations until one fails
}

func (l *ledger) Alloc(size, align uint64) (uint64, error) {
	if l.left--; l.left < 0 {
		return 0, errFull
	}
	at, err := l.Guest.Alloc(size, align)
	l.live[at] = true
	return at, err
}

var errFull = errors.New("the heap is full")

func (l *ledger) Free(va uint64) error {
	delete(l.live, va)
	return l.Pages.Free(va)
}

// TestRandomPages has processes compute while pages go and come at random, on one CPU and on several: each computes what it does
// alone, what it has stored is not lost, and at the end nothing of the heap is.
func TestRandomPages(t *testing.T) {
	var all []*board
	for _, name := range withSpaces(t) {
		for _, cpus := range []int{1, 3} {
			if uniprocessor(loadImage(t, name)) && cpus > 1 {
				continue
			}
			all = append(all, run(t, name, Options{CPUs: cpus, Tick: true}, (*board).pagesComeAndGo))
		}
	}
	sumEvents(t, "pages", all)
}

// TestHeapIsFull has one allocation after the other fail while a task of each kind is started.
func TestHeapIsFull(t *testing.T) {
	run(t, withSpaces(t)[0], Options{CPUs: 1}, func(b *board) {
		l := &ledger{b.k.g, b.k.spaces.pages, map[uint64]bool{}, math.MaxInt}
		f := b.program()
		b.k.g = l
		for name, start := range map[string]func() error{
			"a thread": func() error { return require.Err(b.k.Go(b, "t", func(Caller) error { return nil })) },
			"a file":   func() error { return require.Err(b.k.Program()) },
			"a process": func() error {
				_, _, err := b.k.SpawnProcess(b, Process{Thread: onCPU(0, "user_targets", 1), Program: f})
				return err
			},
		} {
			failed := -1
			for err := errFull; err != nil; failed++ {
				l.left = failed + 1
				err = start()
				require.Need(t, err == nil || errors.Is(err, errFull), "%s without an allocation: %v", name, err)
			}
			require.That(t, failed > 0 && l.left == 0, "%s asks for %d allocations, and %d are left", name, failed, l.left)
		}
	})
}

// computing is a process and what it is to return.
type computing struct {
	task uint64
	s    *Space
	want int32
	data uint64 // what it has counted to at the end
}

func (b *board) pagesComeAndGo() {
	l := &ledger{b.k.g, b.k.spaces.pages, map[uint64]bool{}, math.MaxInt}
	b.k.g, b.k.spaces.pages = l, l
	f, rng := b.program(), rand.New(rand.NewPCG(uint64(b.k.CPUs()), 1))
	last := slices.MaxFunc(b.k.userSegments(), func(a, b image.Segment) int { return cmp.Compare(a.VA, b.VA) })
	require.Equal(b.t, b.k.mem.Load(f.Inode, b.k.spaces.l.isize), last.VA+uint64(len(last.Data))-f.Base, "the file has bytes")
	text, data := b.at("user_mix"), b.at("user_mixed")
	places := []uint64{text, data, b.k.spaces.l.top - 16}
	wants := map[uint64]int32{}
	compute := func(n uint64, touches bool) computing {
		p := Process{Thread: Thread{Name: "computes", CPU: anyCPU, Fn: "user_mixes", Arg: n}, Program: f}
		if touches {
			n, p.Fn, p.Arg, p.WritableText = 20, "user_touches_and_mixes", text&^7, true
		}
		task, s := b.process(p)
		return computing{task, s, wants[n], n + 3}
	}
	end := func(x computing) int32 {
		got := b.exit(x.task)
		b.do(b.k.Touch(b, x.s, data, false))
		at := b.page(x.s, data).Address
		require.Got(b.m.Load(at+data&0xfff, b.word()))(b.t, x.data, "counted to")
		return got
	}
	for _, n := range []uint64{20, 300, 1000} {
		wants[n] = end(compute(n, false))
	}
	var running []computing
	for range 60 {
		if len(running) == 0 || len(running) < 5 && rng.IntN(6) == 0 {
			running = append(running, compute([]uint64{20, 300, 1000}[rng.IntN(3)], rng.IntN(3) == 0))
			continue
		}
		i, at := rng.IntN(len(running)), places[rng.IntN(len(places))]
		x := running[i]
		switch rng.IntN(8) {
		case 0, 1:
			b.do(b.k.Sleep(b, int64(rng.IntN(3))))
		case 2:
			b.do(b.k.Drop(b, f, at-f.Base))
		case 3:
			b.do(b.k.PageOut(b, x.s, at))
		case 4:
			b.do(b.k.Discard(b, x.s, text))
			require.That(b.t, x.s.swapped[text&^(pageSize-1)] == nil, "what was given up is in swap")
		case 5:
			b.do(b.k.Touch(b, x.s, at, at != text))
			require.That(b.t, b.k.Touch(b, x.s, 16, false) != nil, "an address that nothing is at is touched")
		case 6:
			b.holdPages(f, text)
			b.holdPages(f, data)
		case 7:
			running = slices.Delete(running, i, i+1)
			require.Equal(b.t, end(x), x.want, "a process returns")
		}
	}
	for _, x := range running {
		require.Equal(b.t, end(x), x.want, "a process returns")
	}
	b.do(b.k.Sleep(b, 1))
	b.k.release()
	for offset := range f.cached {
		b.do(b.k.Drop(b, f, offset*pageSize))
	}
	delete(l.live, f.Inode)
	for _, m := range b.k.reaped {
		delete(l.live, m.task)
		delete(l.live, m.stack)
	}
	require.That(b.t, len(l.live) == 0 && len(b.k.spaces.list) == 0, "%d spaces and %d places of the heap are left", len(b.k.spaces.list), len(l.live))
}

// holdPages compares the copies of a page of a file with what each space has.
func (b *board) holdPages(f *File, at uint64) {
	b.t.Helper()
	want := map[uint64]bool{}
	if p := f.cached[(at-f.Base)/pageSize]; p != 0 {
		want[p] = false
	}
	for _, s := range b.k.spaces.list {
		if m, ok := b.k.Page(s, at); ok {
			want[m.Page] = true
		}
		for _, x := range s.arriving { // copies that a task makes now
			if x.address == at&^(pageSize-1) {
				want[x.page] = true
			}
		}
	}
	for _, m := range b.k.Pages(f, at-f.Base) {
		mapped, is := want[m.Page]
		require.That(b.t, is && mapped == (m.VMA != 0), "the page %#x is one of %#x, mapped by %#x", m.Page, at, m.VMA)
		delete(want, m.Page)
	}
	require.That(b.t, len(want) == 0, "%d pages of %#x are not told", len(want), at)
}
