package attaching

import (
	"bytes"
	"debug/elf"
	"fmt"
	"strings"
	"testing"

	"github.com/cilium/ebpf"

	"kprobesim/internal/require"
)

// TestFits compares with the numbers that are least and greatest with a sign and without.
func TestFits(t *testing.T) {
	for _, size := range []uint32{1, 2, 4, 7} {
		least, most := -int64(1)<<(8*size-1), int64(1)<<(8*size)-1
		for n, want := range map[int64]bool{least: true, least - 1: false, most: true, most + 1: false, 0: true, -1: true, -1 << 62: false} {
			require.Equal(t, fits(n, size), want, "whether %d fits into %d bytes", n, size)
		}
	}
	require.That(t, fits(-1<<63, 8) && fits(1<<63-1, 8), "numbers of eight bytes")
}

// TestOnlyCalled tells programs that stand in arrays of programs, and name no place, from those that do either alone.
func TestOnlyCalled(t *testing.T) {
	maps := func(kind ebpf.MapType, held any) map[string]*ebpf.MapSpec {
		return map[string]*ebpf.MapSpec{"m": {Type: kind, Contents: []ebpf.MapKV{{Key: uint32(0), Value: "other"}, {Key: uint32(1), Value: held}}}}
	}
	for _, x := range []struct {
		kind    ebpf.MapType
		held    any
		section string
		want    bool
	}{
		{ebpf.ProgramArray, "p", "kprobe", true}, {ebpf.ProgramArray, "p", "kprobe/f", false}, {ebpf.ProgramArray, "q", "kprobe", false}, {ebpf.Array, "p", "kprobe", false},
	} {
		got := onlyCalled(&ebpf.CollectionSpec{Maps: maps(x.kind, x.held)}, &ebpf.ProgramSpec{Name: "p", SectionName: x.section})
		require.Equal(t, got, x.want, "whether p of section %s in a map of kind %s with %v is only called", x.section, x.kind, x.held)
	}
	require.That(t, !onlyCalled(&ebpf.CollectionSpec{}, &ebpf.ProgramSpec{Name: "p"}), "a program without maps is only called")
}

// TestResize gives a map each of its sizes, and refuses what is none.
func TestResize(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{"m.max_entries=7", "7 4 8"},
		{"m.key_size=0x10", "1 16 8"},
		{"m.value_size=64", "1 4 64"},
		{"m.max_entries=4294967295", "4294967295 4 8"},
		{"m.max_entries=0", `map "m.max_entries=0": write a size as a number, as in m.max_entries=1024`},
		{"m.max_entries=4294967296", "write a size as a number"},
		{"m.max_entries=many", "write a size as a number"},
		{"m.size=4", "a map has the sizes max_entries, key_size and value_size"},
		{"none.max_entries=1", "the object has no map none"},
	} {
		m := &ebpf.MapSpec{MaxEntries: 1, KeySize: 4, ValueSize: 8}
		err := resize(&ebpf.CollectionSpec{Maps: map[string]*ebpf.MapSpec{"m": m}}, []string{x.text})
		if got := fmt.Sprint(m.MaxEntries, m.KeySize, m.ValueSize); err == nil {
			require.Equal(t, got, x.want, "%s", x.text)
		} else {
			require.Error(t, err, x.want, "%s", x.text)
			require.Equal(t, got, "1 4 8", "the sizes behind %s", x.text)
		}
	}
}

// obeys is a guest all of whose system calls succeed.
type obeys struct {
	Guest
	said []byte
}

func (o *obeys) Machine() elf.Machine { return elf.EM_X86_64 }

func (o *obeys) Memory() *Memory { return &Memory{} }

func (o *obeys) Call(_ uint64, _ [6]uint64, m *Memory) (int64, error) {
	o.said = m.Data
	return 0, nil
}

// TestDescribe numbers the places whose arguments are described, and refuses more arguments and places than the map has room for.
func TestDescribe(t *testing.T) {
	g := &obeys{}
	l := &loader{Guest: g, maps: map[string]descriptor{}, specs: map[string]*ebpf.MapSpec{argumentsMap: {ValueSize: 208, MaxEntries: 2}}}
	a := &attacher{loader: l}
	n, err := a.describe("8@%rax")
	require.That(t, n == 0 && err == nil && g.said == nil, "a program that does not look: %d, %v", n, err)
	l.maps[argumentsMap] = 7
	require.Error(t, require.Err(a.describe(strings.Repeat("8@%rax ", 13))), "13 arguments: programs know 12", "arguments")
	require.Error(t, require.Err(a.describe("8@%rax 8@rax")), "argument 1: ", "an argument")
	for want, arguments := range []string{strings.Repeat("8@%rax ", 12), "8@%rax 8@(%r15)"} {
		n, err := a.describe(arguments)
		list := strings.Fields(arguments)
		value := make(fields, 208)
		for i, text := range list {
			copy(value[16*i:], require.Must(argument(elf.EM_X86_64, text))(t))
		}
		value.u16(200, uint16(len(list)))
		require.That(t, n == uint64(want) && err == nil && bytes.Contains(g.said, value), "place %d: %d, %v, % x", want, n, err, g.said)
	}
	require.Error(t, require.Err(a.describe("8@%rax")), "has room for 2 places alone", "a third place")
	l.specs[argumentsMap].ValueSize = 216
	require.Error(t, require.Err(a.describe("8@%rax")), "elements of __bpf_usdt_specs have 216 bytes, and not 208", "another layout")
}

// TestNumbersOfEvents holds the numbers of the kernel's own events (include/uapi/linux/perf_event.h, enum perf_sw_ids).
func TestNumbersOfEvents(t *testing.T) {
	const cpuClock, pageFaults, contextSwitches, cpuMigrations = 0, 2, 3, 4
	require.Equal(t, fmt.Sprint(events()), fmt.Sprint(map[string]uint64{
		"cpu-clock": cpuClock, "page-faults": pageFaults, "context-switches": contextSwitches, "cpu-migrations": cpuMigrations,
	}), "events have the numbers")
}
