package distro

import (
	"debug/elf"
	"errors"
	"fmt"

	"kprobesim/cpus"
	"kprobesim/cpus/arm"
	"kprobesim/cpus/x86"
	kernel "kprobesim/image/linux"
	"kprobesim/internal/clock"
	"kprobesim/sim"
)

// Config says what to boot on what.
type Config struct {
	Kernel  *kernel.Kernel
	CPU     cpus.Config
	Board   sim.Board
	CPUs    int                            // zero means one; more need a board that is Firmware
	RAM     int                            // bytes; zero means DefaultRAM
	Command string                         // the kernel's command line
	Tree    []byte                         // the board's device tree, flattened, for a kernel of ARM
	Initrd  []byte                         // a cpio archive, packed or not; nil for none
	Budget  clock.Ticks                    // simulated time after which a run fails; zero means DefaultBudget of simulated seconds
	TimerHz int64                          // what the timers of the APICs count, in Hz; zero as in sim.Config
	Print   func(m *sim.Machine, s string) // is given the console as it comes; may be nil
	Halt    func() error                   // as in sim.Config
	Zeroed  func(size int) []byte          // as in sim.Config
	Attach  func(*sim.Machine) func(error) // as in sim.Config
	From    []byte                         // what Snapshot returned of a machine that goes on here; nil to boot
	// Kept keeps boots, so that Recall finds them; nil keeps none.
	Kept kernel.Keeper
	// Untimed runs without the cost model: every instruction takes a cycle, and caches and predictors stay as they are.
	// A machine that goes on from a snapshot of such a run may have the model again.
	Untimed bool
	// Persistent is so much memory more, in bytes, which the map of memory of a PC calls persistent. A kernel's driver makes a
	// disk of it (PersistentAt).
	Persistent int
}

// Defaults of Config.
const (
	DefaultRAM    = 512 << 20
	DefaultBudget = 20
)

// mostRAM leaves the addresses of devices free: on a PC they are below 4 GiB.
const mostRAM = 3 << 30

// Firmware is a board whose firmware tells a kernel of several CPUs by what it leaves in memory.
type Firmware interface {
	Firmware(cfg *cpus.Config, n int) ([]sim.Chunk, error)
}

// New makes a machine whose CPU stands at the kernel's entry. It fails for a kernel without an entry that is
// modelled, and for one that does not fit into memory with what it needs.
func New(c Config) (*sim.Machine, error) {
	if c.RAM == 0 {
		c.RAM = DefaultRAM
	}
	if c.Budget == 0 {
		c.Budget = clock.FromCycles(DefaultBudget * c.CPU.Hz)
	}
	if c.ram() > mostRAM {
		return nil, fmt.Errorf("%d bytes of memory: at most 3 GiB are modelled beside a PC's devices", c.ram())
	}
	if c.Persistent > 0 {
		if err := Disks(c.Kernel); err != nil {
			return nil, err
		}
	}
	bare, err := c.load()
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w", c.Kernel.Image.Name, err)
	}
	bare.Empty = c.From != nil
	return sim.New(sim.Config{
		ISA: ISA(c.Kernel), CPU: c.CPU, Board: c.Board, CPUs: c.CPUs, RAM: int(c.ram()), Image: c.Kernel.Image, Budget: c.Budget,
		TimerHz: c.TimerHz, Bare: bare, Print: c.Print, Halt: c.Halt, Zeroed: c.Zeroed, Attach: c.Attach,
	})
}

// Disks reports an error for a kernel that makes no disk of persistent memory.
func Disks(k *kernel.Kernel) error {
	if k.Image.Machine == elf.EM_ARM {
		return errors.New("a disk is memory that the map of a PC calls persistent, and a kernel of ARM gets no such map: put the files into the root")
	}
	return nil
}

// section divides the addresses at which persistent memory begins and ends: a kernel describes it in such pieces.
const section = 2 << 20

// PersistentAt is the physical address of persistent memory.
func (c *Config) PersistentAt() uint64 { return (uint64(c.RAM) + section - 1) &^ (section - 1) }

// ram is how much memory there is, with what is persistent.
func (c *Config) ram() int64 {
	if c.Persistent == 0 {
		return int64(c.RAM)
	}
	return int64(c.PersistentAt()) + (int64(c.Persistent)+section-1)&^(section-1)
}

// ISA is the instruction set of a kernel.
func ISA(k *kernel.Kernel) *cpus.ISA {
	switch {
	case k.Image.Machine == elf.EM_ARM:
		return arm.ISA()
	case k.Image.Bits == 32:
		return x86.ISA32()
	}
	return x86.ISA64()
}

// Disassemble prints the instruction of a kernel at the start of code, which stands at addr.
func Disassemble(k *kernel.Kernel, code []byte, addr uint64) string {
	text, _ := Instruction(k, code, addr)
	return text
}

// Instruction is Disassemble, with the length of the instruction in bytes: at least 1.
func Instruction(k *kernel.Kernel, code []byte, addr uint64) (text string, n int) {
	return ISA(k).Disasm(code, addr, k.Image.SymbolOff)
}

// Begins reports an error where no instruction starts so many bytes behind the start of code: a kernel would put a probe there
// all the same, and what runs there would be another instruction.
func Begins(k *kernel.Kernel, code []byte, offset uint64) error {
	for at := uint64(0); at < offset; {
		if at >= uint64(len(code)) {
			return errors.New("no instructions there")
		}
		_, n := Instruction(k, code[at:], at)
		if at+uint64(n) > offset {
			return fmt.Errorf("no instruction that starts at +%#x, but at +%#x and +%#x", offset, at, at+uint64(n))
		}
		at += uint64(n)
	}
	return nil
}

// load lays the memory out and chooses the entry.
func (c *Config) load() (*sim.Bare, error) {
	im := c.Kernel.Image
	if im.Machine == elf.EM_ARM {
		return c.loadARM()
	}
	end := uint64(0)
	for _, s := range im.Segments {
		end = max(end, s.PA+s.MemSize)
		if s.PA < highStart && s.MemSize > 0 {
			return nil, fmt.Errorf("has a segment at physical %#x, where the loader's data are", s.PA)
		}
	}
	ram := uint64(c.RAM)
	at := (min(ram, limit(header(c.Kernel), fieldInitrdMax, defaultInitrdMax)+1) - uint64(len(c.Initrd))) &^ 0xfff
	if uint64(len(c.Initrd)) > ram || at < end || at > ram {
		return nil, fmt.Errorf("%d MiB of memory are too few for it and an initial file system of %d bytes: give the machine more",
			ram>>20, len(c.Initrd))
	}
	if len(c.Initrd) == 0 {
		at = 0
	}
	p, err := c.params(at)
	if err != nil {
		return nil, err
	}
	b := &sim.Bare{SP: stackTop, Chunks: []sim.Chunk{
		{PA: paramsAt, Data: p}, {PA: commandAt, Data: append([]byte(c.Command), 0)}, {PA: at, Data: c.Initrd},
	}}
	if err := c.firmware(b); err != nil {
		return nil, err
	}
	return b, c.enter(b)
}

// firmware adds what tells the kernel of several CPUs, which begin in real mode.
func (c *Config) firmware(b *sim.Bare) error {
	b.Others = x86.RealMode
	if c.CPUs < 2 {
		return nil
	}
	f, ok := c.Board.(Firmware)
	if !ok {
		return fmt.Errorf("%d CPUs: the board has no firmware that would tell a kernel of them", c.CPUs)
	}
	chunks, err := f.Firmware(&c.CPU, c.CPUs)
	b.Chunks = append(b.Chunks, chunks...)
	return err
}

// header is the boot parameters with nothing but the kernel's header.
func header(k *kernel.Kernel) []byte {
	p := make([]byte, paramsSize)
	copy(p[fieldHeader:fieldE820], k.Header)
	return p
}

// enter says how the kernel is entered. The 64-bit entry of a bzImage is that of its loader; the ELF file in
// it is entered at its own, to which the loader jumps with the same registers.
func (c *Config) enter(b *sim.Bare) error {
	im := c.Kernel.Image
	if !covers(c.Kernel, im.Entry) {
		return errors.New("its entry is in none of its segments: copy it again")
	}
	if im.Bits == 64 {
		b.Tables = tablesAt
		b.PC, b.Args = im.Entry, []uint64{0, paramsAt}
		return nil
	}
	b.Root, b.PC = x86.Unpaged, trampolineAt
	b.Chunks = append(b.Chunks, sim.Chunk{PA: trampolineAt, Data: trampoline(im.Entry)})
	return nil
}

// covers reports whether a physical address lies in the kernel. The segment of code that runs once is not marked as executable in 7.2.
func covers(k *kernel.Kernel, pa uint64) bool {
	for _, s := range k.Image.Segments {
		if pa-s.PA < s.MemSize {
			return true
		}
	}
	return false
}
