package sim

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"kprobesim/image/imagetest"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

// TestIntegers stores and loads integers of each size and order within a page and across pages. Other sizes, and places without
// memory, are errors.
func TestIntegers(t *testing.T) {
	const v, end = uint64(0x1122334455667788), imagetest.Base + 1<<16
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		e := imagetest.Kernel()
		m := natives(t, e, &caller{apart: true}, nil)
		m.cfg.ISA.Order = order
		for size := range 10 {
			for _, at := range []uint64{imagetest.Base + 0x800, imagetest.Base + 0xffe, imagetest.Base + 0xfff, end - uint64(size), end - uint64(size) + 1, imagetest.Base - 1} {
				possible := (size == 1 || size == 2 || size == 4 || size == 8) && at >= imagetest.Base && at+uint64(size) <= end
				err := m.Store(at, size, v)
				require.That(t, (err == nil) == possible, "a store of %d bytes at %#x: %v", size, at, err)
				got, err := m.Load(at, size)
				if !possible {
					require.That(t, err != nil, "a load of %d bytes at %#x is %#x", size, at, got)
					continue
				}
				want := v & (1<<(8*size-1)<<1 - 1)
				require.That(t, err == nil && got == want, "a load of %d bytes at %#x is %#x, %v", size, at, got, err)
				whole := make([]byte, 8)
				if order == binary.ByteOrder(binary.LittleEndian) {
					order.PutUint64(whole, v)
				} else {
					order.PutUint64(whole, v<<(64-8*size))
				}
				same, err := m.Same(at, whole[:size])
				require.That(t, err == nil && same, "%d bytes at %#x are not % x, %v", size, at, whole[:size], err)
			}
		}
	}
}

// TestBytes reads and writes ranges up to all of memory, by both kinds of addresses, and strings up to their limit.
func TestBytes(t *testing.T) {
	m := natives(t, imagetest.Kernel(), &caller{}, nil)
	size := m.mem.Size()
	text := []byte(strings.Repeat("0123456789abcdef", size/16))
	require.NoError(t, m.WriteBytes(imagetest.Base, text))
	got, err := m.ReadBytes(imagetest.Base, size)
	require.That(t, err == nil && bytes.Equal(got, text), "all of memory: %v", err)
	for at, n := range map[int]int{0: -1, 1: size, size - 1: 2, size: 1} {
		_, err := m.ReadBytes(imagetest.Base+uint64(at), n)
		_, physical := m.ReadPhysical(uint64(at), n)
		require.That(t, err != nil && physical != nil, "%d bytes at %#x are read", n, at)
		if n > 0 {
			require.That(t, m.WriteBytes(imagetest.Base+uint64(at), make([]byte, n)) != nil && m.WritePhysical(uint64(at), make([]byte, n)) != nil, "%d bytes at %#x are written", n, at)
		}
	}
	require.NoError(t, m.WritePhysical(0, text))
	require.NoError(t, m.WritePhysical(uint64(size-2), []byte("xy")))
	got, err = m.ReadPhysical(uint64(size-3), 3)
	require.That(t, err == nil && string(got) == string(text[size-3])+"xy", "the last bytes are %q, %v", got, err)
	for _, at := range []uint64{imagetest.Base + 1, imagetest.Base + 0x20, imagetest.Base + 0xfe3} {
		for n, want := range map[uint64]bool{0: true, 63: true, 64: true, 4000: true, 4095: true, 4096: false, 5000: false} {
			require.NoError(t, m.WritePhysical(0, text))
			require.NoError(t, m.Store(at+n, 1, 0))
			s, err := m.ReadString(at)
			require.That(t, err == nil || strings.Contains(err.Error(), fmt.Sprintf("string at %#x ", at)), "%v", err)
			require.That(t, (err == nil) == want && (err != nil || s == string(text[at-imagetest.Base:][:n])), "a string of %d bytes at %#x: %d, %v", n, at, len(s), err)
		}
	}
	require.That(t, require.Err(m.ReadString(imagetest.Base+uint64(size-1))) != nil, "a string that the memory ends in")
	require.NoError(t, m.Store(imagetest.Base+uint64(size-1), 1, 0))
	last, err := m.ReadString(imagetest.Base + uint64(size-40))
	require.That(t, err == nil && len(last) == 39, "a string at the end of memory: %q, %v", last, err)
	same, err := m.Same(imagetest.Base+0x1ffe, []byte("?f01"))
	require.That(t, err == nil && !same, "other bytes in front of a page are the same, %v", err)
}

// TestGoIsWatched tells of what functions in Go read and write while the guest calls them.
func TestGoIsWatched(t *testing.T) {
	m := natives(t, imagetest.Kernel(), &caller{}, nil)
	var told []string
	m.WatchGo(func(cpu int, va uint64, n int, write bool) {
		told = append(told, fmt.Sprint(cpu, va-imagetest.Base, n, write))
	})
	for _, m.calling = range []*Call{nil, {cpu: 3}} {
		_, _ = m.Load(imagetest.Base+0x10, 4)
		_, _ = m.ReadBytes(imagetest.Base+0x20, 100)
		_ = m.Store(imagetest.Base+0x30, 2, 1)
		_ = m.WriteBytes(imagetest.Base+0x40, nil)
		_, _ = m.Load(imagetest.Base+0x50, 1)
		_, _ = m.Same(imagetest.Base, []byte{1})
	}
	require.Equal(t, strings.Join(told, ", "), "3 16 4 false, 3 32 100 false, 3 48 2 true, 3 80 1 false", "what is told of")
}

// TestGoIsWatchedInCalls tells of what a native function reads while the guest calls it, and of nothing behind the call.
func TestGoIsWatchedInCalls(t *testing.T) {
	told := 0
	m := natives(t, imagetest.Kernel(), &caller{}, func(c *Call) uint64 { v, _ := c.m.Load(imagetest.Base, 4); return v })
	m.WatchGo(func(int, uint64, int, bool) { told++ })
	for n := range 3 {
		m.native(0)
		_, err := m.Load(imagetest.Base, 4)
		require.That(t, err == nil && told == n+1, "behind call %d told of %d reads, %v", n, told, err)
	}
}

// TestPrintk prints words as integers of each type, and what is no integer.
func TestPrintk(t *testing.T) {
	const format, args, text = imagetest.Base + 0x2000, imagetest.Base + 0x3000, imagetest.Base + 0x4000
	for _, x := range []struct {
		bits   int
		format string
		args   []uint64
		want   string
	}{
		{64, "%d %ld %i", []uint64{0x1_0000_0005, 0x1_0000_0005, 1<<64 - 1}, "5 4294967301 -1"},
		{64, "%u %lu %x %08lx", []uint64{0xf_0000_0005, 0xf_0000_0005, 0xf_0000_000a, 0xf_0000_000a}, "5 64424509445 a f0000000a"},
		{32, "%d %ld %lu %-4x", []uint64{1<<32 - 1, 1<<32 - 1, 1<<32 - 1, 255}, "-1 -1 4294967295 ff"},
		{64, "%p, %c%s 100%% %q %", []uint64{0x1234, 'c', text, 7}, "0x0000000000001234, cguest 100% %q "},
		{32, "%p %s", []uint64{0x1234, 4}, "0x00001234 (bad string)"},
		{64, "%d%d%d%d%d%d", []uint64{1, 2, 3, 4, 5, 6}, "12345(?)"},
	} {
		m := natives(t, imagetest.Kernel(), &caller{}, nil)
		m.cfg.ISA.Bits = x.bits
		printed := ""
		if x.bits == 64 {
			m.cfg.Print = func(_ *Machine, s string) { printed += s }
		}
		require.NoError(t, m.WriteBytes(format, append([]byte(x.format), 0)))
		require.NoError(t, m.WriteBytes(text, []byte("guest\x00")))
		for i, v := range x.args {
			require.NoError(t, m.Store(args+uint64(i*x.bits/8), x.bits/8, v))
		}
		c := &Call{m: m}
		c.args[0], c.args[1] = format, args
		n := m.printk(c)
		require.That(t, m.Console() == x.want && n == uint64(len(x.want)) && (x.bits == 32 || printed == x.want), "%q with %x: %q and %q, %d bytes; want %q", x.format, x.args, m.Console(), printed, n, x.want)
	}
}

// TestPrintLine begins a line at each level, and goes on with one without.
func TestPrintLine(t *testing.T) {
	m := natives(t, imagetest.Kernel(), &caller{}, nil)
	for _, x := range []struct {
		level int64
		text  string
		want  string
	}{{6, "a", "a"}, {-1, "b", "ab"}, {6, "c\n", "ab\nc\n"}, {6, "d", "ab\nc\nd"}, {math.MaxUint32, "e", "ab\nc\nde"}, {0, "f", "ab\nc\nde\nf"}, {-1, strings.Repeat("g", 5000), "ab\nc\nde\nf" + strings.Repeat("g", mostPrinted)}} {
		require.NoError(t, m.WriteBytes(imagetest.Base+0x1000, []byte(x.text)))
		m.printLine(x.level, imagetest.Base+0x1000, uint64(len(x.text)))
		require.Equal(t, m.Console(), x.want, "the console behind %.9q", x.text)
	}
	require.NoError(t, m.err)
	m.printLine(6, imagetest.Base-1, 1)
	require.Error(t, m.err, "printk: ", "text that is nowhere")
}

// TestKeptMemory keeps pages that are not empty, and takes nothing else from what is damaged.
func TestKeptMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	m, other := &Machine{mem: mmu.NewMemory(1 << 16)}, &Machine{mem: mmu.NewMemory(1 << 16), cfg: Config{Bare: &Bare{}}}
	for page := range 16 {
		other.mem.Raw()[page*pageBytes] = 1
		if page == 0 || page%3 == 2 || page == 15 {
			m.mem.Raw()[page*pageBytes+rng.IntN(pageBytes)] = byte(1 + rng.IntN(255))
		}
	}
	b := m.keepMemory([]byte("in front"))[len("in front"):]
	require.Equal(t, len(b), 7*(pageBytes+1)+1, "seven pages, their numbers and an end have bytes")
	restore := func(b []byte) error { return other.restoreMemory(bufio.NewReader(bytes.NewReader(b))) }
	require.NoError(t, restore(b))
	require.That(t, bytes.Equal(other.mem.Raw(), m.mem.Raw()), "the memory is another one")
	for _, cut := range []int{0, 1, pageBytes, pageBytes + 1, len(b) - 1} {
		require.Error(t, restore(b[:cut]), "cut off", "%d bytes", cut)
	}
	b[6*(pageBytes+1)]++ // the page behind the last one
	require.Error(t, restore(b), "damaged", "another page")
	b[6*(pageBytes+1)] = b[5*(pageBytes+1)]
	require.Error(t, restore(b), "damaged", "a page again")
}

// TestLibrary calls what guest functions for modules are built on, with pointers to nowhere, too.
func TestLibrary(t *testing.T) {
	const at, nowhere = imagetest.Base + 0x4000, 16
	var m *Machine
	call := func(name string, args ...uint64) uint64 {
		c := &Call{m: m}
		copy(c.args[:], args)
		return m.bound[name](c)
	}
	for _, x := range []struct {
		name, text string
		args       []uint64
		want       uint64
		wrote, err string
	}{
		{"kallsyms_lookup_name", "inner", []uint64{at}, imagetest.Base + 0x40, "inner", ""},
		{"kallsyms_lookup_name", "none", []uint64{at}, 0, "none", ""},
		{"kallsyms_lookup_name", "", []uint64{nowhere}, 0, "", "kallsyms_lookup_name: "},
		{"sim_symbol", "", []uint64{at, imagetest.Base + 0x48, nameAlone}, 5, "inner", ""},
		{"sim_symbol", "", []uint64{at, imagetest.Base + 0x48, nameFull}, 14, "inner+0x8/0x10", ""},
		{"sim_symbol", "", []uint64{at, imagetest.Base + 0x204, nameCode}, 0, "", ""},
		{"sim_symbol", "", []uint64{at, imagetest.Base + 0x204, nameAlone}, 7, "jiffies", ""},
		{"sim_symbol", "", []uint64{at, imagetest.Base + 0x48, nameCode}, 14, "inner+0x8/0x10", ""},
		{"sim_symbol", "", []uint64{at, nowhere, nameFull}, 0, "", ""},
		{"sim_symbol", "", []uint64{nowhere, imagetest.Base + 0x48, nameFull}, 14, "", "a name of "},
		{"sim_clock", "", []uint64{at}, 0, "\x07", ""},
		{"sim_clock", "", []uint64{nowhere}, 0, "", "sim_clock: "},
		{"sim_panic", "broken\n", []uint64{at}, 0, "broken\n", "guest panic on cpu 0: broken; pc 0x40"},
		{"sim_panic", "", []uint64{nowhere}, 0, "", "guest panic on cpu 0: guest address 0x10 is not mapped"},
		{"sim_alloc", "", []uint64{0}, imagetest.Base + 0x8000, "", ""},
		{"sim_alloc", "", []uint64{0x8000}, imagetest.Base + 0x8000, "", ""},
		{"sim_alloc", "", []uint64{0x8001}, 0, "", ""},
		{"native_return", "", nil, 0, "", "returned to the native side with no call waiting"},
	} {
		m = natives(t, imagetest.Kernel(), &caller{}, nil)
		m.bound, m.heap = map[string]Native{}, newHeap(0x8000, 0x10000, imagetest.Base, Layout{})
		m.cfg.CPU.Hz = 1e9 // seven cycles are seven nanoseconds
		m.cfg.ISA.Name = "none"
		m.bindMachine()
		require.NoError(t, m.WriteBytes(at, append([]byte(x.text), 0)))
		got := call(x.name, x.args...)
		wrote, err := m.ReadString(at)
		require.That(t, got == x.want && err == nil && wrote == x.wrote, "%s(%x) is %#x and leaves %q, %v; want %#x and %q", x.name, x.args, got, wrote, err, x.want, x.wrote)
		require.That(t, (m.err == nil) == (x.err == "") && (m.err == nil || strings.Contains(m.err.Error(), x.err)), "%s(%x): %v, want %q", x.name, x.args, m.err, x.err)
	}
}

// A panic tells the last five lines of the console, where there are any.
func TestLastWords(t *testing.T) {
	for said, want := range map[string]string{
		"": "", " \n": "", "one\n": "\nguest console:\n  one", "1\n2\n3\n4\n5\n6\n": "\nguest console:\n  2\n  3\n  4\n  5\n  6",
	} {
		m := &Machine{}
		m.console.WriteString(said)
		require.Equal(t, m.lastWords(), want, "last words of %q", said)
	}
}

// TestMarks tells a mark, and says that the CPU goes no further when the run has ended by it.
func TestMarks(t *testing.T) {
	m, told := &Machine{}, ""
	require.Equal(t, m.mark(1, 5), false, "stops where nobody asks")
	m.OnMark(func(cpu int, n uint64) {
		told += fmt.Sprint(cpu, n, " ")
		m.done = n == 7
	})
	for n, stops := range map[uint64]bool{6: false, 7: true} {
		require.Equal(t, m.mark(2, n), stops, "stops at mark %d", n)
	}
	require.That(t, told == "2 6 2 7 " || told == "2 7 2 6 ", "told %q", told)
}

// TestPrintkOfNothing ends the run, and has printed no byte.
func TestPrintkOfNothing(t *testing.T) {
	m := natives(t, imagetest.Kernel(), &caller{}, nil)
	c := &Call{m: m}
	c.args[0] = 1 << 40
	require.Equal(t, m.printk(c), 0, "bytes")
	require.Error(t, m.err, "printk with a bad format", "a format that is not there")
}
