package engine

import (
	"unsafe"

	h "kprobesim/internal/hostcode"
)

// Where the host allows it, blocks of threaded code become code of the host (package hostcode). It does what the
// functions of threaded code do, and nothing else: what is not the frequent case is left to Slow, and an instruction
// without code of the host to its function. So a Thread may be executed in either way, and nothing but the speed
// depends on it. Between two instructions some registers of the guest are in registers of the host.

// Generator is an instruction set that writes code of the host for threaded code.
type Generator[C, P any] interface {
	// Pinned says which registers of the guest, by their places in Core.R, are in the host's meanwhile, and where. The
	// code of instructions uses Main, Spare and Other (package hostcode) beside them.
	Pinned() []Pin
	// Generate writes code for a block's threads, each behind a BeginInsn. Undo leaves one to its function.
	Generate(g *Native, code []Thread[C, P])
}

// Pin says that a register of the guest is in one of the host.
type Pin struct {
	Guest uint8
	Host  h.Reg
}

// Native writes the code of the host for one block.
type Native struct {
	h.Asm
	room  *h.Room
	start int // of the blocks' code in the room
	enter uintptr
	leave int // place of the code that returns what Main has
	at    offsets
	first uintptr // the first thread of the block, and
	step  uintptr // from each to the next
	slow  uintptr // from a thread to that of Slow
	outs  [3]uintptr
	count int32 // instructions of the block
	now   [2]int32
	insns []nativeInsn
	exits []exit
	slots [2]h.Label // of the ways behind and taken
	used  [2]bool
	look  uint64 // address of the landings
	held  int    // bytes of the room that the store has counted
}

// nativeInsn is the code of one thread.
type nativeInsn struct {
	label h.Label
	begin int
	exits int  // of the code before it
	own   bool // it is left to its function
}

// exit is a place where code is left with a thread.
type exit struct {
	label  h.Label
	thread uintptr
}

// offsets are the places in a CPU.
type offsets struct {
	R, left, microGen, micro, codeMap, regions, phase int32
	read, write, base, page                           int32 // in an entry of the micro-TLB
}

// nativeRoom are bytes of the host's addresses. Memory is taken as it is filled.
const nativeRoom = 160 << 20

// nativeState is what threads have for it.
type nativeState[C, P any] struct {
	native    *Native
	generator Generator[C, P]
	into      func(*C, *Thread[C, P]) *Thread[C, P]
}

// setupNative makes room for code of the host, if there can be any.
func (e *Engine[C, P]) setupNative() {
	gen, ok := any(e.self).(Generator[C, P])
	if !ok || unsafe.Sizeof(microEntry{}) != 1<<microShift {
		return
	}
	room := h.NewRoom(nativeRoom)
	if room == nil {
		return
	}
	cpu := uintptr(unsafe.Pointer(e.self))
	off := func(p unsafe.Pointer) int32 { return int32(uintptr(p) - cpu) }
	var m microEntry
	n := &Native{room: room, at: offsets{
		R: off(unsafe.Pointer(&e.R)), left: off(unsafe.Pointer(&e.left)), microGen: off(unsafe.Pointer(&e.microGen)),
		micro: off(unsafe.Pointer(&e.micro)), codeMap: off(unsafe.Pointer(&e.codeMap)),
		regions: off(unsafe.Pointer(&e.regions)), phase: off(unsafe.Pointer(&e.phase)),
		read: int32(unsafe.Offsetof(m.read)), write: int32(unsafe.Offsetof(m.write)),
		base: int32(unsafe.Offsetof(m.base)), page: int32(unsafe.Offsetof(m.page)),
	}}
	n.step = unsafe.Sizeof(Thread[C, P]{})
	n.look = uint64(uintptr(unsafe.Pointer(e.landings)))
	n.Begin(room)
	for _, p := range gen.Pinned() {
		n.Load(8, p.Host, n.Register(p.Guest))
	}
	n.JmpReg(h.Main)
	n.leave = n.Len()
	for _, p := range gen.Pinned() {
		n.Store(8, n.Register(p.Guest), p.Host)
	}
	n.Ret()
	n.Align(16)
	n.enter = room.Address(room.Keep(n.Len()))
	n.start, n.held = room.Used(), room.Used()
	e.native, e.generator = n, gen
	e.into = func(c *C, q *Thread[C, P]) *Thread[C, P] {
		return (*Thread[C, P])(h.Call(n.enter, q.code, unsafe.Pointer(c)))
	}
}

// generate writes code of the host for the threads of a block, of which all has the first.
func (e *Engine[C, P]) generate(ways *Ways[C, P], all []Thread[C, P]) {
	n := e.native
	if n == nil {
		return
	}
	n.begin(uintptr(unsafe.Pointer(&all[0])), ways.slow, int32(ways.n))
	for i := range ways.outs {
		n.outs[i] = uintptr(unsafe.Pointer(&ways.outs[i]))
	}
	regions := uintptr(unsafe.Pointer(&e.regions))
	for i, w := range [...]*way[C, P]{&ways.behind, &ways.taken} {
		n.now[i] = n.at.regions + int32(uintptr(unsafe.Pointer(w.now))-regions)
	}
	e.generator.Generate(n, all)
	if !n.end() {
		e.Check |= checkStore
		return
	}
	place := n.room.Keep(n.Len())
	for i := range n.insns {
		q := &all[i]
		q.code = n.room.Address(place + n.Place(n.insns[i].label))
		if !n.insns[i].own {
			q.Exec = e.into
		}
	}
	for i, w := range [...]*way[C, P]{&ways.behind, &ways.taken} {
		if n.used[i] {
			w.slot = n.room.Words(place + n.Place(n.slots[i]))
		}
	}
}

// taken is what blocks have taken of the room since it was asked last.
func (e *Engine[C, P]) taken() int {
	n := e.native
	if n == nil {
		return 0
	}
	bytes := n.room.Used() - n.held
	n.held += bytes
	return bytes
}

// forgetNative drops the code of all blocks, of which none may be executed any more.
func (e *Engine[C, P]) forgetNative() {
	n := e.native
	if n == nil {
		return
	}
	e.want, e.from = nil, nil
	e.voidWays()
	n.room.Empty(n.start)
	n.held = n.start
}

// begin begins a block.
func (n *Native) begin(first, slow uintptr, count int32) {
	n.Asm.Begin(n.room)
	n.first, n.slow, n.count = first, slow, count
	n.insns, n.exits, n.used = n.insns[:0], n.exits[:0], [2]bool{}
	n.slots = [2]h.Label{n.NewLabel(), n.NewLabel()}
}

// end writes what stands behind the instructions: ways out, and what links lead to. It reports whether there was room.
func (n *Native) end() bool {
	for _, x := range n.exits {
		n.Bind(x.label)
		n.ret(x.thread)
	}
	n.Align(8)
	for i := range n.slots {
		n.Bind(n.slots[i])
		if n.used[i] {
			n.Quad(0)
			n.Quad(0)
		}
	}
	n.Align(16)
	n.Finish()
	return !n.Full()
}

// BeginInsn begins the code of the next thread.
func (n *Native) BeginInsn() {
	l := n.NewLabel()
	n.Bind(l)
	n.insns = append(n.insns, nativeInsn{l, n.Len(), len(n.exits), false})
}

// Undo has the present thread executed by its function.
func (n *Native) Undo() {
	i := len(n.insns) - 1
	x := &n.insns[i]
	x.own = true
	n.Cut(x.begin)
	n.exits = n.exits[:x.exits]
	n.ret(n.thread(i))
}

// Insn is the number of the present thread.
func (n *Native) Insn() int { return len(n.insns) - 1 }

// Own has the threads behind one up to the present one executed by their functions where code of the host is not come
// to from the thread before: its code counts on what that one has left in the host's registers or flags.
func (n *Native) Own(since int) {
	for i := since + 1; i < len(n.insns); i++ {
		n.insns[i].own = true
	}
}

// thread is the address of a thread.
func (n *Native) thread(i int) uintptr { return n.first + uintptr(i)*n.step }

// ret leaves with a thread.
func (n *Native) ret(thread uintptr) {
	n.Const(h.Main, uint64(thread))
	n.JmpTo(n.leave)
}

// out returns a label where code is left with a thread.
func (n *Native) out(thread uintptr) h.Label {
	for _, x := range n.exits[n.insns[len(n.insns)-1].exits:] {
		if x.thread == thread {
			return x.label
		}
	}
	l := n.NewLabel()
	n.exits = append(n.exits, exit{l, thread})
	return l
}

// Slow returns a label where the present instruction is left to Slow. Nothing may have changed but Main, Spare,
// Other and the host's flags.
func (n *Native) Slow() h.Label { return n.out(n.thread(len(n.insns)-1) + n.slow) }

// Register is where a register of the guest is that is not in the host's.
func (n *Native) Register(r uint8) h.Mem { return n.Field(n.at.R + 8*int32(r)) }

// Field is a field of the CPU by its distance from the beginning.
func (n *Native) Field(at int32) h.Mem { return h.At(h.With, at) }

// OffsetOf is the distance of a field, which must be of the CPU.
func OffsetOf[C any](c *C, field unsafe.Pointer) int32 {
	return int32(uintptr(field) - uintptr(unsafe.Pointer(c)))
}

// entry has Other lead to the entry of the micro-TLB for the size bytes at the virtual address in Main, whose tag at some
// place in it must be the address's. Spare changes. An operand in two pages has the tag of the second.
func (n *Native) entry(size, tag int32, slow h.Label) {
	if size == 1 {
		n.Mov(8, h.Spare, h.Main)
	} else {
		n.Lea(8, h.Spare, h.At(h.Main, size-1))
	}
	n.ShiftImm(h.Shr, 8, h.Spare, pageShift)
	n.OpLoad(h.Add, 8, h.Spare, n.Field(n.at.microGen))
	n.Mov(4, h.Other, h.Main)
	n.ShiftImm(h.Shr, 4, h.Other, pageShift-microShift)
	n.OpImm(h.And, 4, h.Other, (microEntries-1)<<microShift)
	n.OpLoad(h.Cmp, 8, h.Spare, n.micro(tag))
	n.Jcc(h.NotEqual, slow)
}

// microShift is the logarithm of the bytes of an entry.
const microShift = 5

// micro is a field of the entry that Other leads to.
func (n *Native) micro(field int32) h.Mem {
	return h.Mem{Base: h.With, Index: h.Other, Disp: n.at.micro + field}
}

// Readable turns the virtual address in Main into where the host has its bytes, as Core.Readable does. Spare,
// Other and the host's flags change.
func (n *Native) Readable(size int) {
	n.entry(int32(size), n.at.read, n.Slow())
	n.OpImm(h.And, 4, h.Main, pageMask)
	n.OpLoad(h.Add, 8, h.Main, n.micro(n.at.page))
}

// Writable is Readable for a store, as Core.Writable.
func (n *Native) Writable(size int) {
	slow := n.Slow()
	n.entry(int32(size), n.at.write, slow)
	n.OpImm(h.And, 4, h.Main, pageMask)
	n.OpLoad(h.Add, 8, h.Main, n.micro(n.at.page))
	n.Load(8, h.Spare, n.micro(n.at.base))
	n.ShiftImm(h.Shr, 8, h.Spare, pageShift)
	n.Load(8, h.Other, n.Field(n.at.codeMap))
	n.OpMemImm(h.Cmp, 8, h.Mem{Base: h.Other, Index: h.Spare, Shift: 3}, 0)
	n.Jcc(h.NotEqual, slow)
}

// Behind leaves the block for the one behind it, as Engine.Behind does.
func (n *Native) Behind() { n.way(0, outBehind) }

// Taken leaves the block for where its branch goes.
func (n *Native) Taken() { n.way(1, outTaken) }

func (n *Native) way(i, out int) {
	l := n.out(n.outs[out])
	n.used[i] = true
	n.OpMemImm(h.Sub, 8, n.Field(n.at.left), n.count)
	n.Jcc(h.LessOrEq, l)
	n.Load(8, h.Spare, n.Field(n.now[i]))
	n.CmpSlot(h.Spare, n.slots[i], 0)
	n.Jcc(h.NotEqual, l)
	n.JmpSlot(n.slots[i], 8)
}

// To leaves the block for the address in Main, as Engine.To does.
func (n *Native) To() {
	var j landing[int, int]
	field := func(at uintptr) h.Mem { return h.At(h.Other, int32(at)) }
	away := n.NewLabel()
	n.OpMemImm(h.Sub, 8, n.Field(n.at.left), n.count)
	n.Jcc(h.LessOrEq, away)
	n.Mov(8, h.Spare, h.Main)
	n.ShiftImm(h.Shr, 8, h.Spare, landingShift)
	n.Op(h.Xor, 4, h.Spare, h.Main)
	n.OpImm(h.And, 4, h.Spare, landings-1)
	n.MultiplyImm(4, h.Spare, h.Spare, int32(unsafe.Sizeof(j)))
	n.Const(h.Other, n.look)
	n.Op(h.Add, 8, h.Other, h.Spare)
	n.OpLoad(h.Cmp, 8, h.Main, field(unsafe.Offsetof(j.pc)))
	n.Jcc(h.NotEqual, away)
	n.Load(8, h.Spare, field(unsafe.Offsetof(j.now)))
	n.Load(8, h.Spare, h.At(h.Spare, 0))
	n.OpLoad(h.Cmp, 8, h.Spare, field(unsafe.Offsetof(j.gen)))
	n.Jcc(h.NotEqual, away)
	n.Load(1, h.Spare, field(unsafe.Offsetof(j.phase)))
	n.OpLoad(h.Cmp, 1, h.Spare, n.Field(n.at.phase))
	n.Jcc(h.NotEqual, away)
	n.JmpMem(field(unsafe.Offsetof(j.code)))
	n.Bind(away)
	n.Store(8, n.Register(PC), h.Main)
	n.ret(n.outs[outElsewhere])
}
