package sim

import (
	"errors"
	"fmt"
	"strings"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/mmu"
)

// Config says what to build a machine from.
type Config struct {
	ISA     *cpus.ISA
	CPU     cpus.Config // must have passed Check
	CPUs    int         // zero means one
	RAM     int         // bytes; zero means DefaultRAM
	Image   *Image
	TimerHz int64       // what the timers of the interrupt controllers count; zero means core cycles
	Budget  clock.Ticks // simulated time after which a run fails; zero means DefaultBudget
}

// Defaults of Config.
const (
	DefaultRAM    = 64 << 20
	DefaultBudget = 4_000_000_000 * clock.PerCycle
)

// Machine is a board with its CPUs, memory, clock and loaded image.
type Machine struct {
	cfg     Config
	mem     *mmu.Memory
	cpus    []cpus.CPU
	apics   []*LAPIC
	image   *Image
	events  Queue
	natives map[uint64]boundNative
	bound   map[string]Native
	pending map[uint64]*Call // suspended calls by the stack pointer they wait at
	heap    heap
	percpu  []uint64
	region  Region
	done    bool
	err     error
	asleep  []clock.Ticks // when a CPU was last found halted with an interrupt pending
	console strings.Builder
}

// New builds a machine, loads the image and builds its page tables. Natives are bound afterwards, by
// Bind, and the machine started by Run.
func New(cfg Config) (*Machine, error) {
	cfg.CPUs = max(cfg.CPUs, 1)
	if cfg.RAM == 0 {
		cfg.RAM = DefaultRAM
	}
	if cfg.Budget == 0 {
		cfg.Budget = DefaultBudget
	}
	if cfg.TimerHz <= 0 {
		cfg.TimerHz = cfg.CPU.Hz
	}
	if cfg.CPUs > MaxCPUs {
		return nil, fmt.Errorf("%d CPUs: 1 to %d are modelled", cfg.CPUs, MaxCPUs)
	}
	if cfg.RAM < 16<<20 || cfg.RAM > 4<<30 {
		return nil, fmt.Errorf("%d bytes of memory: 16 MiB to 4 GiB are modelled", cfg.RAM)
	}
	if err := cfg.Image.Match(cfg.ISA.Machine, cfg.ISA.Bits, cfg.ISA.Order); err != nil {
		return nil, err
	}
	if errs := cfg.CPU.Check(cfg.ISA); len(errs) > 0 {
		return nil, fmt.Errorf("machine %s: %w", cfg.CPU.Name, errors.Join(errs...))
	}
	m := &Machine{
		cfg: cfg, mem: mmu.NewMemory(cfg.RAM), image: cfg.Image,
		bound: map[string]Native{}, pending: map[uint64]*Call{},
	}
	if err := m.load(); err != nil {
		return nil, fmt.Errorf("image %s: %w", cfg.Image.Name, err)
	}
	m.bindMachine()
	return m, nil
}

// MaxCPUs is the number of CPUs that one machine can have.
const MaxCPUs = 256

// Image returns the loaded guest image.
func (m *Machine) Image() *Image { return m.image }

// ISA returns the instruction set of the CPUs.
func (m *Machine) ISA() *cpus.ISA { return m.cfg.ISA }

// CPUs returns the number of CPUs.
func (m *Machine) CPUs() int { return len(m.cpus) }

// CPU returns one of them, for counters, observers and registers.
func (m *Machine) CPU(i int) cpus.CPU { return m.cpus[i] }

// Console returns what the guest has printed.
func (m *Machine) Console() string { return m.console.String() }

// Now returns the time of the CPU that is furthest behind.
func (m *Machine) Now() clock.Ticks { return m.cpus[m.behind()].Now() }

// At makes f happen at time t, between two instructions of every CPU.
func (m *Machine) At(t clock.Ticks, f func()) { m.events.Push(t, f) }

// Stop ends the run; err may be nil.
func (m *Machine) Stop(err error) {
	if !m.done {
		m.done, m.err = true, err
	}
}

// quantum bounds how far one CPU may run ahead of the others.
const quantum = 2000 * clock.PerCycle

// Run starts the CPUs at the image's entry and runs until sim_main returns, something fails, or the
// budget is used up.
func (m *Machine) Run() error {
	if err := m.checkNatives(); err != nil {
		return err
	}
	defer m.release()
	for !m.done {
		i := m.behind()
		c := m.cpus[i]
		if c.Now() >= m.cfg.Budget {
			return m.overBudget(i)
		}
		m.handle(i, c.Run(m.horizon(i)))
		m.dueEvents()
	}
	return m.err
}

// behind is the CPU that is furthest behind, ties by number.
func (m *Machine) behind() int {
	best := 0
	for i, c := range m.cpus {
		if c.Now() < m.cpus[best].Now() {
			best = i
		}
	}
	return best
}

// horizon is how far CPU i may run before the machine must look at something else.
func (m *Machine) horizon(i int) clock.Ticks {
	limit := m.cfg.Budget
	if t, ok := m.events.Next(); ok {
		limit = min(limit, max(t, m.cpus[i].Now()+1))
	}
	if len(m.cpus) > 1 {
		limit = min(limit, m.cpus[i].Now()+quantum)
	}
	return limit
}

// dueEvents runs the events that every CPU has reached.
func (m *Machine) dueEvents() {
	for !m.done {
		t, ok := m.events.Next()
		if !ok || t > m.Now() {
			return
		}
		if _, f, ok := m.events.Pop(); ok {
			f()
		}
	}
}

// handle does what a CPU stopped for.
func (m *Machine) handle(i int, e cpus.Exit) {
	switch e.Reason {
	case cpus.Native:
		m.native(i)
	case cpus.Halted:
		m.idle(i)
	case cpus.Shutdown:
		m.Stop(fmt.Errorf("cpu %d: %s; %s", i, e.Detail, m.where(i)))
	}
}

// idle lets a halted CPU sleep until the next event, without executing.
func (m *Machine) idle(i int) {
	c := m.cpus[i]
	if _, ok := m.apics[i].Pending(); ok {
		if before := c.Now(); m.asleep[i] == before {
			m.Stop(fmt.Errorf("cpu %d halted with interrupts disabled; %s", i, m.where(i)))
		} else {
			m.asleep[i] = before
		}
		c.Interrupt()
		return
	}
	t, ok := m.events.Next()
	if !ok {
		m.Stop(fmt.Errorf("cpu %d sleeps and nothing will ever wake it; %s", i, m.where(i)))
		return
	}
	if t > c.Now() {
		c.Advance(t - c.Now())
	}
}

func (m *Machine) overBudget(i int) error {
	return fmt.Errorf("cpu %d: the budget of %d cycles is used up, the guest may loop for ever; %s (raise budget if it needs more)",
		i, m.cfg.Budget.Cycles(), m.where(i))
}

// where says what a CPU was executing, for error messages.
func (m *Machine) where(i int) string {
	c := m.cpus[i]
	s := fmt.Sprintf("pc %s", m.describe(c.PC()))
	if n := c.Counters().Unmodelled; n > 0 {
		s += fmt.Sprintf("; %d instructions were not modelled, the last %s", n, c.Counters().LastUnknown)
	}
	return s
}

// describe names a guest address by symbol, offset and source line.
func (m *Machine) describe(pc uint64) string {
	s := fmt.Sprintf("%#x", pc)
	if sym, off, ok := m.image.At(pc); ok {
		s += fmt.Sprintf(" <%s+%#x>", sym.Name, off)
	}
	if file, line, ok := m.image.Line(pc); ok {
		s += fmt.Sprintf(" %s:%d", file, line)
	}
	return s
}

// Region is the region of interest: the counters of the CPUs at its begin and end.
type Region struct {
	Begin, End  []cpus.Counters
	Start, Stop clock.Ticks // on CPU 0
	Closed      bool
}

// Region returns the last region of interest.
func (m *Machine) Region() Region { return m.region }

// roi opens or closes the region of interest.
func (m *Machine) roi(c *Call) uint64 {
	now := make([]cpus.Counters, len(m.cpus))
	for i, p := range m.cpus {
		now[i] = *p.Counters()
	}
	if c.Arg(0) != 0 {
		m.region = Region{Begin: now, Start: m.cpus[0].Now()}
		return 0
	}
	m.region.End, m.region.Stop, m.region.Closed = now, m.cpus[0].Now(), true
	return 0
}

// apicConfig connects the local APIC of CPU i.
func (m *Machine) apicConfig(i int) LAPICConfig {
	return LAPICConfig{
		ID:       uint8(i),
		BusCycle: max(clock.Ticks(m.cfg.CPU.Hz)*clock.PerCycle/clock.Ticks(m.cfg.TimerHz), 1),
		Now:      func() clock.Ticks { return m.cpus[i].Now() },
		Queue:    &m.events,
		Raise:    func() { m.cpus[i].Interrupt() },
		Send: func(ipi IPI) {
			for j, a := range m.apics {
				if a.Selects(ipi) && j != i {
					a.Accept(ipi)
				}
			}
		},
	}
}
