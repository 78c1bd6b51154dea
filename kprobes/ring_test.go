package kprobes

import (
	"testing"

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
