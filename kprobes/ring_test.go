package kprobes

import (
	"math/rand/v2"
	"slices"
	"testing"

	"kprobesim/image"
	"kprobesim/internal/require"
)

// TestListsThatCloseAreNoticed puts a free instance on its list twice, as a guest that is wrong may. Walking the list must
// end, with the error of the guest's memory.
func TestListsThatCloseAreNoticed(t *testing.T) {
	eachKernel(t, func(t *testing.T, image string) {
		g := newGuest(t, image, plain())
		p := g.add(Spec{Kind: Kretprobe, Symbol: "bench_target", Handler: "ret_empty", MaxActive: 5})
		free := g.k.hlist(g.k.freeHead(p.Addr), g.k.instanceLinks())
		for _, back := range []int{0, 2, 4} {
			g.k.m.Store(free[4], g.k.l.r.instNext, free[back])
			g.k.hlist(g.k.freeHead(p.Addr), g.k.instanceLinks())
			require.Error(t, g.k.m.take(), "leads back into itself", "%s: from the last instance to number %d", image, back)
		}
	})
}

// TestListsAtRandom adds, removes and replaces members of a chain and of a list, and wants each to lead to the next one and back.
func TestListsAtRandom(t *testing.T) {
	for _, name := range []string{"i386-2010", "ppc64-2010"} {
		g := newGuest(t, name, plain())
		x := &lists{guest: g, l: g.k.hash(), head: value(g.Alloc(g.k.l.p.size, 64))(g), rng: rand.New(rand.NewPCG(1, 1))}
		for range 12 {
			x.free = append(x.free, value(g.Alloc(g.k.l.p.size, 64))(g))
		}
		x.both(t, func(p uint64, _ int) int { g.k.hlistAdd(x.head, p, x.l); return 0 }, func(p uint64) { g.k.hlistDel(p, x.l) }, func(old, p uint64) { g.k.hlistReplace(old, p, x.l) }, x.chained)
		x.l = links{g.k.l.p.listNext, g.k.l.p.listPrev}
		g.k.listInit(x.head)
		x.both(t, func(p uint64, n int) int {
			if x.rng.IntN(2) == 0 {
				g.k.listAdd(p, x.head)
				return 0
			}
			g.k.listAddTail(p, x.head)
			return n
		}, g.k.listDel, func(old, p uint64) { g.k.listInsert(p, x.next(x.l.prev, old), old); g.k.listDel(old) }, x.listed)
		require.NoError(t, g.k.m.take())
	}
}

// lists are some structures of which members are on a list.
type lists struct {
	*guest
	l    links
	head uint64
	free []uint64
	rng  *rand.Rand
}

// both makes random changes to an empty list, and looks at all of it behind each. add returns the place among n others.
func (x *lists) both(t *testing.T, add func(p uint64, n int) int, del func(p uint64), replace func(old, p uint64), is func(want []uint64) bool) {
	t.Helper()
	var on []uint64
	for range 100 {
		switch i := x.rng.IntN(max(len(on), 1)); {
		case len(on) == 0 || len(x.free) > 1 && x.rng.IntN(2) == 0:
			on = slices.Insert(on, add(x.free[0], len(on)), x.free[0])
			x.free = x.free[1:]
		case x.rng.IntN(2) == 0 && len(x.free) > 0:
			replace(on[i], x.free[0])
			on[i], x.free[0] = x.free[0], on[i]
		default:
			del(on[i])
			require.Equal(t, x.k.m.Load(on[i], x.l.prev), poison&(1<<(8*x.l.prev.Size)-1), "what is removed leads back to")
			x.free, on = append(x.free, on[i]), slices.Delete(on, i, i+1)
		}
		require.Need(t, is(on), "the list is not %x", on)
	}
	for _, p := range on {
		del(p)
	}
	x.free = append(x.free, on...)
}

// chained reports whether a hash chain has certain structures.
func (x *lists) chained(want []uint64) bool {
	at, n := x.head, x.k.m.Load(x.head, x.k.l.list)
	for _, p := range want {
		if n != p+x.l.next.Offset || x.k.m.Load(p, x.l.prev) != at {
			return false
		}
		at, n = n, x.k.m.Load(p, x.l.next)
	}
	return n == 0
}

// next is the neighbour on a list to which a member of a structure leads.
func (x *lists) next(f image.Field, p uint64) uint64 { return x.k.m.Load(p, f) - x.l.next.Offset }

// listed reports whether a list has certain structures.
func (x *lists) listed(want []uint64) bool {
	at := x.head
	for _, p := range append(slices.Clone(want), x.head) {
		if x.next(x.l.next, at) != p || x.next(x.l.prev, p) != at {
			return false
		}
		at = p
	}
	return slices.Equal(x.k.children(x.head), want)
}
