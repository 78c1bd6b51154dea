package distro_test

import (
	"bytes"
	"crypto/sha256"
	"maps"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"kprobesim/cpus"
	"kprobesim/distro"
	"kprobesim/image/linux/linuxtest"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/sim"
)

// counts is code that prints digits for ever, each behind some ten thousand instructions with loads, stores and
// branches, and with interrupts of the timer pending.
var counts = []byte{
	0x66, 0xba, 0xf8, 0x03, // mov dx, 0x3f8
	0xbb, 0x00, 0x00, 0x20, 0x00, // mov ebx, 0x200000
	0xb9, 0x00, 0x10, 0x00, 0x00, // mov ecx, 0x1000
	0x01, 0x0b, // add [bx], ecx
	0x8b, 0x33, // mov esi, [bx]
	0x83, 0xc3, 0x44, // add ebx, 0x44
	0xff, 0xc9, // dec ecx
	0x75, 0xf5, // jne to add
	0x89, 0xf0, // mov eax, esi
	0x24, 0x07, // and al, 7
	0x04, 0x30, // add al, '0'
	0xee,       // out dx, al
	0xeb, 0xe2, // jmp to mov ebx
}

// digits ends a run when so many have been printed.
func digits(c distro.Config, n int) (distro.Config, *strings.Builder) {
	var shown strings.Builder
	c.Print = func(m *sim.Machine, s string) {
		if shown.WriteString(s); len(m.Console()) == n {
			m.End("enough")
		}
	}
	return c, &shown
}

func run(t *testing.T, c distro.Config) *sim.Machine {
	t.Helper()
	m := require.Must(distro.Run(c, distro.Stop{}))(t)
	return m
}

// seen holds what a machine shows.
type seen struct {
	console  string
	counters cpus.Counters
	now      int64
}

func look(m *sim.Machine) seen {
	return seen{m.Console(), *m.CPU(0).Counters(), int64(m.CPU(0).Now())}
}

// TestSnapshot goes on from a snapshot as the machine does from which it was taken, tick by tick, in every
// mode and with every model of time.
func TestSnapshot(t *testing.T) {
	for _, bits := range []int{64, 32} {
		for _, model := range []string{cpus.Window, cpus.Scoreboard, cpus.Throughput} {
			base := config(t, linuxtest.Kernel{Bits: bits, Code: counts})
			base.CPU.Model = model
			whole, _ := digits(base, 60)
			want := look(run(t, whole))
			part, _ := digits(base, 23)
			b := require.Must(distro.Snapshot(part, run(t, part)))(t)
			rest, shown := digits(base, 60)
			rest.From = b
			got := look(run(t, rest))
			require.That(t, got == want, "%d bits, %s: with a snapshot %+v, without %+v", bits, model, got, want)
			require.That(t, shown.String() == want.console[23:], "%d bits, %s: printed %q behind the snapshot", bits, model, shown)
		}
	}
}

// TestSnapshotRefused holds that a snapshot goes with its kernel, machine and memory, and that damage is found.
func TestSnapshotRefused(t *testing.T) {
	c, _ := digits(config(t, linuxtest.Kernel{Bits: 64, Code: counts}), 3)
	b := require.Must(distro.Snapshot(c, run(t, c)))(t)
	for want, change := range map[string]func(*distro.Config){
		"another kernel, machine description": func(c *distro.Config) { c.RAM = 48 << 20 },
		"another kernel":                      func(c *distro.Config) { c.CPU.Width++ },
		"another kernel, machine":             func(c *distro.Config) { c.CPU.Events = maps.Clone(c.CPU.Events); c.CPU.Events["load_use"]++ },
		"machine description, board":          func(c *distro.Config) { c.TimerHz = 1 },
		"none of this version":                func(c *distro.Config) { c.From = b[1:] },
		"damaged":                             func(c *distro.Config) { c.From = b[:len(b)-100] },
		"damaged (": func(c *distro.Config) { // the checksum of what is packed ends the file
			c.From = bytes.Clone(b)
			c.From[len(b)-1]++
		},
	} {
		d, _ := digits(config(t, linuxtest.Kernel{Bits: 64, Code: counts}), 5)
		d.From = b
		change(&d)
		require.Error(t, require.Err(distro.Run(d, distro.Stop{})), want, "")
	}
}

// TestUntimedSnapshot has the cost model back behind a stretch without it: in one machine, and behind a snapshot. What
// is printed is the same as with the model throughout, and less time has passed.
func TestUntimedSnapshot(t *testing.T) {
	for _, model := range []string{cpus.Window, cpus.Throughput} {
		base := config(t, linuxtest.Kernel{Bits: 64, Code: counts})
		base.CPU.Model = model
		timed, _ := digits(base, 60)
		plain := look(run(t, timed))
		base.Untimed = true
		whole, _ := digits(base, 60)
		end := whole.Print
		whole.Print = func(m *sim.Machine, s string) {
			if end(m, s); len(m.Console()) == 23 {
				m.CPU(0).Untimed(0, 0)
			}
		}
		want := look(run(t, whole))
		part, _ := digits(base, 23)
		b := require.Must(distro.Snapshot(part, run(t, part)))(t)
		rest, _ := digits(base, 60)
		rest.From, rest.Untimed = b, false
		got := look(run(t, rest))
		require.That(t, got == want, "%s: with a snapshot %+v, without %+v", model, got, want)
		require.That(t, want.console == plain.console && want.now < plain.now, "%s: printed %q in %d, with the model %q in %d", model, want.console, want.now, plain.console, plain.now)
	}
}

// FuzzSnapshot gives states that are damaged in any way, behind the right beginning: of a machine of one CPU, and of one of
// two where the number has its highest bit.
func FuzzSnapshot(f *testing.F) {
	one, oneState := unpacked(f, config(f, linuxtest.Kernel{Bits: 64, Code: counts}))
	c, _ := several(f)
	two, twoState := unpacked(f, c)
	out := require.Must(zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1)))(f)
	const second = 1 << 31
	f.Add(uint32(0), []byte{1})
	f.Add(uint32(40), []byte{0xff, 0xff, 0xff, 0xff, 0xff})
	f.Add(uint32(len(oneState)-1), []byte{0x80})
	f.Add(uint32(second|3), []byte{7})
	f.Add(uint32(second|60), []byte{0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, at uint32, b []byte) {
		d, plain := one, oneState
		if at >= second {
			d, plain = two, twoState
		}
		// Bytes of the state are changed, since damage of what is packed is found by its sum.
		changed := bytes.Clone(plain)
		for i := range b {
			changed[(int(at&^second)+i)%len(changed)] ^= b[i]
		}
		d.From = out.EncodeAll(changed, bytes.Clone(d.From))
		d.Print = nil
		_, _ = distro.Run(d, distro.Stop{}) // whatever comes, but no panic
	})
}

// unpacked is a machine that has run for a while, with the beginning of its snapshot, and the state behind it.
func unpacked(f *testing.F, c distro.Config) (distro.Config, []byte) {
	f.Helper()
	c, _ = digits(c, 3)
	m := require.Must(distro.Run(c, distro.Stop{}))(f)
	c.Budget = m.Now() + clock.FromCycles(20_000) // what is damaged may go on for ever
	whole := require.Must(distro.Snapshot(c, m))(f)
	begin := len("kprobesim snapshot 7\n") + sha256.Size
	in := require.Must(zstd.NewReader(nil))(f)
	plain := require.Must(in.DecodeAll(whole[begin:], nil))(f)
	c.From = whole[:begin]
	return c, plain
}
