package sim

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
	"kprobesim/cpus/x86"
	"kprobesim/image"
	"kprobesim/internal/clock"
)

// Latencies of the tests' machine.
const (
	manyIPI      = 900 * clock.PerCycle
	manyTransfer = 250 * clock.PerCycle
	manyUpgrade  = 100 * clock.PerCycle
)

// manyConfig is a CPU of round numbers, whose events but those between CPUs take a cycle.
func manyConfig(isa *cpus.ISA) cpus.Config {
	cfg := cpustest.Config(isa)
	cfg.L2.Size, cfg.L2.Ways = 1<<20, 16
	for _, n := range isa.Events {
		cfg.Events[n] = clock.PerCycle
	}
	cfg.Events[cpus.EventIPI] = manyIPI
	cfg.Events[cpus.EventTransfer] = manyTransfer
	cfg.Events[cpus.EventUpgrade] = manyUpgrade
	return cfg
}

// many is a machine that runs testdata/many.S, and what it reported.
type many struct {
	*Machine
	reports []uint64
	from    []int // the CPUs that reported
	events  []Event
}

// newMany makes a machine whose CPU 0 runs one function of testdata/many.S and whose others run another.
func newMany(tb testing.TB, n int, main, other string, change ...func(*Config)) *many {
	tb.Helper()
	b, err := os.ReadFile("testdata/many.elf")
	if err != nil {
		tb.Fatal(err)
	}
	im, err := image.Load("many.elf", b)
	if err != nil {
		tb.Fatal(err)
	}
	isa := x86.ISA64()
	cfg := Config{
		ISA: isa, CPU: manyConfig(isa), CPUs: n, RAM: 32 << 20, Image: im, Budget: clock.FromCycles(20_000_000),
	}
	for _, f := range change {
		f(&cfg)
	}
	m, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	w := &many{Machine: m}
	m.Watch(func(e Event) { w.events = append(w.events, e) })
	m.Bind("sim_main", func(*Call) uint64 { return 0 })
	m.Bind("report", func(c *Call) uint64 {
		w.reports = append(w.reports, c.Arg(0))
		w.from = append(w.from, c.CPU())
		return 0
	})
	m.Bind("away", func(c *Call) uint64 {
		before := c.CPU()
		v, err := c.InvokeSym("hand_over")
		if err != nil {
			m.Stop(err)
		}
		return v*100 + uint64(before)*10 + uint64(c.CPU())
	})
	w.set(tb, "boot_main", w.symbol(tb, main))
	w.set(tb, "other_main", w.symbol(tb, other))
	w.set(tb, "arg", uint64(n-1))
	return w
}

func (w *many) symbol(tb testing.TB, name string) uint64 {
	tb.Helper()
	s, ok := w.Image().Symbol(name)
	if !ok {
		tb.Fatalf("no symbol %s", name)
	}
	return s.Addr
}

func (w *many) set(tb testing.TB, name string, v uint64) {
	tb.Helper()
	if err := w.Store(w.symbol(tb, name), 8, v); err != nil {
		tb.Fatal(err)
	}
}

// run runs and fails on any error.
func (w *many) run(tb testing.TB) {
	tb.Helper()
	if err := w.Run(); err != nil {
		tb.Fatal(err)
	}
}

// kind returns the events of one kind.
func (w *many) kind(kind string) (out []Event) {
	for _, e := range w.events {
		if e.Kind == kind {
			out = append(out, e)
		}
	}
	return out
}

var updateMany = flag.Bool("update-many", false, "write testdata/many.elf")

// TestManyGuestIsFresh builds testdata/many.elf again.
func TestManyGuestIsFresh(t *testing.T) {
	cc := "x86_64-linux-gnu-gcc"
	if _, err := exec.LookPath(cc); err != nil {
		if cc = "gcc"; runtime.GOARCH != "amd64" {
			t.Skip("skipped: building testdata/many.S; x86_64-linux-gnu-gcc is not installed")
		}
	}
	if _, err := exec.LookPath(cc); err != nil {
		t.Skip("skipped: building testdata/many.S; gcc is not installed")
	}
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	tmp := t.TempDir()
	for _, args := range [][]string{
		{"-c", "-o", "many.o", dir + "/many.S"},
		{
			"-nostdlib", "-static", "-no-pie", "-Wl,--build-id=none", "-Wl,-z,noexecstack",
			"-Wl,-T," + dir + "/many.lds", "-o", "many.elf", "many.o",
		},
	} {
		cmd := exec.Command(cc, args...)
		cmd.Dir = tmp
		if msg, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, msg)
		}
	}
	got, err := os.ReadFile(filepath.Join(tmp, "many.elf"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/many.elf")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		if *updateMany {
			if err := os.WriteFile("testdata/many.elf", got, 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		t.Errorf("testdata/many.elf is not what %s builds from many.S: build it with -update-many", cc)
	}
}

func TestStartUp(t *testing.T) {
	for _, n := range []int{2, 3, 16, 256} {
		w := newMany(t, n, "boot_count", "ready")
		w.run(t)
		if !slices.Equal(w.reports, []uint64{uint64(n - 1)}) {
			t.Errorf("%d CPUs: reported %d", n, w.reports)
		}
		if got := len(w.kind("ipi")); got != 3*(n-1) {
			t.Errorf("%d CPUs: %d interrupts accepted, want INIT and two start-ups each", n, got)
		}
		for i := range n {
			if sp := w.CPU(i).SP(); sp <= w.percpu[i] || sp > w.percpu[i]+4096 {
				t.Errorf("%d CPUs: cpu %d has its stack at %#x, its data at %#x", n, i, sp, w.percpu[i])
			}
		}
	}
}

func TestStartUpAgain(t *testing.T) {
	w := newMany(t, 2, "boot_again", "ready")
	w.run(t)
	if !slices.Equal(w.reports, []uint64{2}) {
		t.Errorf("CPU 1 began %d times, want 2: INIT stops it and the next start-up starts it", w.reports)
	}
}

// TestIPI holds that every CPU takes the interrupt sent to it, ipi after it was sent, awake or asleep.
func TestIPI(t *testing.T) {
	for _, other := range []string{"ready", "busy"} {
		w := newMany(t, 4, "boot_ipis", other)
		w.run(t)
		sent := map[uint64]clock.Ticks{}
		for _, e := range w.kind("ipi-send") {
			if e.ID == 0x40 {
				sent[e.Arg] = e.At
			}
		}
		var to []int
		for _, e := range w.kind("ipi") {
			if e.ID != 0x40 {
				continue
			}
			to = append(to, e.CPU)
			late := e.At - sent[uint64(e.CPU)] - manyIPI
			if late < 0 || late > 50*clock.PerCycle {
				t.Errorf("%s: cpu %d accepted it %d ticks after its time", other, e.CPU, late)
			}
		}
		if !slices.Equal(to, []int{1, 2, 3}) {
			t.Errorf("%s: accepted by %v", other, to)
		}
		for i := 1; i < 4; i++ {
			at, err := w.PerCPU(i, "count")
			if err != nil {
				t.Fatal(err)
			}
			if n, _ := w.Load(at, 8); other == "ready" && n != 1 {
				t.Errorf("cpu %d took %d interrupts", i, n)
			}
		}
	}
}

// TestDestinations holds who takes an interrupt that is sent to one of many.
func TestDestinations(t *testing.T) {
	for _, x := range []struct {
		name, other string
		n           int
		command     uint64
		want        []int
	}{
		{"physical", "ready", 4, 0x40, []int{1}},
		{"logical, the last of 256", "logical", 256, 0x840, []int{255}},
		{"lowest priority of the others", "ranked", 4, 0xc0140, []int{3}},
		{"all others", "ready", 4, 0xc0040, []int{1, 2, 3}},
	} {
		w := newMany(t, x.n, "boot_send", x.other)
		w.set(t, "arg2", x.command)
		w.run(t)
		var got []int
		for _, e := range w.kind("ipi") {
			if e.ID == 0x40 {
				got = append(got, e.CPU)
			}
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("%s: accepted by %v, want %v", x.name, got, x.want)
		}
	}
}

// TestAbuseOfTheAPIC writes random registers of it, most of all the interrupt command: the machine ends
// in whatever way, but it ends, and the same way again.
func TestAbuseOfTheAPIC(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	ends := map[string]int{}
	for range 150 {
		var list []uint64
		for range 60 {
			off, v := uint64(0x300), uint64(rng.Uint32N(1<<20)) // any mode, level, trigger and shorthand
			switch rng.IntN(4) {
			case 0:
				off, v = 0x310, uint64(rng.IntN(4)+rng.IntN(100)/99)<<24 // seldom one that no CPU has
			case 1:
				off, v = uint64(1+rng.IntN(0x3ff))&^0xf+0x10, uint64(rng.Uint32())
			}
			if off == 0x300 && rng.IntN(100) != 0 {
				v = v&^0x8ff | 0x40 // a vector that has a gate, for one CPU
			}
			if off == 0x300 && v>>8&7 == 2 && rng.IntN(50) != 0 {
				v &^= 0x200 // fixed, not a system management interrupt
			}
			list = append(list, off, v)
		}
		first, second := abuse(t, list), abuse(t, list)
		if first != second {
			t.Errorf("two runs end with %q and %q", first, second)
		}
		for _, how := range []string{"<nil>", "all CPUs sleep", "triple fault", "system management", "none of 4 CPUs has"} {
			if strings.Contains(first, how) {
				ends[how]++
			}
		}
	}
	t.Log(ends)
	if len(ends) != 5 {
		t.Errorf("not every end is met: %v", ends)
	}
}

// abuse writes a list of registers on CPU 0 of four and says how that ends.
func abuse(t *testing.T, list []uint64) string {
	t.Helper()
	w := newMany(t, 4, "boot_abuse", "ready", func(c *Config) { c.Budget = clock.FromCycles(200_000) })
	at, err := w.Alloc(uint64(8*len(list)+16), 16)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range list {
		if err := w.Store(at+uint64(8*i), 8, v); err != nil {
			t.Fatal(err)
		}
	}
	w.set(t, "arg2", at)
	err = w.Run()
	var times []clock.Ticks
	for i := range w.CPUs() {
		times = append(times, w.CPU(i).Now())
	}
	return fmt.Sprint(err, times, len(w.events))
}

// TestTwoRunsAreTheSame compares all counters and events of two runs in which CPUs fight for lines.
func TestTwoRunsAreTheSame(t *testing.T) {
	var runs [2]*many
	for i := range runs {
		runs[i] = newMany(t, 8, "boot_plain", "count_plain")
		runs[i].set(t, "arg2", 300)
		runs[i].run(t)
	}
	for i := range 8 {
		if *runs[0].CPU(i).Counters() != *runs[1].CPU(i).Counters() {
			t.Errorf("cpu %d: the counters of two runs differ", i)
		}
	}
	if !slices.Equal(runs[0].events, runs[1].events) {
		t.Error("the events of two runs differ")
	}
}

func TestInterruptToNobody(t *testing.T) {
	w := newMany(t, 4, "boot_send", "ready")
	w.set(t, "arg2", 0x840) // logical, and nobody has a logical destination
	err := w.Run()
	if err == nil || !strings.Contains(err.Error(), "cpu 0 sent a fixed interrupt with vector 64 to destination 1, which none of 4 CPUs has") {
		t.Error(err)
	}
}

// TestNMI sends two at once to a CPU with interrupts disabled: the second waits for the iret of the first.
func TestNMI(t *testing.T) {
	w := newMany(t, 2, "boot_nmis", "deaf")
	w.run(t)
	if !slices.Equal(w.reports, []uint64{1}) {
		t.Errorf("handlers were %d deep, want 1", w.reports)
	}
	if n := w.CPU(1).Counters().Exceptions[2]; n != 2 {
		t.Errorf("%d NMIs delivered, want 2", n)
	}
	if got := w.kind("nmi"); len(got) != 2 || got[0].CPU != 1 {
		t.Errorf("noted %+v", got)
	}
}

// TestNativeCallMoves lets the guest function of a native call return on another CPU.
func TestNativeCallMoves(t *testing.T) {
	w := newMany(t, 2, "boot_away", "take_over")
	w.run(t)
	if !slices.Equal(w.reports, []uint64{7701}) || !slices.Equal(w.from, []int{1}) {
		t.Errorf("reported %d on cpus %d, want 77, from cpu 0 to cpu 1, on cpu 1", w.reports, w.from)
	}
}

// TestBall measures a handshake through memory: it must take the time of its parts, an upgrade by the
// sender and a transfer to the receiver each way, not that of turns between CPUs, which the shortest of
// turns shows. Machine descriptions split the published latency of a message into these two.
func TestBall(t *testing.T) {
	var each [2]float64
	for i := range each {
		w := newMany(t, 2, "boot_ball", "catch_ball")
		w.set(t, "arg2", 1000)
		if i == 1 {
			w.lookahead = 1
		}
		w.run(t)
		if !slices.Equal(w.reports, []uint64{1000}) {
			t.Fatalf("reported %d", w.reports)
		}
		each[i] = float64(w.CPU(0).Now().Cycles()) / 1000
	}
	t.Logf("a throw and its return take %.1f cycles, %.1f when CPUs switch at every turn", each[0], each[1])
	if each[0] > 1.01*each[1] || each[0] < 0.99*each[1] {
		t.Errorf("a throw and its return take %.1f cycles, %.1f when CPUs switch at every turn", each[0], each[1])
	}
	lines := float64((2*manyTransfer + 2*manyUpgrade).Cycles())
	if each[0] < lines || each[0] > 1.1*lines {
		t.Errorf("a throw and its return take %.1f cycles, two upgrades and two transfers take %.0f", each[0], lines)
	}
}

func TestReportsOfSleepAndBudget(t *testing.T) {
	for _, x := range []struct {
		main, other string
		want        []string
	}{
		{"boot_sleep", "ready", []string{
			"all CPUs sleep and nothing will ever wake one",
			"cpu 0: halted, pc 0xffffffff80", "cpus 1-3: halted, pc 0xffffffff80", "<ready+", "who waits for whom",
		}},
		{"boot_nogate", "busy", []string{
			"cpu 1: triple fault", "1 interrupts were handled by nothing, the last was interrupt 85",
		}},
		{"boot_ball", "busy", []string{
			"budget of 20000000 cycles", "cpu 0: runs, pc ", "<boot_ball+", "<busy+", "who waits for whom",
		}},
	} {
		w := newMany(t, 4, x.main, x.other)
		w.Explain = func() string { return "who waits for whom" }
		err := w.Run()
		for _, want := range x.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want one with %q", x.main, err, want)
			}
		}
	}
}

func TestNumberOfCPUs(t *testing.T) {
	for _, n := range []int{-1, 257, 1000} {
		_, err := New(Config{CPUs: n, RAM: 32 << 20})
		if err == nil || !strings.Contains(err.Error(), "1 to 256 are modelled") {
			t.Errorf("%d CPUs: %v", n, err)
		}
	}
}

// inTurn is a policy that gives every CPU the same number of instructions.
type inTurn struct {
	steps int
	last  int
	turns []string
}

func (p *inTurn) Next(m *Machine, runnable []int) (cpu, steps int) {
	i := slices.IndexFunc(runnable, func(c int) bool { return c > p.last })
	if i < 0 {
		i = 0
	}
	p.last = runnable[i]
	if len(p.turns) < 5000 {
		p.turns = append(p.turns, fmt.Sprint(p.last, m.Now()))
	}
	return p.last, p.steps
}

func TestPolicy(t *testing.T) {
	for _, steps := range []int{1, 7, 100} {
		var logs [2][]string
		for i := range logs {
			p := &inTurn{steps: steps}
			w := newMany(t, 3, "boot_plain", "count_plain", func(c *Config) { c.Policy = p })
			w.set(t, "arg2", 500)
			w.run(t)
			if !slices.Equal(w.reports, []uint64{1500}) {
				t.Errorf("%d steps: increments without a lock, one instruction each, gave %d", steps, w.reports)
			}
			logs[i] = p.turns
		}
		if !slices.Equal(logs[0], logs[1]) {
			t.Errorf("%d steps: two runs differ", steps)
		}
	}
}

// badPolicy chooses what cannot be chosen.
type badPolicy struct{ cpu, steps int }

func (p badPolicy) Next(*Machine, []int) (cpu, steps int) { return p.cpu, p.steps }

func TestPolicyIsChecked(t *testing.T) {
	for _, p := range []badPolicy{{1, 1}, {-1, 1}, {9, 1}, {0, 0}, {0, -5}} {
		w := newMany(t, 2, "boot_count", "ready", func(c *Config) { c.Policy = p })
		if err := w.Run(); err == nil || !strings.Contains(err.Error(), "the policy chose") {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

// TestStepsTimesAsRun holds the time that a thousand rounds of a loop take when they are executed in
// pieces against that of one run, observed or not.
func TestStepsTimesAsRun(t *testing.T) {
	for _, model := range []string{cpus.Throughput, cpus.Window} {
		want := timeOfRounds(t, model, 0, false)
		for _, steps := range []int{0, 1, 2, 3, 5, 11, 1000} {
			for _, observed := range []bool{false, true} {
				if now := timeOfRounds(t, model, steps, observed); now != want {
					t.Errorf("%s: %d ticks in steps of %d, observed %v, %d in one run", model, now, steps, observed, want)
				}
			}
		}
	}
}

// timeOfRounds is the time of a thousand rounds of the counting loop of one CPU.
func timeOfRounds(t *testing.T, model string, steps int, observed bool) clock.Ticks {
	t.Helper()
	var at [2]clock.Ticks
	for i := range at {
		w := newMany(t, 1, "boot_plain", "ready", func(c *Config) {
			c.CPU.Model = model
			if steps != 0 {
				c.Policy = &inTurn{steps: steps}
			}
		})
		w.set(t, "arg2", uint64(1000*(i+1)))
		if observed {
			w.CPU(0).Observe(nothing{})
		}
		w.run(t)
		at[i] = w.CPU(0).Now()
	}
	return at[1] - at[0]
}

type nothing struct{}

func (nothing) Step(*cpus.Step) {}
