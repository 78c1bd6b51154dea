package sim

import (
	"cmp"
	"maps"
	"slices"

	"kprobesim/cpus"
	"kprobesim/image"
)

// stacks follows the calls of one CPU by the functions that it executes, without knowing the instruction set. An
// instruction at the start of another function is a call. One in the middle of a function that has been called is
// a return to it, whatever return address a probe has put in place. Where an exception ends, its frames end. What is
// entered neither at its start nor by a return is jumped to, and takes the place of the function before it; code
// that was written at run time, such as a single-step slot, is entered anywhere. Recursion is one frame.
type stacks struct {
	im     *image.Image
	root   *callNode
	frames []frame
	next   uint64   // address behind the last instruction
	pages  bool     // code without a name is told by its page
	recent []naming // of addresses, by their lowest bits
}

// naming is the answer of stacks.function for an address, or nothing at 0.
type naming struct {
	pc, code     uint64
	start, named bool
}

// recentNamings bounds how many are kept.
const recentNamings = 1 << 14

// frame is a function that was called and has not returned.
type frame struct {
	code    uint64 // start of its code, which names it
	context uint8  // exception context in which it was entered
	pc      uint64 // of the last instruction in it
	node    *callNode
}

// callNode is a stack of calls: the calls of its parent, and one more. Its costs come from instructions executed
// with that stack.
type callNode struct {
	calls  map[uint64]*callNode // by the address of the call
	costs  map[place]*pcCost
	last   *pcCost // the one of the place that was asked for last
	lastOf place
}

func newNode() *callNode { return &callNode{calls: map[uint64]*callNode{}, costs: map[place]*pcCost{}} }

func newStacks(im *image.Image) stacks {
	return stacks{im: im, root: newNode(), recent: make([]naming, recentNamings)}
}

// maxDepth bounds a stack; what is called beyond takes the place of its caller.
const maxDepth = 128

// at is the account of a place.
func (n *callNode) at(p place) *pcCost {
	if n.last != nil && n.lastOf == p {
		return n.last
	}
	c := n.costs[p]
	if c == nil {
		c = &pcCost{}
		n.costs[p] = c
	}
	n.last, n.lastOf = c, p
	return c
}

// only makes code that nothing has called the only frame.
func (k *stacks) only(code uint64, context uint8) *frame {
	k.frames, k.next = append(k.frames[:0], frame{code, context, code, k.root}), 0
	return &k.frames[0]
}

// step returns the innermost frame of an instruction.
func (k *stacks) step(s *cpus.Step) *frame {
	at := &k.recent[s.PC%recentNamings]
	if at.pc != s.PC || s.PC == 0 {
		at.pc = s.PC
		at.code, at.start, at.named = k.function(s.PC)
	}
	code, start, named := at.code, at.start, at.named
	sequential := s.PC == k.next
	if n := len(k.frames); !sequential && n > 0 && k.frames[n-1].code != code {
		k.leave(s.Context) // the instruction that ends an exception is still in the code of the exception
	}
	switch last := len(k.frames) - 1; {
	case last < 0:
		k.frames = append(k.frames, frame{code, s.Context, s.PC, k.root})
	case k.frames[last].code == code:
	case sequential:
		k.frames[last].code = code // it falls into the next function
	case !start && k.back(code):
	case (start || !named) && len(k.frames) < maxDepth:
		k.call(code, s.Context)
	default:
		k.frames[last].code = code
	}
	k.next = s.PC + uint64(len(s.Code))
	top := &k.frames[len(k.frames)-1]
	top.pc = s.PC + uint64(s.Last)
	return top
}

// function names the code of an address by its start: that of its symbol, or of its section where it has none.
func (k *stacks) function(pc uint64) (code uint64, start, named bool) {
	if sym, off, ok := k.im.At(pc); ok {
		return sym.Addr, off == 0, true
	}
	if name := k.im.SectionAt(pc); name != "" {
		code, _, _ = k.im.Section(name)
		return code, false, false
	}
	if k.pages {
		pc &^= pageBytes - 1
	}
	return pc, false, false
}

// leave ends the frames of exceptions that have ended: those entered in another context, above one of this context.
func (k *stacks) leave(context uint8) {
	for i, f := range slices.Backward(k.frames) {
		if f.context == context {
			k.frames = k.frames[:i+1]
			return
		}
	}
}

// back returns to a function that has been called.
func (k *stacks) back(code uint64) bool {
	for i, f := range slices.Backward(k.frames) {
		if f.code == code {
			k.frames = k.frames[:i+1]
			return true
		}
	}
	return false
}

// call pushes a function that the last instruction of the innermost one called.
func (k *stacks) call(code uint64, context uint8) {
	from := &k.frames[len(k.frames)-1]
	to := from.node.calls[from.pc]
	if to == nil {
		to = newNode()
		from.node.calls[from.pc] = to
	}
	k.frames = append(k.frames, frame{code: code, context: context, node: to})
}

// each visits the accounts of all stacks: callers before what they called, by ascending addresses. The stack has the
// address of the innermost call first.
func (n *callNode) each(stack []uint64, f func(stack []uint64, at place, c *pcCost)) {
	for _, at := range slices.SortedFunc(maps.Keys(n.costs), func(a, b place) int { return cmp.Or(cmp.Compare(a.pc, b.pc), cmp.Compare(a.phase, b.phase)) }) {
		f(stack, at, n.costs[at])
	}
	for _, call := range slices.Sorted(maps.Keys(n.calls)) {
		n.calls[call].each(append([]uint64{call}, stack...), f)
	}
}
