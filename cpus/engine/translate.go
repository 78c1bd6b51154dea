package engine

import (
	"unsafe"

	"kprobesim/internal/host"
	h "kprobesim/internal/hostcode"
)

// Blocks that are executed often are translated into host code, where the host allows it (package hostcode). The code
// does the frequent case of each instruction, and what the engine does beside it. All else is a side exit: the reference
// function of the instruction executes it, and the code is entered again behind it. So nothing but the speed depends on
// host code.
//
// There are two flavours. Untimed code looks up the micro-TLB and the map of decoded code. Timed code also looks up the
// first-level tags and the store queue, trains the branch predictor, and follows the memo where it has the block. The
// instruction set writes one translation for both: the engine decides behind Code what an access or a branch needs.

// Emitter is an instruction set that writes host code.
type Emitter[C, P any] interface {
	// Emit writes the code of instruction i of a block. It returns false for one that it leaves to the reference function.
	// Whatever it has written for that is dropped.
	Emit(g *Code, block []Insn[C, P], i int) bool
	// Pinned says which guest registers untimed code keeps in host registers. The code of instructions uses Main, Spare
	// and Other (package hostcode) beside them.
	Pinned() []Pin
	// Materialize computes what code has left to be computed, such as flags. It comes behind each side exit.
	Materialize()
}

// Pin says that a guest register, by its place in Core.R, is kept in a host register.
type Pin struct {
	Guest uint8
	Host  h.Reg
}

// Code writes the host code of one block at a time.
type Code struct {
	h.Asm
	c        *Core
	room     *h.Room
	timed    bool
	declined bool             // the present branch is left to its reference function
	pins     [Registers]h.Reg // NoReg for a register that stays in memory
	routines routines
	start    int // of the blocks' code in the room
	held     int // bytes of the room that the store has counted

	// The block that is written.
	number  uint64
	ops     []Op
	key     uint64
	stores  uint64
	end     uint64 // address behind it
	insn    int
	next    uint64 // address behind the present instruction
	out     *translation
	exits   []sideExit
	fetches []lineFetch
	entries []entryPoint
}

// entryPoint is where the code of an instruction begins.
type entryPoint struct {
	label h.Label
	begin int
	exits int  // of the code before it
	alone bool // it cannot be entered from the reference function of the instruction before
}

// translation is the host code of a block.
type translation struct {
	enter   uintptr   // from other blocks
	begin   uintptr   // behind the look at its lines
	entries []uintptr // of each instruction, or zero where code cannot be entered
	ways    [2]way    // to the block behind it, and to the target of its branch
}

// way leads from the code of one block to that of another one. It holds while the generation of the region of its
// target is the same.
type way struct {
	gen  uint64
	code uintptr
	pc   uint64
}

// hostCode is the engine's state for host code.
type hostCode[C, P any] struct {
	emitter    Emitter[C, P]
	code       *Code          // nil until the first block is translated, and where there is no host code
	translated []*Block[C, P] // by number
	hot        uint8          // executions of a block up to its translation
	refused    bool           // the host has no room for code
}

const (
	// fewCPUs bounds the CPUs of a machine whose timed blocks are translated. More of them take such short turns, and
	// have so much code together, that the host's caches gain nothing by it.
	fewCPUs = 2

	fewest    = 3   // instructions of a block for each one that has no code, at least
	untimedAt = 3   // executions of a block up to its translation without a cost model
	tried     = 255 // Block.warm of a block that was translated, or is not to be
)

// translates reports whether a block is to be executed by host code, and counts its executions up to the one at which
// it is translated.
func (e *Engine[C, P]) translates(b *Block[C, P]) bool {
	if b.warm == tried {
		return false
	}
	limit := e.hot
	if e.untimed.on {
		limit = min(limit, untimedAt)
	}
	if b.warm++; b.warm >= limit {
		b.warm = tried
		e.translate(b)
	}
	return b.code != nil
}

// translatable reports whether a block may have host code, as far as that is not a matter of single instructions. One of which each
// instruction is looked at does not come here (singly).
func (e *Engine[C, P]) translatable(b *Block[C, P]) bool {
	c := &e.Core
	if e.emitter == nil || e.refused || c.stale != nil || b.tail != nil {
		return false
	}
	if c.untimed.on {
		return true
	}
	return c.window && len(b.ops) <= insnBits && (c.dir == nil || c.dir.CPUs() <= fewCPUs)
}

// translate writes the host code of a block, if most of its instructions have some.
func (e *Engine[C, P]) translate(b *Block[C, P]) {
	if !e.translatable(b) || !e.openRoom() {
		return
	}
	g := e.code
	g.beginBlock(&b.timed, b.pc, b.end, uint64(len(e.translated)))
	enter := g.NewLabel()
	g.Bind(enter)
	g.checkLines(b.line, b.next)
	if !e.emitBlock(b) {
		return
	}
	g.finishBlock()
	if g.Full() {
		e.Check |= checkStore
		return
	}
	at := g.room.Keep(g.Len())
	t := g.out
	t.enter = g.room.Address(at + g.Place(enter))
	t.begin = g.room.Address(at + g.Place(g.entries[0].label))
	for i := range g.entries {
		p := &g.entries[i]
		t.entries = append(t.entries, 0)
		if !p.alone {
			t.entries[i] = g.room.Address(at + g.Place(p.label))
		}
	}
	b.code = t
	e.translated = append(e.translated, b)
	if e.held += int(unsafe.Sizeof(*t)) + 8*len(t.entries) + g.taken(); e.store.held > e.limit {
		e.Check |= checkStore
	}
}

// emitBlock writes the code of a block's instructions. It reports false when too few have some.
func (e *Engine[C, P]) emitBlock(b *Block[C, P]) bool {
	g, left := e.code, 0
	last := len(b.insns) - 1
	for i := range b.insns {
		g.beginInsn(b.insns[i].next)
		if e.isShared(&b.ops[i]) || i == last && !b.plain || !e.emitter.Emit(g, b.insns, i) || g.declined {
			g.dropInsn()
			if left++; left*fewest > len(b.insns) {
				return false
			}
		}
	}
	if b.ops[last].Flags&Ends == 0 {
		g.Behind()
	}
	return true
}

// isShared reports an instruction that takes a line from other CPUs before it reads.
func (e *Engine[C, P]) isShared(op *Op) bool {
	return e.code.timed && op.Flags&Locked != 0 && e.dir != nil
}

// openRoom makes room for code, with the routines that all blocks call. It reports false where the host has none.
func (e *Engine[C, P]) openRoom() bool {
	if e.code != nil {
		return true
	}
	room := h.NewRoom(host.Code.Room)
	if e.refused = room == nil || unsafe.Sizeof(microEntry{}) != 1<<microShift || unsafe.Sizeof(landing{}) != 1<<landingBytes; e.refused {
		return false
	}
	g := &Code{c: &e.Core, room: room, timed: !e.untimed.on}
	for r := range g.pins {
		g.pins[r] = h.NoReg
	}
	pins := []Pin(nil)
	if !g.timed {
		pins = e.emitter.Pinned()
	}
	for _, p := range pins {
		g.pins[p.Guest] = p.Host
	}
	g.writeRoutines(pins)
	g.start, g.held = room.Used(), room.Used()
	e.code = g
	if e.chains.landings == nil {
		e.chains.landings = new([landings]landing)
	}
	e.chains.voidWays()
	return true
}

// forgetTranslated drops the code of all blocks. They are forgotten too.
func (e *Engine[C, P]) forgetTranslated() {
	for _, b := range e.translated {
		b.code = nil
	}
	e.translated = nil
	if g := e.code; g != nil {
		e.chains.voidWays()
		g.room.Empty(g.start)
		g.held = g.start
	}
}

// changeFlavour drops the code of the other flavour. The blocks go with it, because they know that they were translated.
func (e *Engine[C, P]) changeFlavour() {
	e.Check &^= checkFlavour
	if e.emitter != nil {
		e.forgetCode()
		e.code = nil
	}
}

// taken returns the bytes of the room that blocks have taken since it was asked last.
func (g *Code) taken() int {
	n := g.room.Used() - g.held
	g.held += n
	return n
}

// beginBlock begins the code of a block.
func (g *Code) beginBlock(b *timed, pc, end, number uint64) {
	g.Begin(g.room)
	g.number, g.ops, g.end, g.stores = number, b.ops, end, b.stores
	if g.timed {
		g.key = g.c.memo.keyOf(b)
	}
	g.out = &translation{}
	g.out.ways[0].pc = end
	g.exits, g.fetches, g.entries = g.exits[:0], g.fetches[:0], g.entries[:0]
}

// finishBlock writes what stands behind the instructions: the side exits.
func (g *Code) finishBlock() {
	g.fetchOthers()
	for _, x := range g.exits {
		g.Bind(x.label)
		g.exitWith(x.why)
	}
	g.Align(16)
	g.Finish()
}

// beginInsn begins the code of the next instruction, behind which an address is.
func (g *Code) beginInsn(next uint64) {
	g.insn, g.next, g.declined = len(g.entries), next, false
	l := g.NewLabel()
	g.Bind(l)
	g.entries = append(g.entries, entryPoint{l, g.Len(), len(g.exits), false})
}

// dropInsn has the present instruction executed by its reference function.
func (g *Code) dropInsn() {
	p := &g.entries[g.insn]
	g.Cut(p.begin)
	g.exits = g.exits[:p.exits]
	p.alone = true
	g.exitWith(g.exitAt(exitExecute, g.insn))
}

// Insn returns the number of the present instruction in its block.
func (g *Code) Insn() int { return g.insn }

// Next returns the address behind the present instruction.
func (g *Code) Next() uint64 { return g.next }

// Follows says that the code of the instructions behind one, up to the present one, counts on host registers or flags
// that it has left. None of them is entered from a reference function.
func (g *Code) Follows(since int) {
	for i := since + 1; i <= g.insn; i++ {
		g.entries[i].alone = true
	}
}

// Pin returns the host register that keeps a guest register, or NoReg for one that stays in memory.
func (g *Code) Pin(r uint8) h.Reg { return g.pins[r&regMask] }

// Register is a guest register that no host register keeps.
func (g *Code) Register(r uint8) h.Mem { return g.Field(unsafe.Pointer(&g.c.R[r&regMask])) }

// Field is a field of the CPU, of which the engine is a part.
func (g *Code) Field(p unsafe.Pointer) h.Mem {
	return h.At(h.With, int32(uintptr(p)-uintptr(unsafe.Pointer(g.c))))
}
