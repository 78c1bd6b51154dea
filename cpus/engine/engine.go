package engine

import (
	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/host"
	"kprobesim/mmu"
)

// Engine executes the instructions of one CPU. C is the CPU of an instruction set, which embeds the
// engine, and P the operands of its decoded instructions.
type Engine[C, P any] struct {
	self  *C           `state:"-"`
	block *Block[C, P] `state:"-"` // the running block, or the last one
	// until ends the present Run. It is a field because the host's code would load a parameter again after
	// every instruction.
	until clock.Ticks `state:"-"`
	gen   uint64      // generation of the present translations; links of others are void
	Core
	isa            ISA[C, P] `state:"-"`
	store[C, P]    `state:"-"`
	resume         resumePoint[C, P]
	hostCode[C, P] `state:"-"`

	stepped  bool               // the last observed instruction completed
	joined   bool               `state:"-"` // the present one is timed with the next
	observed clock.Ticks        // end of the last observed instruction
	observer cpus.Observer      `state:"-"`
	blocks   cpus.BlockObserver `state:"-"` // the observer, if it may be told of whole blocks
	spans    [][2]uint64        `state:"-"` // what is observed, and
	all      bool               `state:"-"` // everything else too
	left     int                `state:"-"` // instructions of the block that was ended last, up to the one that ended it
	broken   bool               `state:"-"` // the observer wants Steps to return
	within   bool               // Run has returned in the middle of a block, whose rest comes before anything is looked at
}

// ISA answers an engine for the instruction set, away from the path of an instruction.
type ISA[C, P any] interface {
	Translator
	Decoder[C, P]
	Exceptions[P]
	Stepper
}

// Decoder finds and decodes code.
type Decoder[C, P any] interface {
	// CodeAddress translates an address for execution. It returns false with the exception pending when
	// that is refused.
	CodeAddress(va uint64) (pa uint64, ok bool)
	// Translate gives the physical address of a virtual one without timing or side effects.
	Translate(va uint64) (pa uint64, ok bool)
	// NoCode makes the exception pending of a fetch from an address that no RAM answers.
	NoCode()
	// Whole reports whether the bytes at the end of a page hold a whole instruction.
	Whole(code []byte) bool
	// Decode decodes one instruction. What has no meaning becomes an instruction that raises an exception.
	Decode(code []byte, pc uint64) (Insn[C, P], Op)
}

// Exceptions delivers what interrupts the flow of instructions.
type Exceptions[P any] interface {
	// Poll takes an interrupt when there is one that the CPU accepts. It clears the pending checks that
	// it has made.
	Poll()
	// Faulted is told of the instruction behind which an exception is pending, and reports whether the
	// instruction is to be undone: the exception points at it and it takes no time.
	Faulted(in *P) (undo bool)
	// Deliver enters the handler of the pending exception.
	Deliver()
}

// Stepper takes part when Core.Single is not zero, or an instruction is watched.
type Stepper interface {
	// BeginStep comes before an instruction. It returns false when an exception was delivered instead.
	BeginStep() bool
	// EndStep comes behind it, and delivers the traps that follow an instruction that has completed. It
	// reports whether the next one is to be looked for anew.
	EndStep(completed bool) (leave bool)
	// EndsRun reports that the next instruction must not follow another one in a run.
	EndsRun() bool
	// Masked reports that interrupts which can be disabled are.
	Masked() bool
}

// Spec is how an instruction set is timed, beside what the machine description says.
type Spec struct {
	ISA      *cpus.ISA
	MaxInsn  int     // bytes in the longest instruction
	Align    uint8   // logarithm of the bytes that its address is a multiple of
	InOrder  []uint8 // classes that neither model lets overlap
	Stack    uint8   // number of the stack pointer
	Sink     uint8   // number of a register that nothing waits for, which stands for an absent result
	Flags    uint64  // registers that hold flags, a bit for each number
	AddrMask uint64
	Pages    mmu.PageSizes // logarithms of page sizes
	// Swapped says that the most significant byte of an operand comes first, which is a matter of the host's time.
	Swapped bool
}

// Setup prepares an engine for the CPU that embeds it. The configuration must have passed Check. first is
// the engine of the first CPU of the same machine, with which it shares decoded code; nil for the first.
func (e *Engine[C, P]) Setup(n int, self *C, isa ISA[C, P], s Spec, cfg *cpus.Config, bus cpus.Bus, first *Engine[C, P]) {
	e.self, e.isa = self, isa
	e.emitter, _ = isa.(Emitter[C, P])
	c := &e.Core
	c.Num, c.Bus, c.Memory, c.translator = n, bus, bus.Memory, isa
	c.ram, c.codeMap = bus.Memory.Raw(), bus.Memory.CodeMap()
	c.clearMicro()
	c.AddrMask = s.AddrMask
	c.ITLB, c.DTLB = mmu.NewTLB(cfg.ITLB, s.Pages), mmu.NewTLB(cfg.DTLB, s.Pages)
	c.backTLBs(cfg, s.Pages)
	c.stack, c.sink, c.flags = s.Stack, s.Sink, s.Flags
	c.initTiming(s.ISA, cfg, s.InOrder)
	c.predictor.init(cfg.Predictor, s.Align)
	if bus.Predictor != 0 {
		c.recall(bus.Predictor.Sequence(n))
	}
	c.dataPath.init(cfg, bus.Memory)
	c.swapped = s.Swapped
	all := 1
	if bus.Directory != nil {
		all = bus.Directory.CPUs()
	}
	c.memo.init(all)
	e.hot = host.Code.Blocks
	c.invalidateNode()
	c.idx = between
	dir := bus.Directory
	if dir == nil && cfg.L1I.Incoherent {
		dir = mmu.NewDirectory(1) // it knows which lines are written
	}
	c.attach(dir)
	e.store.init(bus, s.MaxInsn)
	e.block = new(Block[C, P])
	c.cur = &e.block.timed
	switch {
	case first != nil:
		e.versions = first.versions
	case bus.Directory != nil:
		e.versions = newVersions[C, P](bus.Memory, s.MaxInsn)
		e.versions.inherit(bus.Decoded)
	}
	if cfg.L1I.Incoherent {
		var share *Core
		if first != nil {
			share = &first.Core
		}
		c.setupStale(share, cfg.L1D.WriteThrough, e.dropLine)
	}
	bus.Memory.OnCodeStore(e.dropCode)
	e.ForgetTranslations()
}

// Observe implements cpus.Probe.
func (e *Engine[C, P]) Observe(o cpus.Observer) { e.ObserveCode(o, nil, true) }

// Break implements cpus.Probe.
func (e *Engine[C, P]) Break() { e.broken = true }

// ObserveCode implements cpus.Probe. Blocks know whether they lie in a span, so all are decoded anew.
func (e *Engine[C, P]) ObserveCode(o cpus.Observer, spans [][2]uint64, all bool) {
	if _, blocks := o.(cpus.BlockObserver); len(spans) > 0 || e.spans != nil || blocks {
		e.forgetCode()
	}
	e.observer, e.spans, e.all, e.blocks = o, spans, all, nil
	if all {
		e.blocks, _ = o.(cpus.BlockObserver)
	}
	e.step = cpus.Step{CPU: e.Num}
	e.observed = e.retire
}
