package vexpress_test

import (
	_ "embed"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"kprobesim/boards/vexpress"
	"kprobesim/cpus"
	"kprobesim/cpus/arm"
	"kprobesim/cpus/cpustest"
	"kprobesim/internal/clock"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/sim"
	"kprobesim/sim/simtest"
)

// ipi is the latency of interrupts between CPUs of the tests' machine.
const ipi = 300 * clock.PerCycle

//go:embed testdata/many.elf
var many []byte

// newGuest makes a machine of n CPUs whose CPU 0 runs one function of testdata/many.S and whose others run
// another.
func newGuest(t *testing.T, n int, main, other string, change ...func(*sim.Config)) *simtest.Guest {
	t.Helper()
	shape := func(cfg *sim.Config) { cfg.CPU.Events[cpus.EventIPI] = ipi }
	all := append([]func(*sim.Config){shape}, change...)
	return simtest.New(t, simtest.Config(t, arm.ISA(), vexpress.Board{}, many, n, all...), main, other)
}

func TestStartUp(t *testing.T) {
	for _, n := range []int{1, 2, 3, 8} {
		g := newGuest(t, n, "boot_count", "ready")
		g.MustRun(t)
		require.That(t, slices.Equal(g.Reports, []uint64{uint64(n - 1)}), "%d CPUs: reported %d", n, g.Reports)
		for i := range n {
			data := require.Must(g.PerCPU(i, "count"))(t)
			if sp := g.CPU(i).SP(); sp < data || sp > data+4096 || data < vexpress.Linear {
				// In a handler it is the data.
				t.Errorf("%d CPUs: cpu %d has its stack at %#x, its data at %#x", n, i, sp, data)
			}
			// What started a CPU is still pending when it turns interrupts on.
			got := g.Own(t, i, "count")
			require.That(t, i <= 0 || i >= n-1 || got == 1, "%d CPUs: cpu %d took %d interrupts, want that of its start", n, i, got)
		}
	}
	_, err := sim.New(sim.Config{
		ISA: arm.ISA(), Board: vexpress.Board{}, CPU: cpustest.Config(arm.ISA()), CPUs: 9, Image: newGuest(t, 1, "ready", "ready").Image(),
	})
	require.Error(t, err, "9 CPUs of arm: their board has places for 8", "9 CPUs")
}

// TestIPI holds that every CPU takes the interrupt sent to it, ipi after it was sent, awake or asleep, with
// interrupts on or off.
func TestIPI(t *testing.T) {
	for other, woken := range map[string]uint64{"ready": 1, "masked": 2, "busy": 0} { // the first is the start
		g := newGuest(t, 4, "boot_ipis", other)
		g.MustRun(t)
		sent, got := g.Kind(sim.EventIPISend), g.Kind(sim.EventIPI)
		require.Need(t, len(sent) == 6 && len(got) == 6, "%s: %d sent, %d accepted", other, len(sent), len(got))
		for i := range sent[:3] {
			s, a := sent[3+i], got[3+i]
			require.That(t, a.CPU == i+1 && s.Arg == 2<<i && a.Arg == 0 && a.ID == uint64(i+1) && s.ID == a.ID, "%s: sent %+v, accepted %+v", other, s, a)
			late := a.At - s.At - ipi
			require.That(t, late >= 0 && late <= 50*clock.PerCycle, "%s: cpu %d accepted it %d ticks after its time", other, a.CPU, late)
			n := g.Own(t, i+1, "count")
			require.That(t, n == 2, "%s: cpu %d took %d interrupts, want two", other, i+1, n)
			n = g.Own(t, i+1, "woken")
			require.That(t, n == woken, "%s: cpu %d woke up %d times, want %d", other, i+1, n, woken)
		}
	}
}

// TestTargets sends one interrupt by each filter of GICD_SGIR from CPU 0 of four.
func TestTargets(t *testing.T) {
	for _, x := range []struct {
		send uint64
		took [4]uint64
	}{
		{0x000a0003, [4]uint64{0, 1, 0, 1}},
		{0x00f10003, [4]uint64{1, 0, 0, 0}}, // nobody has the upper numbers
		{0x00000003, [4]uint64{}},
		{0x01ff0003, [4]uint64{0, 1, 1, 1}},
		{0x02ff0003, [4]uint64{1, 0, 0, 0}},
		{0x03ff0003, [4]uint64{}},
	} {
		g := newGuest(t, 4, "boot_send", "ready")
		g.Set(t, "arg2", x.send)
		g.MustRun(t)
		var took [4]uint64
		for i := range took {
			took[i] = g.Own(t, i, "count")
			if i > 0 {
				took[i]-- // that of its start
			}
			last := g.Own(t, i, "last")
			require.That(t, took[i] <= 0 || last == 3, "%#x: cpu %d was told %#x, want interrupt 3 of CPU 0", x.send, i, last)
		}
		require.Equal(t, took, x.took, "%#x: CPUs took", x.send)
	}
}

// TestTick lets the timer wake a CPU once every period. It counts 24 million times a second, at 1 GHz
// once in 41.67 cycles.
func TestTick(t *testing.T) {
	g := newGuest(t, 2, "boot_busy", "ticking", func(c *sim.Config) { c.CPU.Hz = 1_000_000_000 })
	g.Set(t, "period", 240)
	g.At(clock.FromCycles(1_000_000), func() { g.Stop(nil) })
	g.MustRun(t)
	// Between the expiry and the next start of the timer lies the handler.
	n := g.Own(t, 1, "ticks")
	require.That(t, n <= 100 && n >= 95, "%d ticks of 10000 cycles in 1000000", n)
	ticks, woken := g.Own(t, 1, "ticks"), g.Own(t, 1, "woken")
	require.That(t, woken+1 >= ticks && woken <= ticks+1, "%d ticks, woken %d times", ticks, woken)
}

// TestTimerClock holds that a machine cannot say another clock of the timers than they have.
func TestTimerClock(t *testing.T) {
	g := newGuest(t, 1, "boot_print", "ready")
	if g.TimerHz() != 24e6 {
		t.Errorf("the timers count %d Hz", g.TimerHz())
	}
	_, err := sim.New(sim.Config{
		ISA: arm.ISA(), Board: vexpress.Board{}, CPU: cpustest.Config(arm.ISA()), Image: g.Image(), TimerHz: 1e9,
	})
	require.Error(t, err, "its timer counts 1000000000 Hz, that of arm 24000000 Hz", "another clock")
}

func TestConsole(t *testing.T) {
	g := newGuest(t, 1, "boot_print", "ready")
	g.MustRun(t)
	require.Equal(t, g.Console(), "hello, world.\n", "console")
}

// Kinds of entries of the list that boot_list goes through.
const (
	end = iota
	load4
	store4
	load1
	store1
	load2
	store2
	wait
	off
	on
	load8
	store8
	kinds
)

// access is an entry.
type access struct{ kind, addr, value uint64 }

// perform lets CPU 0 go through a list, and returns it with what was loaded.
func perform(t *testing.T, g *simtest.Guest, list []access) ([]access, error) {
	t.Helper()
	var words []uint64
	for _, a := range append(list, access{}) {
		words = append(words, a.kind, a.addr, a.value)
	}
	at := g.List(t, 4, words...)
	ran := g.Run()
	for i := range list {
		var err error
		if list[i].value, err = g.Load(at+12*uint64(i)+8, 4); err != nil {
			t.Fatal(err)
		}
	}
	return list, ran
}

const (
	gicd = vexpress.Distributor
	gicc = vexpress.CPUInterface
	uart = vexpress.Console
	v2m  = vexpress.SystemRegisters
)

// TestRegisters accesses registers of devices by instructions: a load finds its third number.
func TestRegisters(t *testing.T) {
	want := []access{
		{load4, gicd, 1},
		{load4, gicd + 4, 3<<5 | 4},
		{load4, gicd + 0x100, 0x4000ffff},
		{load4, gicd + 0x800, 0x01010101},
		{store4, gicd + 0x820, 0x0f1e0201},
		{load1, gicd + 0x822, 0x0e}, // four CPUs
		{load2, gicd + 0x820, 0},    // of the wrong size
		{store1, gicd + 0x423, 0xff},
		{load4, gicd + 0x420, 0xf8000000},
		{store4, gicd + 0xc00, 0}, // how interrupts of a CPU's own are signalled is fixed
		{load4, gicd + 0xc00, 0xaaaaaaaa},
		{store4, gicd + 0xc04, 0xffffffff},
		{load4, gicd + 0xc04, 0x55540000},
		{store4, gicd + 0xc08, 0xffffffff},
		{load4, gicd + 0xc08, 0xffffffff},
		{load4, gicd + 0xfe8, 0x2b},
		{load4, gicc + 4, 0xf0},
		{load4, gicc + 0x0c, 1023},
		{load4, gicc + 0x14, 0xff},
		{load4, gicc + 0xfc, 0x0202143b},
		{store4, gicc, 0x201}, // with ends in two steps
		{load4, gicc, 0x201},
		{store4, gicc, 0x1},
		{load4, gicc, 0x1},
		{load4, uart + 0x18, 0x90},
		{load4, uart + 0x30, 0x301},
		{store4, uart + 0x30, 0},
		{store4, uart, 'x'}, // not enabled: not sent
		{load4, uart + 0x3c, 0},
		{store4, uart + 0x30, 0x301},
		{store4, uart, 'y'},
		{load4, uart + 0x3c, 0x20},
		{store4, uart + 0x44, 0x20},
		{load4, uart + 0x3c, 0},
		{load4, uart + 0xfe0, 0x11},
		{load4, v2m + 0x00, 0x1190f500},
		{load4, v2m + 0x30, 0xc0008000}, // where start_others wants the CPUs
		{store4, v2m + 0x34, 0xffff},
		{load4, v2m + 0x30, 0xc0000000},
		{load8, v2m + 0x30, 0xc0000000},
		{load4, v2m + 0x800, 0},
	}
	got := require.Must(perform(t, newGuest(t, 4, "boot_list", "ready"), slices.Clone(want)))(t)
	for i := range want {
		require.That(t, got[i] == want[i], "%d: %#x at %#x, want %#x", i, got[i].value, got[i].addr, want[i].value)
	}
}

// TestSharedInterrupt makes shared interrupts pending by software and by the console's line. The CPU that they
// are for takes them.
func TestSharedInterrupt(t *testing.T) {
	for _, to := range []int{0, 2} {
		g := newGuest(t, 4, "boot_list", "ready")
		list := []access{
			{store1, gicd + 0x800 + 33, 1 << to},
			{store1, gicd + 0x800 + 40, 1 << to},
			{store4, gicd + 0x104, 1<<1 | 1<<8},
			{store4, gicd + 0x204, 1 << 1},
			{store4, gicd + 0xf00, 0x01000000 | 0xf},
		}
		for range 300 { // until the message has come there
			list = append(list, access{load4, gicd + 0x204, 0})
		}
		list = append(list, access{store4, gicd + 0x204, 1 << 8})
		for range 300 {
			list = append(list, access{load4, gicd + 0x204, 0})
		}
		if _, err := perform(t, g, list); err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			n := g.Own(t, i, "others")
			require.That(t, (n == 2 || i != to) && (n == 0 || i == to), "for cpu %d: cpu %d took %d", to, i, n)
		}
	}
}

// TestConsoleInterrupt holds the way of the console's interrupt: it comes again until it is cleared.
func TestConsoleInterrupt(t *testing.T) {
	g := newGuest(t, 1, "boot_list", "ready")
	list := []access{
		{store4, gicd + 0x104, 1 << 5},
		{store4, uart + 0x38, 0x20},
		{off, 0, 0},
		{store4, uart, 'x'},
		{load4, uart + 0x40, 0},
		{load4, gicd + 0x204, 0},
		{load4, gicc + 0x0c, 0},
		{load4, gicd + 0x204, 0}, // active, and pending as the line is up
		{store4, uart + 0x44, 0x20},
		{load4, gicd + 0x204, 0},
		{store4, gicc + 0x10, 37},
		{on, 0, 0},
	}
	list = require.Must(perform(t, g, list))(t)
	for i, want := range map[int]uint64{4: 0x20, 5: 1 << 5, 6: 37, 7: 1 << 5, 9: 0} {
		require.That(t, list[i].value == want, "%d: %#x at %#x, want %#x", i, list[i].value, list[i].addr, want)
	}
	require.Equal(t, g.Own(t, 0, "others"), 0, "interrupts behind its end")
}

// TestAbuse makes random accesses to all registers: the machine ends in whatever way, but it ends, and the
// same way again.
func TestAbuse(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 5))
	simtest.Abuse(t, hosttools.Part(t, "random lists of accesses", 60, 30), 2, []string{"<nil>", "all CPUs sleep", "budget"}, func() func() string {
		list := randomAccesses(rng, 60)
		return func() string {
			g := newGuest(t, 4, "boot_list", "busy", func(c *sim.Config) { c.Budget = clock.FromCycles(300_000) })
			after, err := perform(t, g, slices.Clone(list))
			return g.Ended(err) + fmt.Sprint(after)
		}
	})
}

// randomAccesses draws accesses, most of them to registers that are there.
func randomAccesses(rng *rand.Rand, n int) (list []access) {
	offsets := []uint64{0, 0, 4, 8, 0x0c, 0x10, 0x18, 0x30, 0x34, 0x38, 0x100, 0x104, 0x180, 0x200, 0x204, 0x280, 0x300, 0x380, 0x400, 0x820, 0xc08, 0xf00, 0xf00, 0xf20}
	for range n {
		a := access{uint64(1 + rng.IntN(kinds-1)), gicd + uint64(rng.IntN(4)*0x1000), rng.Uint64() & (1<<32 - 1) >> rng.IntN(32)}
		switch {
		case a.kind == wait && rng.IntN(3) != 0:
			a.kind = load4
		case a.kind < wait && rng.IntN(2) == 0:
			a.kind = store4
		}
		if rng.IntN(4) == 0 {
			a.addr += uint64(rng.IntN(0x1000)) // alignment does not matter to strongly ordered memory here
			if rng.IntN(4) != 0 {
				a.addr &^= 3
			}
		} else {
			a.addr += offsets[rng.IntN(len(offsets))]
		}
		if a.kind >= load8 {
			a.addr &^= 3
		}
		list = append(list, a)
	}
	return list
}

// TestSpace holds what a kernel is entered with: the mappings of the lowest memory, by pages and by sections, the
// vectors, and code for slots in the area of modules.
func TestSpace(t *testing.T) {
	g := newGuest(t, 1, "boot_print", "ready")
	for va, pa := range map[uint64]uint64{
		vexpress.Linear: 0, vexpress.Linear + 20<<20: 20 << 20, vexpress.Modules: 0, vexpress.Modules + 0x3000: 0x3000,
		vexpress.Vectors: 0, vexpress.Vectors + 0x1ffc: 0x1ffc, gicd: 0xac001000, gicc: 0xac002000, uart: 0x9c090000, v2m: 0x9c010000,
	} {
		got, ok := g.CPU(0).Translate(va)
		require.That(t, ok && got == pa, "%#x is at %#x, %v; want %#x", va, got, ok, pa)
	}
	for _, va := range []uint64{0, vexpress.Modules - 1, vexpress.Modules + 14<<20, vexpress.Linear + 32<<20, vexpress.Vectors + 0x2000} {
		got, ok := g.CPU(0).Translate(va)
		require.That(t, !ok, "%#x is at %#x, want no translation", va, got)
	}
	at := require.Must(g.Alloc(4096, 4096))(t)
	near, ok := g.Near(at)
	require.That(t, ok && near == at-vexpress.Linear+vexpress.Modules, "code of the heap at %#x is executed at %#x, %v", at, near, ok)
	toy := arm.ISA()
	toy.Name, toy.Machine = "toy", 0
	require.Error(t, require.Err((vexpress.Board{}).Space(toy)), "board has no CPUs of toy", "another instruction set")
}

// TestSpaceOfEverySize holds that the page table fits for every size of memory.
func TestSpaceOfEverySize(t *testing.T) {
	simtest.AnySize(t, func(size func(*sim.Config)) { newGuest(t, 1, "boot_print", "ready", size).MustRun(t) })
}

var updateMany = flag.Bool("update-many", false, "write testdata/many.elf")

// TestManyGuestIsFresh builds testdata/many.elf again.
func TestManyGuestIsFresh(t *testing.T) {
	hosttools.Fresh(t, "arm-linux-gnueabi-gcc", "gcc-arm-linux-gnueabi", *updateMany, "-marm", "-march=armv7-a", "-mfloat-abi=soft")
}
