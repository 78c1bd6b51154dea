package sim

import (
	"errors"
	"fmt"
	"strings"

	"kprobesim/cpus"
	"kprobesim/image"
	"kprobesim/internal/clock"
	"kprobesim/mmu"
)

// Config says what to build a machine from.
type Config struct {
	ISA     *cpus.ISA
	CPU     cpus.Config // must have passed Check
	Board   Board
	CPUs    int // zero means one
	RAM     int // bytes; zero means DefaultRAM
	Image   *image.Image
	TimerHz int64       // what the timers count; zero means core cycles, or what the ISA says of the timer that it has
	Budget  clock.Ticks // simulated time after which a run fails; zero means DefaultBudget
	Policy  Policy      // which CPU runs next; nil means the one that is furthest behind in time
	Buffers *Buffers    // of stores, in a search; nil where all CPUs see each store at once
	Layout  Layout      // where things lie that no program says the place of
	Bare    *Bare       // nil: the image is a kernel of this program's
	// Print, when not nil, is given what the guest prints as it comes. It may end the run.
	Print func(m *Machine, s string)
	// Halt, when not nil, is asked between turns, some times in a second of the host. Its error ends the run. It decides
	// whether a run comes to its end, and nothing of one that does.
	Halt func() error
	// Attach, when not nil, is given the machine by Run, before the first instruction. What it returns is called when the
	// run has ended, with its error.
	Attach func(m *Machine) (end func(error))
	// Decoded, when not nil, has the code that machines before this one have decoded.
	Decoded *cpus.Decoded
	// Zeroed, when not nil, makes the RAM: so many bytes that are all zero. Nil takes them from the heap.
	Zeroed func(size int) []byte
}

// Defaults of Config.
const (
	DefaultRAM    = 64 << 20
	DefaultBudget = 4_000_000_000 * clock.PerCycle
)

// maxRAM bounds the RAM of a machine, in bytes: more than an int holds on some hosts.
const maxRAM int64 = 4 << 30

// MaxCPUs is the number of CPUs that one machine can have.
const MaxCPUs = 256

// Machine is a board with its CPUs, memory, clock and loaded image. It and its native calls run by
// turns, never at once. Several goroutines must not use it.
type Machine struct {
	// Explain, when not nil, adds to the report of a machine in which nothing happens any more what
	// only the kernel knows: who waits for what.
	Explain func() string

	cfg       Config
	mem       *mmu.Memory
	cpus      []cpus.CPU
	viewer    int // the CPU as which addresses are translated for Go
	goWatcher func(cpu int, va uint64, n int, write bool)
	directory *mmu.Directory // of the lines in their caches; nil for one CPU
	hardware  Hardware
	space     Space
	image     *image.Image
	events    Queue
	natives   map[uint64]boundNative
	bound     map[string]Native
	resting   []*coroutine     // without a call
	pending   map[uint64]*Call // suspended calls by the stack pointer they wait at, of all CPUs
	rested    map[uint64]*Call // calls that have yielded, in the same way
	calling   *Call            // whose native function runs; nil between two of them
	heap      heap
	percpu    []uint64
	bootStack uint64
	done      bool
	err       error
	ended     string // why, where the run ended without a failure
	console   strings.Builder
	// allocations counts the requests for guest memory.
	allocations int
	schedule
	buffers  []*mmu.StoreBuffer // by CPU; none without Config.Buffers
	shown    *mmu.StoreBuffer   // of the CPU whose stores stand in memory before all see them, or nil
	watchers []func(Event)
	keeper   Timekeeper              // the policy, if it is one
	marked   func(cpu int, n uint64) // nil for nobody
	sleeps   func(cpu int)           // the same
	called   func(cpu int)           // the same
	struck   func(cpu int)           // the same
}

// New builds a machine, loads the image and builds its page tables. Natives are bound afterwards, by
// Bind, and the machine started by Run. It fails for a configuration that contradicts itself or its board, and for
// an image that is not of the instruction set, does not fit into the RAM or lacks a section that kernels have.
func New(cfg Config) (*Machine, error) {
	if cfg.CPUs == 0 {
		cfg.CPUs = 1
	}
	if cfg.RAM == 0 {
		cfg.RAM = DefaultRAM
	}
	if cfg.Budget == 0 {
		cfg.Budget = DefaultBudget
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if err := cfg.setTimer(); err != nil {
		return nil, err
	}
	space, err := cfg.Board.Space(cfg.ISA)
	if err != nil {
		return nil, err
	}
	if space.CPUs > 0 && cfg.CPUs > space.CPUs {
		return nil, fmt.Errorf("%d CPUs of %s: their board has places for %d", cfg.CPUs, cfg.ISA.Name, space.CPUs)
	}
	m := &Machine{
		cfg: cfg, space: space, mem: cfg.memory(), image: cfg.Image.Fork(),
		bound: map[string]Native{}, pending: map[uint64]*Call{}, rested: map[uint64]*Call{},
	}
	m.keeper, _ = cfg.Policy.(Timekeeper)
	m.schedule.init(&cfg)
	if err := m.load(); err != nil {
		return nil, fmt.Errorf("image %s: %w", cfg.Image.Name, err)
	}
	m.bindMachine()
	return m, nil
}

// memory makes the RAM.
func (cfg *Config) memory() *mmu.Memory {
	if cfg.Zeroed == nil {
		return mmu.NewMemory(cfg.RAM)
	}
	return mmu.NewMemoryOf(cfg.Zeroed, cfg.RAM)
}

// check reports what no machine can be built from. Caches of several CPUs must agree on the size of
// a line, because the directory names lines by number.
func (cfg *Config) check() error {
	if cfg.CPUs < 1 || cfg.CPUs > MaxCPUs {
		return fmt.Errorf("%d CPUs: 1 to %d are modelled", cfg.CPUs, MaxCPUs)
	}
	if cfg.RAM < 16<<20 || int64(cfg.RAM) > maxRAM {
		return fmt.Errorf("%d bytes of memory: 16 MiB to 4 GiB are modelled", cfg.RAM)
	}
	if cfg.Board == nil {
		return errors.New("a machine needs a board: the hardware around its CPUs")
	}
	if err := cfg.Image.Match(cfg.ISA.Machine, cfg.ISA.Bits, cfg.ISA.Order); err != nil {
		return err
	}
	if errs := cfg.CPU.Check(cfg.ISA); len(errs) > 0 {
		return fmt.Errorf("machine %s: %w", cfg.CPU.Name, errors.Join(errs...))
	}
	if cfg.CPUs > 1 {
		if err := mmu.CheckLines(cfg.CPU.L1I, cfg.CPU.L1D, cfg.CPU.L2, cfg.CPU.L3); err != nil {
			return fmt.Errorf("machine %s: %w", cfg.CPU.Name, err)
		}
	}
	return nil
}

// setTimer completes what the timers count. A clock that the ISA fixes cannot be another one.
func (cfg *Config) setTimer() error {
	switch fixed := cfg.ISA.TimerHz; {
	case cfg.TimerHz > 0 && fixed > 0 && cfg.TimerHz != fixed:
		return fmt.Errorf("machine %s: its timer counts %d Hz, that of %s %d Hz: write the latter", cfg.CPU.Name, cfg.TimerHz,
			cfg.ISA.Name, fixed)
	case cfg.TimerHz > 0:
	case fixed > 0:
		cfg.TimerHz = fixed
	default:
		cfg.TimerHz = cfg.CPU.Hz / max(cfg.ISA.TimerCycles, 1)
	}
	return nil
}

// Image returns the loaded guest image, which the machine has for itself: modules add to it.
func (m *Machine) Image() *image.Image { return m.image }

// ISA returns the instruction set of the CPUs.
func (m *Machine) ISA() *cpus.ISA { return m.cfg.ISA }

// TimerHz returns what the timers count.
func (m *Machine) TimerHz() int64 { return m.cfg.TimerHz }

// CPUs returns the number of CPUs.
func (m *Machine) CPUs() int { return len(m.cpus) }

// CPU returns one of them, for counters, observers and registers.
func (m *Machine) CPU(i int) cpus.CPU { return m.cpus[i] }

// Console returns what the guest has printed.
func (m *Machine) Console() string { return m.console.String() }

// Allocations counts the requests for guest memory so far, also those that failed.
func (m *Machine) Allocations() int { return m.allocations }

// Held is the number of allocations that nobody has given back.
func (m *Machine) Held() int { return len(m.heap.used) }

// Ended is why the run ended without a failure, such as a reset; "" where nobody gave a reason.
func (m *Machine) Ended() string { return m.ended }

// Print adds to the console, for a kernel whose printing is in Go.
func (m *Machine) Print(s string) {
	m.console.WriteString(s)
	if m.cfg.Print != nil {
		m.cfg.Print(m, s)
	}
}

// End ends the run without an error, for a reason that Ended tells.
func (m *Machine) End(reason string) {
	if !m.done {
		m.ended = reason
	}
	m.Stop(nil)
}

// Resume lets a machine that End has ended run on, by another Run.
func (m *Machine) Resume() {
	if m.err == nil {
		m.done, m.ended = false, ""
	}
}

// At makes f happen at time t, between two instructions of every CPU.
func (m *Machine) At(t clock.Ticks, f func()) { m.events.Push(t, f) }

// Stop ends the run; err may be nil. The first reason stays, because what follows is often its
// consequence. The CPU that runs goes on to the end of its turn.
func (m *Machine) Stop(err error) {
	if !m.done {
		m.done, m.err = true, err
	}
}
