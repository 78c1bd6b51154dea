package pseries_test

import (
	_ "embed"
	"flag"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kprobesim/boards/pseries"
	"kprobesim/cpus"
	"kprobesim/cpus/ppc64"
	"kprobesim/internal/clock"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/mmu"
	"kprobesim/sim"
	"kprobesim/sim/simtest"
)

// Latencies of the tests' machine.
const (
	ipi  = 900 * clock.PerCycle
	call = 300 * clock.PerCycle
)

//go:embed testdata/many.elf
var many []byte

// newGuest makes a machine of n CPUs whose CPU 0 runs one function of testdata/many.S and whose others run
// another.
func newGuest(t *testing.T, n int, main, other string, change ...func(*sim.Config)) *simtest.Guest {
	t.Helper()
	shape := func(cfg *sim.Config) {
		for _, c := range []*mmu.CacheConfig{&cfg.CPU.L1I, &cfg.CPU.L1D, &cfg.CPU.L2} {
			c.Line = 128
		}
		cfg.CPU.Events[cpus.EventIPI], cfg.CPU.Events["hypercall"] = ipi, call
	}
	all := append([]func(*sim.Config){shape}, change...)
	return simtest.New(t, simtest.Config(t, ppc64.ISA(), pseries.Board{}, many, n, all...), main, other)
}

func TestStartUp(t *testing.T) {
	for _, n := range []int{2, 3, 16, 256} {
		g := newGuest(t, n, "boot_count", "ready")
		g.MustRun(t)
		require.That(t, slices.Equal(g.Reports, []uint64{uint64(n - 1)}), "%d CPUs: reported %d", n, g.Reports)
		for i := range n {
			data := require.Must(g.PerCPU(i, "count"))(t)
			sp := g.CPU(i).SP()
			require.That(t, sp > data && sp <= data+4096 && data>>60 == 0xc, "%d CPUs: cpu %d has its stack at %#x, its data at %#x", n, i, sp, data)
		}
	}
}

// TestStartAgain stops a CPU by RTAS and starts it again.
func TestStartAgain(t *testing.T) {
	g := newGuest(t, 2, "boot_again", "leaving")
	g.MustRun(t)
	require.That(t, slices.Equal(g.Reports, []uint64{2}), "CPU 1 ran %d times, want 2", g.Reports)
}

// TestIPI holds that every CPU takes the interrupt sent to it, ipi after it was sent, awake or asleep.
func TestIPI(t *testing.T) {
	for _, other := range []string{"ready", "busy"} {
		g := newGuest(t, 4, "boot_ipis", other)
		g.MustRun(t)
		sent, got := g.Kind(sim.EventIPISend), g.Kind(sim.EventIPI)
		require.Need(t, len(sent) == 3 && len(got) == 3, "%s: %d sent, %d accepted", other, len(sent), len(got))
		for i := range sent {
			require.That(t, got[i].CPU == i+1 && sent[i].Arg == uint64(i+1) && got[i].Arg == 0 && got[i].ID == 2, "%s: sent %+v, accepted %+v", other, sent[i], got[i])
			late := got[i].At - sent[i].At - ipi
			require.That(t, late >= 0 && late <= 50*clock.PerCycle+call, "%s: cpu %d accepted it %d ticks after its time", other, got[i].CPU, late)
			n := g.Own(t, i+1, "count")
			require.That(t, n == 1, "%s: cpu %d took %d interrupts", other, i+1, n)
			n = g.Own(t, i+1, "woken")
			require.That(t, other != "ready" || n == 1, "cpu %d returned from H_CEDE %d times", i+1, n)
		}
	}
}

// TestTick lets the decrementer wake a CPU that has ceded its time, once every period. The time base counts
// every eighth cycle.
func TestTick(t *testing.T) {
	g := newGuest(t, 2, "boot_busy", "ticking")
	g.Set(t, "period", 999)
	g.At(clock.FromCycles(1_000_000), func() { g.Stop(nil) })
	g.MustRun(t)
	// Between the expiry and the next mtdec lies the handler.
	n := g.Own(t, 1, "ticks")
	require.That(t, n <= 125 && n >= 120, "%d ticks of 8000 cycles in 1000000", n)
	ticks, woken := g.Own(t, 1, "ticks"), g.Own(t, 1, "woken")
	require.That(t, woken+1 >= ticks && woken <= ticks, "%d ticks, woken %d times", ticks, woken)
}

// TestTimerExpires has the decrementer interrupt ten times early, in the time of two and a half periods. One that was never set stays silent.
func TestTimerExpires(t *testing.T) {
	g := newGuest(t, 2, "boot_busy", "ticking")
	g.Set(t, "period", 999)
	for i := range int64(10) {
		g.At(clock.FromCycles(500_000+2000*i), func() {
			g.Expire(0)
			g.Expire(1)
		})
	}
	g.At(clock.FromCycles(1_000_000), func() { g.Stop(nil) })
	g.MustRun(t)
	n := g.Own(t, 1, "ticks")
	require.That(t, n >= 128 && n <= 134, "%d ticks, want about 7 more than 124", n)
	require.Equal(t, g.Own(t, 0, "ticks"), 0, "ticks of the CPU whose decrementer is not set")
}

func TestConsole(t *testing.T) {
	g := newGuest(t, 1, "boot_print", "ready")
	g.MustRun(t)
	require.That(t, g.Console() == "hello, world.\n" && slices.Equal(g.Reports, []uint64{0}), "console %q, returned %#x", g.Console(), g.Reports)
}

// TestCallTime holds that a call takes the time of its event.
func TestCallTime(t *testing.T) {
	var end [2]clock.Ticks
	for i, cost := range []clock.Ticks{call, 2 * call} {
		g := newGuest(t, 1, "boot_print", "ready", func(c *sim.Config) { c.CPU.Events["hypercall"] = cost })
		g.MustRun(t)
		end[i] = g.CPU(0).Now()
	}
	if d := end[1] - end[0]; d != 2*call { // H_CPPR and H_PUT_TERM_CHAR
		t.Errorf("two calls with twice the cost take %d ticks more, want %d", d, 2*call)
	}
}

// TestCalls makes single calls on CPU 0 of two, whose other sleeps, and looks at r3, r4 and r5.
func TestCalls(t *testing.T) {
	minus := func(n uint64) uint64 { return -n }
	for _, x := range []struct {
		name    string
		regs    [4]uint64
		want    [3]uint64
		unknown uint64
	}{
		{"H_XIRR without an interrupt", [4]uint64{0x74}, [3]uint64{0, 0xff000000, 0}, 0},
		{"H_CPPR", [4]uint64{0x68, 0x1205}, [3]uint64{0, 0x1205, 0}, 0},
		{"H_EOI of no source", [4]uint64{0x64, 0xff000007}, [3]uint64{minus(4), 0xff000007, 0}, 0},
		{"H_EOI above the CPU's priority", [4]uint64{0x64, 0x04000002}, [3]uint64{minus(4), 0x04000002, 0}, 0},
		{"H_EOI", [4]uint64{0x64, 0xff000002}, [3]uint64{0, 0xff000002, 0}, 0},
		{"H_IPI to nobody", [4]uint64{0x6c, 2, 4}, [3]uint64{minus(4), 2, 4}, 0},
		{"H_IPOLL of nobody", [4]uint64{0x70, 1 << 40}, [3]uint64{minus(4), 1 << 40, 0}, 0},
		{"H_IPOLL", [4]uint64{0x70, 1}, [3]uint64{0, 0xff000000, 0xff}, 0},
		{"H_PUT_TERM_CHAR of another terminal", [4]uint64{0x58, 1, 4}, [3]uint64{minus(4), 1, 4}, 0},
		{"H_PUT_TERM_CHAR of too much", [4]uint64{0x58, 0, 17}, [3]uint64{minus(4), 0, 17}, 0},
		{"RTAS outside of memory", [4]uint64{0xf000, 1 << 50}, [3]uint64{minus(4), 1 << 50, 0}, 0},
		{"RTAS not aligned", [4]uint64{0xf000, 0x1002}, [3]uint64{minus(4), 0x1002, 0}, 0},
		{"RTAS of no service", [4]uint64{0xf000, 0x1000}, [3]uint64{minus(4), 0x1000, 0}, 0},
		{"no such call", [4]uint64{0xe4, 1, 2}, [3]uint64{minus(2), 1, 2}, 1},
	} {
		g := newGuest(t, 2, "boot_call", "ready")
		g.Set(t, "list", x.regs[:]...)
		g.MustRun(t)
		require.That(t, slices.Equal(g.Reports, x.want[:]), "%s: r3 to r5 are %#x, want %#x", x.name, g.Reports, x.want)
		n := g.CPU(0).Counters()
		require.That(t, n.Unmodelled == x.unknown, "%s: %d instructions not modelled, the last %s", x.name, n.Unmodelled, n.LastUnknown)
	}
}

// TestRTAS asks for services with bad arguments. The status is the first word behind the arguments.
func TestRTAS(t *testing.T) {
	for _, x := range []struct {
		name string
		in   [4]uint32 // token, arguments, results, CPU
		r3   uint64
		at   uint64 // place of the words that are looked at
		want [2]uint32
	}{
		{"start of nobody", [4]uint32{1, 3, 1, 9}, 0, 24, [2]uint32{0xfffffffd, 0}},
		{"start of one that runs", [4]uint32{1, 3, 1, 1}, 0, 24, [2]uint32{0xffffffff, 0}},
		{"too few arguments", [4]uint32{1, 2, 1, 1}, ^uint64(3), 24, [2]uint32{}},
		{"too few results", [4]uint32{3, 1, 1, 1}, ^uint64(3), 16, [2]uint32{}},
		{"too many results", [4]uint32{3, 1, 1 << 31, 1}, ^uint64(3), 16, [2]uint32{}},
		{"state of nobody", [4]uint32{3, 1, 2, 7}, 0, 16, [2]uint32{0xfffffffd, 0}},
		{"state of one that runs", [4]uint32{3, 1, 2, 1}, 0, 16, [2]uint32{0, 2}},
	} {
		g := newGuest(t, 2, "boot_call", "ready")
		list := g.Symbol(t, "list")
		g.Set(t, "list", 0xf000, (list+32)&^(0xf<<60))
		block := list + 32
		for i, v := range x.in {
			require.NoError(t, g.Store(block+4*uint64(i), 4, uint64(v)))
		}
		g.MustRun(t)
		var got [2]uint32
		for i := range got {
			v := require.Must(g.Machine.Load(block+x.at+4*uint64(i), 4))(t)
			got[i] = uint32(v)
		}
		require.That(t, got == x.want && g.Reports[0] == x.r3, "%s: r3 %#x, results %#x, want %#x, %#x", x.name, g.Reports[0], got, x.r3, x.want)
	}
}

// TestUnknownCallIsReported holds that the end of a run which went wrong names a call that is not there.
func TestUnknownCallIsReported(t *testing.T) {
	g := newGuest(t, 1, "boot_abuse", "ready")
	g.List(t, 8, 0x0f0, 0, 0, 0, 0xe0, 0, 0, 0, ^uint64(0)) // then sleeps for ever
	err := g.Run()
	if err == nil || !strings.Contains(err.Error(), "the last hypervisor call 0xf0 at 0xc00000000000") {
		t.Error(err)
	}
}

// TestAbuse makes random calls: the machine ends in whatever way, but it ends, and the same way again.
func TestAbuse(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	functions := []uint64{0x58, 0x64, 0x68, 0x6c, 0x70, 0x74, 0xe0, 0xf000, 0xf004, 4}
	simtest.Abuse(t, 100, 2, []string{"<nil>", "all CPUs sleep", "budget"}, func() func() string {
		var list []uint64
		for range 40 {
			f := functions[rng.IntN(len(functions))]
			if f == 0xe0 && rng.IntN(8) != 0 {
				f = 0x6c
			}
			list = append(list, f, uint64(rng.IntN(5)), uint64(rng.IntN(300)), rng.Uint64())
			if rng.IntN(4) == 0 {
				list[len(list)-3] = rng.Uint64()
			}
		}
		return func() string {
			g := newGuest(t, 4, "boot_abuse", "ready", func(c *sim.Config) { c.Budget = clock.FromCycles(400_000) })
			g.List(t, 8, append(list, ^uint64(0))...)
			return g.Ended(g.Run())
		}
	})
}

// TestSpace holds what a kernel is entered with: the two mappings of the lowest memory, by pages of the two
// sizes, and code for slots near the heap.
func TestSpace(t *testing.T) {
	g := newGuest(t, 1, "boot_print", "ready")
	for _, pa := range []uint64{0, 0x3000, 20 << 20} {
		for _, va := range []uint64{pseries.Linear, pseries.Slots} {
			got, ok := g.CPU(0).Translate(va + pa)
			require.That(t, ok && got == pa, "%#x is at %#x, %v; want %#x", va+pa, got, ok, pa)
		}
	}
	at := require.Must(g.Alloc(4096, 4096))(t)
	near, ok := g.Near(at)
	require.That(t, ok && near == at-pseries.Linear+pseries.Slots, "code of the heap at %#x is executed at %#x, %v", at, near, ok)
	toy := ppc64.ISA()
	toy.Name, toy.Machine = "toy", 0
	require.Error(t, require.Err((pseries.Board{}).Space(toy)), "a partition has no CPUs of toy", "another instruction set")
}

// TestSpaceOfEverySize holds that the page table fits for every size of memory.
func TestSpaceOfEverySize(t *testing.T) {
	simtest.AnySize(t, func(size func(*sim.Config)) { newGuest(t, 1, "boot_print", "ready", size).MustRun(t) })
}

var updateMany = flag.Bool("update-many", false, "write testdata/many.elf")

// TestManyGuestIsFresh builds testdata/many.elf again.
func TestManyGuestIsFresh(t *testing.T) {
	hosttools.Fresh(t, "powerpc64-linux-gnu-gcc", "gcc-powerpc64-linux-gnu", *updateMany, "-mcpu=power5")
}
