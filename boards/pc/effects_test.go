package pc_test

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"kprobesim/boards/pc/pctest"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/sim"
)

var update = flag.Bool("update", false, "rewrite testdata/effects.txt")

// TestEffects writes and reads the registers of each device at random moments, and compares what is read with sums: other tests
// say what is right, this one says which device answers another way than before.
func TestEffects(t *testing.T) {
	var sums strings.Builder
	for _, x := range []struct {
		name  string
		main  string // what the CPU does: sleep, or loop with interrupts off
		ports string
		most  clock.Ticks // between two accesses
	}{
		{"interrupt controllers", "deaf", "\x20\x21\xa0\xa1\x40", counts(20)},
		{"counters", "boot_sleep", "\x40\x41\x42\x43\x43\x61", counts(5000)},
		{"clock", "boot_sleep", "\x70\x71\x71", counts(400_000)},
		{"serial line", "boot_sleep", "\xf8\xf9\xfa\xfb\xfc\xfd\xfe\xff", counts(500)},
	} {
		for seed := range uint64(6) {
			r, read := rand.New(rand.NewPCG(seed, 1)), []uint64{}
			l := &legacy{}
			g := pctest.New(t, 1, x.main, x.main, func(c *sim.Config) { c.Board, c.Budget = l, 1<<50 })
			d := l.Ports(0)
			write := func(port uint64) {
				v := r.Uint64N(256)
				switch port {
				case 0x70: // the registers that do something
					v = r.Uint64N(16)
				case 0x43: // the modes that are modelled
					v = v&^0xe | []uint64{0, 4, 6, 8}[r.IntN(4)]
				}
				out(d, port, v)
			}
			at := clock.Ticks(0)
			for range 600 {
				at += clock.Ticks(r.Int64N(int64(x.most)))
				g.At(at, func() {
					port := uint64(x.ports[r.IntN(len(x.ports))])
					if port >= 0xf8 {
						port += 0x300
					}
					if r.IntN(2) == 0 {
						write(port)
					}
					for _, p := range []byte(x.ports) {
						read = append(read, d.Load(uint64(p)|map[bool]uint64{true: 0x300}[p >= 0xf8], 1))
					}
				})
			}
			g.At(at+1, func() { g.Stop(errEnough) })
			err := g.Run()
			ended := "runs"
			if !errors.Is(err, errEnough) {
				ended = fmt.Sprint(err)
			}
			fmt.Fprintf(&sums, "%s %d: %d bytes, console %q, %s: %.6x\n", x.name, seed, len(read), g.Console(), ended, sha256.Sum256([]byte(fmt.Sprint(read))))
		}
	}
	require.Lines(t, "testdata/effects.txt", sums.String(), *update)
}
