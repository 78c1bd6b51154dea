package vexpress

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"testing"

	"kprobesim/internal/require"
)

// TestEffects stores into and reads all windows of the board at random, by two CPUs, and compares what is read, who is interrupted and
// what is printed with sums: other tests say what is right.
func TestEffects(t *testing.T) {
	for seed, want := range []string{"b7cfd71a02c0", "8e5055216217", "f6c9229b0d9a"} {
		r, sum := rand.New(rand.NewPCG(uint64(seed), 1)), sha256.New()
		b, m := newMachine(t, 2)
		offsets := map[uint64]func() uint64{
			distributorBase: func() uint64 {
				of := []uint64{0, 0x80, 0x100, 0x104, 0x180, 0x184, 0x200, 0x204, 0x280, 0x284, 0x300, 0x304, 0x380, 0x384, 0x400, 0x410, 0x424, 0x428, 0x820, 0x828, 0xc04, 0xc08, 0xf00, 0xf10, 0xf20}
				return of[r.IntN(len(of))]
			},
			interfaceBase: func() uint64 { return []uint64{0, 4, 8, 0xc, 0x10, 0x14, 0x18, 0x1000}[r.IntN(8)] },
			consoleBase:   func() uint64 { return 4 * r.Uint64N(20) },
			systemBase:    func() uint64 { return 4 * r.Uint64N(0x40) },
		}
		bases := []uint64{distributorBase, distributorBase, distributorBase, interfaceBase, interfaceBase, consoleBase, systemBase}
		for range 8000 {
			p := b.ports[r.IntN(2)]
			base := bases[r.IntN(len(bases))]
			off, v := offsets[base](), uint64(r.Uint32()&r.Uint32())
			if r.IntN(20) == 0 {
				off = 4 * r.Uint64N(0x400) // any
			}
			switch {
			case base == systemBase: // its controller of the clock and the power would end the machine
			case base == distributorBase && off == 0, base == interfaceBase && off == 0:
				v |= 1
			case base == interfaceBase && off == 4:
				v |= 0xc0
			}
			size := []int{1, 2, 4, 4, 4, 4}[r.IntN(6)]
			if r.IntN(2) == 0 && base != systemBase {
				p.Store(base+off, size, v&(1<<(8*size)-1))
			}
			fmt.Fprintln(sum, p.Load(base+off, size))
			for _, p := range b.ports {
				fmt.Fprintln(sum, b.gic.signalled(p.cpu), p.Pending())
			}
		}
		fmt.Fprintln(sum, m.Console())
		require.Equal(t, fmt.Sprintf("%.6x", sum.Sum(nil)), want, "seed %d: what is read", seed)
	}
}
