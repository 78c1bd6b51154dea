package engine

// Contexts is the number of translation contexts that SwitchTranslations tells apart.
const Contexts = 16

// contexts are the generations of translations that are kept in front of the TLBs, by context: data in the
// bits above any page number, and code. Zero is a context that has none. They are a matter of the host's time.
type contexts struct {
	present  uint8
	data     [Contexts]uint64
	code     [Contexts]uint64
	lastData uint64
	lastCode uint64
}

// ForgetTranslations empties the micro-TLBs of all contexts, after a change of rights or tables. The TLBs
// themselves are the instruction set's to flush: its manual says which entries a change voids.
func (e *Engine[C, P]) ForgetTranslations() {
	e.ForgetData()
	e.forgetFetch()
}

// DropTranslation drops the translation of one address from the TLBs, and empties the micro-TLBs in front of those that
// had it, or have replaced something unnoticed. A kernel that maps one page of data after the other so keeps what it
// has for its code.
func (e *Engine[C, P]) DropTranslation(va uint64) {
	if e.ITLB.Drop(va) || e.ITLB.Generation != e.itlbGen {
		e.forgetFetch()
	}
	if e.DTLB.Drop(va) || e.DTLB.Generation != e.tlbGen {
		e.ForgetData()
	}
}

// SwitchTranslations changes to another context: what decides the translation of an address beside tables and
// buffers, such as the privilege level. Translations of the others are kept until the next ForgetTranslations,
// so that it costs little to come back.
func (e *Engine[C, P]) SwitchTranslations(context uint8) {
	x := &e.contexts
	from := x.present
	x.present = context & (Contexts - 1)
	e.curTag = 0
	if e.microGen = x.data[x.present]; e.microGen == 0 {
		e.newData()
	}
	e.gen = x.code[x.present]
	e.chains.switchWays(from, x.present, e.gen != 0)
	if e.gen == 0 {
		e.newFetch()
	}
}

// SwitchMode changes the mode in which code is decoded: what was decoded in another one is not executed. It
// is for instruction sets whose bytes mean different things in different modes.
func (e *Engine[C, P]) SwitchMode(mode uint8) {
	if e.mode != mode {
		e.mode = mode
		e.ForgetTranslations()
	}
}

// LastBranch returns the operands of the branch that led to the program counter, and its address and flags.
// ok is false when something else did.
func (e *Engine[C, P]) LastBranch() (in *P, at uint64, flags uint16, ok bool) {
	b := e.block
	n := len(b.insns)
	if n == 0 || e.R[PC] == b.end || b.ops[n-1].Flags&Branches == 0 {
		return nil, 0, 0, false
	}
	op := &b.ops[n-1]
	return &b.insns[n-1].Operands, b.end - uint64(op.Len), op.Flags, true
}

// ForgetData empties the micro-TLB of data: a new generation matches no old entry.
func (c *Core) ForgetData() {
	c.contexts.data = [Contexts]uint64{}
	c.newData()
}

// newData begins a generation. Page numbers take 52 bits of a tag, and the generation the 12 bits above. Only
// when these are used up is the table cleared.
func (c *Core) newData() {
	const step = 1 << 52
	x := &c.contexts
	x.lastData += step
	if x.lastData == 0 {
		x.lastData = step
		x.data = [Contexts]uint64{}
		c.clearMicro()
	}
	c.microGen = x.lastData
	x.data[x.present] = c.microGen
}

// forgetFetch voids the translations of code. Links of older generations lead nowhere then, which is
// cheaper than to find them.
func (e *Engine[C, P]) forgetFetch() {
	e.forgetLinks()
	e.chains.voidWays()
}

// forgetLinks is forgetFetch but for the ways of host code.
func (e *Engine[C, P]) forgetLinks() {
	e.curTag = 0
	e.contexts.code = [Contexts]uint64{}
	e.microITLB = [microPages]microPage{}
	e.newFetch()
}

func (e *Engine[C, P]) newFetch() {
	x := &e.contexts
	x.lastCode++
	e.gen = x.lastCode
	x.code[x.present] = e.gen
}

// codeTag is the tag of a page of code in the present context. Page numbers take 52 bits of it.
func (e *Engine[C, P]) codeTag(pc uint64) uint64 {
	return uint64(e.contexts.present)<<56 | (pc>>pageShift + 1)
}
