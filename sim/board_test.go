package sim

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
	"kprobesim/image"
	"kprobesim/image/imagetest"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

// The test board has nothing of a PC: the guest reads which interrupt came from a register of the
// controller, a register starts CPUs, and each CPU has its timer in itself and the board only wakes it.
const (
	start  = 0x80000000 // store: a CPU to start
	send   = 0x80000008 // store: a CPU to interrupt
	accept = 0x80000010 // load: the sender of the interrupt, which is then no longer pending
	stop   = 0x80000018 // store: a CPU to stop

	timerLine = 1
	sendTime  = 300 * clock.PerCycle
)

// testBoard is the description and the hardware of a machine at once.
type testBoard struct {
	b *Backplane
	boardState
}

type boardState struct {
	from        [2]int  // by CPU: who interrupts it, or -1
	timer, call EventID // the last that was planned of each
	of, by, to  int     // the timer's CPU, and the caller and the called one
}

func (t *testBoard) State() any { return &t.boardState }

func (t *testBoard) Restored() {
	t.b.Events().Bind(t.timer, t.rings)
	t.b.Events().Bind(t.call, t.arrives)
}

func (t *testBoard) rings() { t.b.Signal(t.of, timerLine) }

func (t *testBoard) arrives() {
	t.from[t.to] = t.by
	t.b.Interrupt(t.to)
}

func (t *testBoard) Space(*cpus.ISA) (Space, error) {
	return Space{Maps: []mmu.Mapping{{VA: imagetest.Base &^ 0xffffff}}, Heap: imagetest.Base &^ 0xffffff}, nil
}

func (t *testBoard) Build(b *Backplane) Hardware {
	t.b, t.from = b, [2]int{-1, -1}
	return t
}

func (t *testBoard) Device(i int) cpus.Device         { return testPort{t, i} }
func (t *testBoard) Interrupts(i int) cpus.Interrupts { return testPort{t, i} }
func (t *testBoard) Waiting(i int) string             { return fmt.Sprintf("a call of cpu %d", t.from[i]) }

// testPort is the side of the board towards one CPU.
type testPort struct {
	*testBoard
	i int
}

func (p testPort) Pending() bool       { return p.from[p.i] >= 0 }
func (p testPort) Acknowledge() uint32 { panic("the guest acknowledges") }

func (p testPort) Load(pa uint64, _ int) uint64 {
	v := p.from[p.i]
	if pa == accept {
		p.from[p.i] = -1
	}
	return uint64(v)
}

func (p testPort) Store(pa uint64, _ int, v uint64) {
	to := int(v)
	switch pa {
	case start:
		p.b.StartAt(to, imagetest.Base)
	case stop:
		p.b.Reset(to)
	case send:
		p.by, p.to = p.i, to
		p.call = p.b.Send(p.i, p.arrives)
	}
}

// SetTimer serves what puppets ask of their board beside loads and stores.
func (p testPort) SetTimer(t clock.Ticks) {
	p.of = p.i
	p.timer = p.b.Events().Push(t, p.rings)
}

// puppet is a CPU that the test moves: an instruction is a function, and takes a cycle.
type puppet struct {
	cpus.CPU // what no test needs is nil
	n        int
	bus      cpus.Bus
	ctr      cpus.Counters
	code     []func(*puppet) bool // false: not yet, the CPU halts
	broken   func() bool          // asked behind each instruction, or nil
	log      *[]string
	puppetState
}

type puppetState struct {
	now     clock.Ticks
	next    int
	lines   [2]int
	told    bool // to look for interrupts
	stopped bool // since it began
}

func (p *puppet) State() any { return &p.puppetState }
func (p *puppet) Restored()  {}

func (p *puppet) say(format string, args ...any) {
	*p.log = append(*p.log, fmt.Sprintf("%d: cpu %d %s", p.now.Cycles(), p.n, fmt.Sprintf(format, args...)))
}

func (p *puppet) Boot(_, _ uint64, args ...uint64) {
	p.next, p.stopped = 0, false
	p.say("begins as %s", strings.Trim(fmt.Sprint(args[:min(len(args), 1)]), "[]"))
}

func (p *puppet) Reset()                             { p.say("is reset"); p.stopped = true }
func (p *puppet) Signal(line int)                    { p.lines[line]++ }
func (p *puppet) Interrupt()                         { p.told = true }
func (p *puppet) Now() clock.Ticks                   { return p.now }
func (p *puppet) Advance(t clock.Ticks)              { p.now += t }
func (p *puppet) PC() uint64                         { return imagetest.Base }
func (p *puppet) Counters() *cpus.Counters           { return &p.ctr }
func (p *puppet) Translate(va uint64) (uint64, bool) { return va & 0xffffff, true }

func (p *puppet) Run(limit clock.Ticks) cpus.Exit {
	for p.now < limit {
		if p.next == len(p.code) || !p.code[p.next](p) {
			return cpus.Exit{Reason: cpus.Halted}
		}
		p.next++
		p.now += clock.PerCycle
		if p.broken != nil && p.broken() {
			return cpus.Exit{Reason: cpus.Broken}
		}
		if p.stopped {
			break
		}
	}
	return cpus.Exit{Reason: cpus.Limit}
}

// newPuppets makes a machine of puppets from the code of each, which log what happens to them.
func newPuppets(t *testing.T, log *[]string, code ...[]func(*puppet) bool) (*Machine, error) {
	t.Helper()
	return puppetsOf(t, nil, log, code...)
}

// puppetsOf makes one that is entered as a boot loader would, or as this program's kernels are.
func puppetsOf(t *testing.T, bare *Bare, log *[]string, code ...[]func(*puppet) bool) (*Machine, error) {
	t.Helper()
	e := imagetest.Kernel()
	for i, s := range []string{"__per_cpu_start", "__per_cpu_end", "__per_cpu_load", "boot_stack_top"} {
		e.Symbols = append(e.Symbols, imagetest.Symbol{Name: s, Addr: imagetest.Base + 0x300 + 0x10*uint64(i), Section: ".data"})
	}
	im, err := image.Load("puppets.elf", e.Build())
	require.NoError(t, err)
	isa := &cpus.ISA{
		Name: "puppet", Bits: 64, Machine: e.Machine, Order: binary.LittleEndian,
		Events: []string{cpus.EventIPI, cpus.EventTransfer, cpus.EventUpgrade},
		Ports:  []string{"alu", "load", "store", "branch"},
		Lines:  []string{"unused", timerLine: "timer"},
		Tables: func(*mmu.Memory, uint64, []mmu.Mapping) (uint64, error) { return 0, nil },
		New: func(n int, _ *cpus.Config, bus cpus.Bus) cpus.CPU {
			return &puppet{n: n, bus: bus, code: code[n], log: log}
		},
	}
	cfg := cpustest.Config(isa)
	cfg.Events[cpus.EventIPI] = sendTime
	m, err := New(Config{ISA: isa, Board: &testBoard{}, CPU: cfg, CPUs: len(code), Image: im, RAM: 16 << 20, Zeroed: cpustest.RAM(t), Bare: bare})
	if err == nil {
		m.Bind("sim_main", nothing)
		m.Bind("printk", nothing)
	}
	return m, err
}

// store makes an instruction that stores to the board.
func store(pa, v uint64) func(*puppet) bool {
	return func(p *puppet) bool { p.bus.Device.Store(pa, 8, v); return true }
}

// setTimer makes one that sets the CPU's timer.
func setTimer(cycles int64) func(*puppet) bool {
	return func(p *puppet) bool {
		p.bus.Device.(interface{ SetTimer(t clock.Ticks) }).SetTimer(p.now + clock.FromCycles(cycles))
		return true
	}
}

// await waits for the timer, take for an interrupt, whose sender it reads.
func await(p *puppet) bool {
	if p.lines[timerLine] == 0 {
		return false
	}
	p.lines[timerLine]--
	p.say("hears its timer")
	return true
}

func take(p *puppet) bool {
	if !p.told || !p.bus.Interrupts.Pending() {
		return false
	}
	p.say("is called by cpu %d", p.bus.Device.Load(accept, 8))
	return true
}

func deaf(*puppet) bool { return false }

// TestAnotherBoard runs two CPUs on a board that does nothing as a PC does it.
func TestAnotherBoard(t *testing.T) {
	var log []string
	m, err := newPuppets(t, &log,
		[]func(*puppet) bool{
			setTimer(1000), await, store(start, 1), store(start, 1), store(send, 1), take, store(stop, 1),
			store(start, 1), setTimer(500), await, store(stop, 1), store(send, 1),
		},
		[]func(*puppet) bool{take, setTimer(2000), store(send, 0)})
	require.NoError(t, err)
	err = m.Run()
	require.That(t, err != nil && strings.Contains(err.Error(), "cpu 0: halted") && strings.Contains(err.Error(), "cpu 1: not started"), "the end: %v", err)
	want := []string{
		"0: cpu 1 is reset", "0: cpu 0 begins as 0", "1000: cpu 0 hears its timer", "1001: cpu 1 begins as 1",
		"1303: cpu 1 is called by cpu 0", "1605: cpu 0 is called by cpu 1", "1606: cpu 1 is reset",
		"1607: cpu 1 begins as 1", "2108: cpu 0 hears its timer", "2109: cpu 1 is reset",
	}
	require.That(t, strings.Join(log, "\n") == strings.Join(want, "\n"), "log\n%s\nwant\n%s", strings.Join(log, "\n"), strings.Join(want, "\n"))
}

// TestHaltedWithTheLineUp holds what is reported when a CPU sleeps and does not take its interrupt.
func TestHaltedWithTheLineUp(t *testing.T) {
	var log []string
	alone, err := newPuppets(t, &log, []func(*puppet) bool{store(send, 0), deaf})
	require.NoError(t, err)
	require.Error(t, alone.Run(), "cpu 0 halted with interrupts disabled", "alone")
	both, err := newPuppets(t, &log, []func(*puppet) bool{store(send, 0), deaf}, nil)
	require.NoError(t, err)
	require.Error(t, both.Run(), "interrupts disabled and a call of cpu 0 pending", "one of two")
}

// TestPendingIsLookedForAgain has a CPU sleep that has overlooked its interrupt: it is told once more.
func TestPendingIsLookedForAgain(t *testing.T) {
	var log []string
	overlook := func(p *puppet) bool { p.told = false; return true }
	m := require.Must(newPuppets(t, &log, slices.Concat([]func(*puppet) bool{store(send, 0)}, slices.Repeat([]func(*puppet) bool{overlook}, 400), []func(*puppet) bool{take})))(t)
	require.Error(t, m.Run(), "sleeps and nothing", "the end")
	require.Equal(t, log[len(log)-1], "401: cpu 0 is called by cpu 0", "the last that happens")
}

// TestCutTurnsGoOn ends a run behind each of the instructions, and lets it go on: the same happens. A CPU that has stopped itself has
// no turn to go on with.
func TestCutTurnsGoOn(t *testing.T) {
	tell := func(p *puppet) bool { p.say("goes on"); return true }
	happens := func(at int) string {
		var log []string
		m := require.Must(newPuppets(t, &log,
			[]func(*puppet) bool{store(start, 1), tell, tell, tell, store(send, 1), tell, store(stop, 0), tell},
			[]func(*puppet) bool{tell, tell, take, tell, store(stop, 1), tell}))(t)
		for i := range 2 {
			m.CPU(i).(*puppet).broken = func() bool {
				at--
				if at == 0 {
					m.End("cut")
				}
				return at == 0
			}
		}
		for m.Resume(); m.Run() == nil; m.Resume() {
		}
		return strings.Join(log, "\n")
	}
	whole := happens(0)
	for at := 1; at <= 12; at++ {
		require.Equal(t, happens(at), whole, "cut behind instruction %d there happens", at)
	}
}

// TestBrokenTurnIsOver has a CPU break its turn behind the store that sets its timer to a time within it: the timer comes in time.
func TestBrokenTurnIsOver(t *testing.T) {
	var log []string
	looks := func(p *puppet) bool { p.say("has heard %d", p.lines[timerLine]); return true }
	m := require.Must(newPuppets(t, &log, []func(*puppet) bool{looks, setTimer(2), looks, looks, looks}))(t)
	m.CPU(0).(*puppet).broken = func() bool { return true }
	require.Error(t, m.Run(), "nothing will ever wake it", "the end")
	require.Equal(t, strings.Join(log[1:], ", "), "0: cpu 0 has heard 0, 2: cpu 0 has heard 0, 3: cpu 0 has heard 1, 4: cpu 0 has heard 1", "what happens")
}

// TestPerCPURange takes per-CPU data of up to a MiB, from its first byte on.
func TestPerCPURange(t *testing.T) {
	for size, want := range map[int64]bool{-1: false, 0: true, 1 << 20: true, 1<<20 + 1: false} {
		e := imagetest.Kernel()
		for name, at := range map[string]int64{"__per_cpu_start": 0, "__per_cpu_end": size, "__per_cpu_load": 0} {
			e.Symbols = append(e.Symbols, imagetest.Symbol{Name: name, Addr: imagetest.Base + uint64(at), Section: ".data"})
		}
		im := require.Must(image.Load("sized.elf", e.Build()))(t)
		at, err := (&Machine{image: im}).perCPU()
		require.That(t, at == 0 && (err == nil) == want, "%d bytes: %#x, %v", size, at, err)
	}
}

// TestPerCPUOfNobody gives addresses for the CPUs that there are.
func TestPerCPUOfNobody(t *testing.T) {
	im := require.Must(image.Load("kernel.elf", imagetest.Kernel().Build()))(t)
	m := &Machine{image: im, percpu: []uint64{0x100, 0x200}}
	for cpu, want := range []bool{0: true, 1: true, 2: false} {
		require.Equal(t, require.Err(m.PerCPU(cpu, "outer")) == nil, want, "an address for cpu %d", cpu)
	}
	require.Error(t, require.Err(m.PerCPU(-1, "outer")), "no per-CPU symbol", "an address for nobody")
}
