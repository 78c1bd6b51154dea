package distro_test

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"kprobesim/boards/pc"
	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
	"kprobesim/cpus/x86"
	"kprobesim/distro"
	"kprobesim/image/linux/linuxtest"
	"kprobesim/internal/require"
	"kprobesim/sim"
)

// prints16 is 16-bit code for a further CPU, which prints a letter now and then for ever.
var prints16 = []byte{
	0xba, 0xf8, 0x03, // mov $0x3f8,%dx
	0xb0, 'a', // mov $'a',%al
	0xee,             // out %al,(%dx)
	0xb9, 0x00, 0x30, // mov $0x3000,%cx
	0x49,       // dec %cx
	0x75, 0xfd, // jne to dec
	0xeb, 0xf5, // jmp to mov al
}

// startsOther is a kernel of 32 bits that starts another CPU with that code, and counts itself. The loop begins at the
// symbol with the number that is returned.
func startsOther() (k linuxtest.Kernel, loop int) {
	var code []byte
	put := func(at, v uint32) { // movl $v,at
		code = append(code, 0xc7, 0x05)
		code = binary.LittleEndian.AppendUint32(code, at)
		code = binary.LittleEndian.AppendUint32(code, v)
	}
	const page, command = 8, x86.APICBase + 0x300
	other := append(bytes.Clone(prints16), 0, 0, 0)
	for i := 0; i+4 <= len(other); i += 4 {
		put(page<<12+uint32(i), binary.LittleEndian.Uint32(other[i:]))
	}
	put(command+0x10, 1<<24)
	put(command, 0x4500)      // INIT
	put(command, 0x4600|page) // start-up
	for len(code)%8 != 0 {
		code = append(code, 0x90)
	}
	loop = len(code) / 8
	return linuxtest.Kernel{Bits: 32, Flat: true, Code: append(code, counts...)}, loop
}

// allSeen holds what a machine with several CPUs shows.
type allSeen struct {
	console  string
	counters []cpus.Counters
	now      []int64
}

func lookAll(m *sim.Machine) (s allSeen) {
	s.console = m.Console()
	for i := range m.CPUs() {
		s.counters = append(s.counters, *m.CPU(i).Counters())
		s.now = append(s.now, int64(m.CPU(i).Now()))
	}
	return s
}

// several is a machine with two CPUs for a made-up kernel.
func several(t testing.TB) (distro.Config, string) {
	k, loop := startsOther()
	c := config(t, k)
	c.CPUs = 2
	return c, linuxtest.Name(loop)[1:]
}

// TestSeveralCPUs holds that a kernel starts another CPU in real mode, and that a machine of several does the same each
// time: watched, with other processors of the host, and behind snapshots that were taken at a print, or in the middle of
// a turn. It does so with and without the cost model.
func TestSeveralCPUs(t *testing.T) {
	for _, x := range []struct {
		model   string
		untimed bool
	}{{cpus.Window, false}, {cpus.Throughput, false}, {cpus.Window, true}} {
		base, symbol := several(t)
		base.CPU.Model, base.Untimed = x.model, x.untimed
		whole, _ := digits(base, 60)
		want := lookAll(run(t, whole))
		n := strings.Count(want.console, "a")
		require.Need(t, n >= 5 && n <= 55, "%s: printed %q", x.model, want.console)
		same := func(what string, m *sim.Machine) {
			t.Helper()
			if got := lookAll(m); !reflect.DeepEqual(got, want) {
				t.Errorf("%s, untimed %v, %s: %+v, want %+v", x.model, x.untimed, what, got, want)
			}
		}
		again, _ := digits(base, 60)
		old := runtime.GOMAXPROCS(1)
		same("with one processor of the host", run(t, again))
		runtime.GOMAXPROCS(old)
		watched, _ := digits(base, 60)
		m := require.Must(distro.Start(watched, distro.Stop{}))(t)
		for i := range m.CPUs() {
			m.CPU(i).Observe(unseen{})
		}
		require.NoError(t, m.Run())
		same("watched", m)
		for what, stop := range map[string]distro.Stop{"snapshot at a print": {}, "snapshot at a function": {Symbol: symbol}} {
			n := 23
			if stop.Symbol != "" {
				n = 60
			}
			part, _ := digits(base, n)
			m, err := distro.Run(part, stop)
			require.Need(t, err == nil && len(m.Console()) <= 23, "%s: %v, ended by %q behind %q", what, err, m.Ended(), m.Console())
			b := require.Must(distro.Snapshot(part, m))(t)
			rest, _ := digits(base, 60)
			rest.From = b
			same(what, run(t, rest))
		}
	}
}

// TestSeveralRefused holds what several CPUs need.
func TestSeveralRefused(t *testing.T) {
	c, _ := several(t)
	c.Board = pc.Board{}
	require.Error(t, require.Err(distro.New(c)), "no firmware that would tell", "a board without firmware")
	c, _ = several(t)
	c.CPUs = 33
	require.Error(t, require.Err(distro.New(c)), "has room for 32", "33 CPUs")
	c, _ = several(t)
	c.CPU = cpustest.Config(x86.ISA32())
	c.CPU.Answers = map[string]map[uint64][]uint64{"cpuid": {1: {0x10676, 0, 0, 1}}}
	require.Error(t, require.Err(distro.New(c)), "no local APIC", "CPUs without APICs")
	c, _ = several(t)
	part, _ := digits(c, 3)
	b := require.Must(distro.Snapshot(part, run(t, part)))(t)
	c.CPUs, c.From = 1, b
	require.Error(t, require.Err(distro.Run(c, distro.Stop{})), "number of CPUs", "a snapshot of two CPUs for one")
}
