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
	for seed := range uint64(3) {
		fmt.Fprintf(&sums, "APICs %d: %s\n", seed, apics(t, rand.New(rand.NewPCG(seed, 2))))
	}
	require.Lines(t, "testdata/effects.txt", sums.String(), *update)
}

// apics writes registers of the I/O APIC and of three CPUs' own at random moments, while a timer gives edges, accepts interrupts in
// the place of CPUs, and returns the sum of what all registers have shown. Interrupts go to CPUs that there are, and neither stop nor
// start one.
func apics(t *testing.T, r *rand.Rand) string {
	const local, io = 0xfee00000, 0xfec00000
	l, read := &legacy{}, []uint64{}
	g := pctest.New(t, 3, "deaf", "deaf", func(c *sim.Config) { c.Board, c.Budget = l, 1<<50 })
	out(l.Ports(0), 0x43, 0x36, 0x40, 10, 0x40, 0, 0x20, 0x11, 0x21, 0x40, 0x21, 4, 0x21, 3, 0x21, 0xfe) // 10 counts, automatic ends
	vector := func() uint64 { return r.Uint64N(0xe0) }
	pick := func(of ...uint64) uint64 { return of[r.IntN(len(of))] }
	write := func(cpu int) {
		d := l.Device(cpu)
		switch off := pick(0, 0, 0, 0x80, 0xb0, 0xb0, 0xb0, 0xd0, 0xe0, 0xf0, 0x280, 0x300, 0x300, 0x300, 0x320, 0x350, 0x370, 0x380, 0x3e0, 0x3f0); off {
		case 0:
			d.Store(io, 4, pick(0, 2, 0x10, 0x14, 0x15, 0x14, 0x15, 0x3f, 0x40))
			d.Store(io+pick(4, 0x10, 0x10), 4, vector()|r.Uint64N(32)<<11|pick(0, 0, 1)<<16|pick(0, 1, 7)<<8|pick(0, 1, 2, 3, 7, 0x11, 0xff)<<24)
		case 0xf0:
			d.Store(local+off, 4, 0xff|pick(0, 1, 1, 1)<<8)
		case 0xd0, 0xe0:
			d.Store(local+off, 4, pick(1, 2, 4, 0x11, 0x12, 0, 0xff)<<24)
		case 0x300:
			d.Store(local+0x310, 4, pick(0, 1, 2, 0xff)<<24)
			d.Store(local+off, 4, vector()|pick(0, 0x100, 0x900, 0x300, 0x700, 0x40000, 0x80000, 0xc0000))
		case 0x350:
			d.Store(local+off, 4, vector()|pick(0, 7)<<8|pick(0, 1)<<16)
		case 0x380:
			d.Store(local+off, 4, pick(0, 20, 5000))
		default:
			d.Store(local+off, 4, vector()|pick(0, 1, 2, 3)<<16)
		}
	}
	at := clock.Ticks(0)
	for range 1500 {
		at += clock.Ticks(r.Int64N(int64(counts(4))))
		g.At(at, func() {
			cpu := r.IntN(3)
			write(cpu)
			if of := l.Interrupts(cpu); of.Pending() {
				read = append(read, uint64(of.Acknowledge()))
			}
			for cpu := range 3 {
				for _, off := range []uint64{0x20, 0x30, 0x80, 0xa0, 0xd0, 0xe0, 0xf0, 0x110, 0x190, 0x210, 0x170, 0x260, 0x280, 0x300, 0x320, 0x370, 0x390, 0x3e0} {
					read = append(read, l.Device(cpu).Load(local+off, 4))
				}
				read = append(read, l.Device(cpu).Load(io, 4), l.Device(cpu).Load(io+0x10, 4))
			}
		})
	}
	g.At(at+1, func() { g.Stop(errEnough) })
	if err := g.Run(); !errors.Is(err, errEnough) {
		t.Error(err)
	}
	return fmt.Sprintf("%d registers: %.6x", len(read), sha256.Sum256([]byte(fmt.Sprint(read))))
}
