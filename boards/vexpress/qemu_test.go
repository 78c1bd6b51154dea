package vexpress

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// qemu is a Versatile Express board of qemu whose devices a test reads and writes in the place of a CPU.
type qemu struct {
	in  io.Writer
	out *bufio.Reader
}

func startQemu(t *testing.T) *qemu {
	t.Helper()
	path := hosttools.Need(t, "qemu-system-arm", "qemu-system-arm", "comparing the interrupt controller")
	cmd := exec.Command(path, "-M", "vexpress-a15,secure=off", "-S", "-nodefaults", "-display", "none", "-qtest", "stdio",
		"-qtest-log", "none")
	cmd.Env = append(cmd.Environ(), "QEMU_AUDIO_DRV=none")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	return &qemu{in, bufio.NewReader(out)}
}

// ask sends a command and returns the number that is answered, if any.
func (q *qemu) ask(t *testing.T, format string, args ...any) uint64 {
	t.Helper()
	fmt.Fprintf(q.in, format+"\n", args...)
	line, err := q.out.ReadString('\n')
	words := strings.Fields(line)
	if err != nil || len(words) == 0 || words[0] != "OK" {
		t.Fatalf("qemu answers "+format+" with %q, %v", append(args, line, err)...)
	}
	if len(words) == 1 {
		return 0
	}
	v, err := strconv.ParseUint(words[1], 0, 64)
	require.NoError(t, err)
	return v
}

// pair is a controller of qemu and one of ours, of one CPU each.
type pair struct {
	t      *testing.T
	q      *qemu
	p      *port
	done   []string
	active []uint64 // what was acknowledged
}

// Devices have their addresses on TC2 in qemu.
func (x *pair) store(base, off, v uint64, size int) {
	x.t.Helper()
	x.done = append(x.done, fmt.Sprintf("store%d %#x %#x", size, base+off, v))
	x.q.ask(x.t, "write%c %#x %#x", " b  l"[size], base^inverted+off, v)
	x.p.Store(base+off, size, v)
}

func (x *pair) load(base, off uint64, size int) uint64 {
	x.t.Helper()
	want, got := x.q.ask(x.t, "read%c %#x", " b  l"[size], base^inverted+off), x.p.Load(base+off, size)
	if want != got {
		x.t.Fatalf("load%d %#x: qemu %#x, simulator %#x behind\n%s", size, base+off, want, got,
			strings.Join(x.done[max(0, len(x.done)-60):], "\n"))
	}
	if base+off == interfaceBase+0x0c {
		x.done = append(x.done, fmt.Sprintf("acknowledged %#x", got))
	}
	return got
}

// TestAgainstQemu does the same random things to the interrupt controller of a board of qemu and to one of ours.
func TestAgainstQemu(t *testing.T) {
	acknowledged := 0
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(7, seed))
		x := &pair{t: t, q: startQemu(t), p: newHardware(t, 1).ports[0]}
		for range 1500 {
			before := len(x.active)
			x.step(rng)
			if len(x.active) > before {
				acknowledged++
			}
			x.load(interfaceBase, 0x14, 4)
			// qemu shows no pending interrupt that the mask keeps back.
			if _, priority := x.p.b.gic.highest(0); priority < uint32(x.p.own().mask) {
				x.load(interfaceBase, 0x18, 4)
			}
			for off := uint64(0x100); off < 0x400; off += 0x80 {
				x.load(distributorBase, off+4*uint64(rng.IntN(3)), 4)
			}
		}
	}
	require.That(t, acknowledged >= 100, "%d interrupts were acknowledged: the comparison says little", acknowledged)
}

// step does one thing. Priorities are multiples of eight, as qemu has all eight bits of them, and the binary point
// leaves these five bits.
func (x *pair) step(rng *rand.Rand) {
	word, some := 4*uint64(rng.IntN(3)), uint64(rng.Uint32()&rng.Uint32()&rng.Uint32())
	if word == 0 {
		some &= privateIDs
	}
	switch k := rng.IntN(16); k {
	case 0:
		x.store(distributorBase, 0, some&1, 4)
	case 1:
		x.store(interfaceBase, 0, some&1, 4)
	case 2:
		x.store(interfaceBase, 0, 1, 4)
		x.store(distributorBase, 0, 1, 4)
	case 3, 4, 5, 6:
		x.store(distributorBase, 0x100+0x80*uint64(k-3)+word, some, 4)
	case 7:
		x.store(distributorBase, 0x400+uint64(rng.IntN(96)), uint64(rng.IntN(256)&priorityMask), 1)
	case 8:
		x.store(interfaceBase, 4, uint64((0x80+rng.IntN(128))&priorityMask), 4)
	case 9:
		x.store(interfaceBase, 8, uint64(minBinary+rng.IntN(8-minBinary)), 4)
	case 10:
		x.store(distributorBase, 0xf00, 2<<24|uint64(rng.IntN(16)), 4)
	case 11:
		x.store(distributorBase, 0xf10+0x10*uint64(rng.IntN(2))+uint64(rng.IntN(16)), 1, 1)
	case 12, 13:
		if id := x.load(interfaceBase, 0x0c, 4); id != spurious {
			x.active = append(x.active, id)
		}
	default:
		if n := len(x.active) - 1; n >= 0 {
			x.store(interfaceBase, 0x10, x.active[n], 4)
			x.active = x.active[:n]
		}
	}
}
