package engine

import (
	"slices"

	"kprobesim/internal/host"
)

// memo remembers what the window model did with blocks, as FastSim did with the pipelines of an
// out-of-order core (Schnarr and Larus, Fast Out-of-Order Processor Simulation Using Memoization, 1998).
//
// What the model does with a block is a function of its state as seen from the place of dispatch, of
// the block, and of what the block's accesses to memory met. So states are the nodes of a graph, and
// an edge leads from a state by way of a block to the next state. It holds how far dispatch and
// retirement move. Only a block for which there is no edge goes through the model.
//
// A node holds all of a state that may still matter, and an edge all inputs. Both are compared in
// full. So the memo changes no result, and what it has forgotten is a matter of the host's time.
type memo struct {
	here  uint32 // the node that the model is at; zero when nobody has looked
	stale bool   // the model's arrays were left behind: only the node has its state
	base  ticks  // the place of dispatch when the node was reached

	// Node n is named by the place of its first edge, and has more when that leads on. Place 0 is no node.
	edges  []edge
	nodes  []node
	words  []uint64 // states and inputs
	heads  []uint32 // nodes by hash
	blocks uint64   // numbers given to blocks

	key    uint64 // of the edge that the running block does not have
	given  int    // its inputs
	inputs [inputs]uint64

	limit  int    // of edges; zero when nothing is to be remembered
	runs   uint8  // executions of a block before it is remembered
	narrow uint64 // bits of hashes that are left out, by a test
	found  uint64
	patience
}

// edge is what a block did in the state of a node. Its key is the block's number, the instruction behind
// the last, the first, the number of inputs, whether a branch was taken, and whether it was mispredicted.
type edge struct {
	key      uint64 // noKey in a node that has no edge
	input    uint64 // the first input, or zero
	dispatch int32  // places of dispatch and retirement behind it, from that of dispatch before it
	retire   int32
	to       uint32 // node
	next     uint32 // another edge of the same node
	inputs   uint32 // where all begin in words
	live     uint8  // in a node's first edge: stores, the last ones, that a load may have to wait for
}

const noKey = ^uint64(0)

// node is a state in words.
type node struct {
	hash  uint64
	next  uint32 // another node of the same head
	at    uint32
	n     uint16
	edges uint8
}

// patience has the memo rest where it is not worth its time. Loads that take times which never come
// again lead to states that never come again, and to look for a state takes longer than the model
// takes for a block.
type patience struct {
	missed uint32 // blocks without an edge since the last decision
	before uint64 // memo.found at that decision
	pause  uint32 // blocks that are not looked at
	rest   uint32 // the next pause
}

// Bounds, beside those of host.Memo.
const (
	memoLeast  = 1 << 9 // edges of one CPU of many
	memoHeads  = 1 << 12
	memoWords  = 32      // for one edge
	memoState  = 1 << 10 // and for the largest state, which finds room even where few edges do
	memoFan    = 16      // edges of one node: the search is to be shorter than the model
	memoInputs = 120     // of one edge
	memoTrial  = 256     // blocks without an edge until the next decision
	restLeast  = 1 << 9
	restMost   = 1 << 17
)

// init makes the memo of one of a machine's CPUs.
func (m *memo) init(all int) {
	m.limit, m.runs, m.rest = host.Memo.Blocks, uint8(host.Memo.Runs), restLeast
	if m.limit >= memoLeast {
		m.limit = max(m.limit/all, memoLeast)
	}
}

// forget empties the memo. The model's arrays must have followed.
func (m *memo) forget() {
	if m.edges == nil {
		m.heads = make([]uint32, memoHeads)
	}
	clear(m.heads)
	m.edges, m.nodes, m.words = append(m.edges[:0], edge{}), append(m.nodes[:0], node{}), m.words[:0]
	m.here = 0
}

// settle gives the executed instructions of the running block, up to n, their places in time. Blocks
// are executed first and timed after, because the two loops are faster apart.
//
// In the window model it follows the edge that the block has in the present state, if there is one. This
// is the hottest part of the model, and so the common inputs are gathered here.
func (c *Core) settle(n int) {
	m := &c.memo
	if m.here == 0 {
		c.settleUnknown(n)
		return
	}
	b, d, from, placed, given := c.cur, c.dispatch, c.settled, c.placed, 0
	m.inputs[0] = 0
	if d != m.base || c.extra != 0 {
		given = c.gatherDelays()
	}
	k := 0
	for ; k < len(b.records) && n-from == len(b.ops); k++ {
		r := &b.records[k]
		a := &c.acc[r.at&(accesses-1)]
		if r.flags&Loads != 0 {
			if a.miss != 0 {
				m.inputs[given&(inputs-1)] = uint64(a.miss)<<16 | uint64(r.at)<<8 | inMiss
				given++
				a.miss = 0
			}
			if a.match != noStore {
				number := (uint64(a.load) - c.placed) & (forwards - 1)
				if number-1 < c.sequence-c.placed || -number&(forwards-1) < uint64(m.edges[m.here].live) {
					m.inputs[given&(inputs-1)] = number<<24 | uint64(a.match)<<16 | uint64(r.at)<<8 | inMatch
					given++
				}
				a.match = noStore
			}
		}
		if r.flags&Stores != 0 {
			if a.missW != 0 || a.store != placed+1 {
				break
			}
			placed++
		}
		if r.inOrder {
			break
		}
	}
	if k < len(b.records) {
		placed, given = c.gather(k, n, placed, given)
	}
	key := b.number | uint64(n)<<16 | uint64(from)<<9 | uint64(given)<<2
	switch { // what settleBranch looks at
	case c.redirect:
		key |= 1
	case c.taken && c.loop.streaming():
		key |= 3
	case c.taken:
		key |= 2
	}
	first := m.inputs[0]
	e := &m.edges[m.here]
	for e.key != key || e.input != first || given > 1 && !m.meets(e, given) {
		if e.next == 0 {
			c.giveBack(given)
			m.key, m.given = key, given
			c.settleUnknown(n)
			return
		}
		e = &m.edges[e.next]
	}
	c.dispatch, c.retire, c.placed = d+ticks(e.dispatch), d+ticks(e.retire), placed
	m.here, m.base, m.stale = e.to, c.dispatch, true
	m.found++
	c.count += uint64(n - from)
	c.settled = n
	if c.redirect {
		c.redirect = false
		c.step.Stalls.Mispredict += c.ev[evMispredict]
	}
	c.taken = false
}

// meets reports whether the inputs are those of an edge.
func (m *memo) meets(e *edge, given int) bool {
	if given > memoInputs {
		return false
	}
	known := m.words[e.inputs:]
	for i, v := range m.inputs[:given] {
		if known[i] != v {
			return false
		}
	}
	return true
}

// settleUnknown is settle of a block that has no edge: the model is asked, and what it says remembered
// if that is worth it.
func (c *Core) settleUnknown(n int) {
	m := &c.memo
	if !c.window {
		c.settleThroughput(n)
		return
	}
	if !c.worth(n) {
		c.leave()
		c.placeWindow(n)
		return
	}
	if len(m.edges)+2 > m.limit || len(m.words) > m.limit*memoWords+memoState || m.edges == nil {
		c.thaw()
		m.forget()
	}
	if m.here == 0 {
		c.arrive()
		c.settle(n) // which comes back here when there is no edge
		return
	}
	c.learn(n)
}

// worth reports whether a block is to be remembered. What is executed for the first time is seldom
// executed often.
func (c *Core) worth(n int) bool {
	m := &c.memo
	switch b := c.cur; {
	case m.limit == 0 || n <= c.settled:
	case m.pause != 0:
		m.pause--
	case b.runs < m.runs:
		b.runs++
	default:
		if b.number == 0 {
			m.blocks++
			b.number = m.blocks << 24
		}
		return true
	}
	return false
}

// learn makes an edge while the model does its work.
func (c *Core) learn(n int) {
	m := &c.memo
	m.decide()
	c.thaw()
	from, d, stalls := m.here, c.dispatch, c.step.Stalls
	if c.redirect {
		stalls.Mispredict += c.ev[evMispredict]
	}
	m.here = 0
	c.placeWindow(n)
	e := edge{key: m.key | c.cur.number, input: m.inputs[0], dispatch: int32(c.dispatch - d), retire: int32(c.retire - d)}
	if m.given > memoInputs || m.nodes[from].edges >= memoFan || stalls != c.step.Stalls ||
		ticks(e.dispatch) != c.dispatch-d || ticks(e.retire) != c.retire-d {
		return
	}
	e.inputs = uint32(len(m.words))
	m.words = append(m.words, m.inputs[:m.given]...)
	c.arrive()
	e.to = m.here
	m.add(from, e)
}

// add gives a node an edge.
func (m *memo) add(n uint32, e edge) {
	m.nodes[n].edges++
	first := &m.edges[n]
	if first.key == noKey {
		e.live = first.live
		*first = e
		return
	}
	e.next = first.next
	first.next = uint32(len(m.edges))
	m.edges, m.nodes = append(m.edges, e), append(m.nodes, node{})
}

// decide has the memo rest when fewer blocks were found than were not.
func (m *memo) decide() {
	if m.missed++; m.missed < memoTrial {
		return
	}
	if m.found-m.before < memoTrial {
		m.pause = m.rest
		m.rest = min(2*m.rest, restMost)
	} else {
		m.rest = restLeast
	}
	m.missed, m.before = 0, m.found
}

// arrive finds the node of the state that the model's arrays hold, or makes one.
func (c *Core) arrive() {
	m := &c.memo
	at := len(m.words)
	live := uint8(0)
	m.words, live = c.freeze(m.words)
	state := m.words[at:]
	hash := uint64(0)
	for _, w := range state {
		hash = (hash ^ w) * 0x9e3779b97f4a7c15
		hash ^= hash >> 32
	}
	hash &^= m.narrow
	m.base = c.dispatch
	head := &m.heads[hash&(memoHeads-1)]
	for i := *head; i != 0; i = m.nodes[i].next {
		if k := &m.nodes[i]; k.hash == hash && slices.Equal(state, m.state(k)) {
			m.words, m.here = m.words[:at], i
			return
		}
	}
	m.here = uint32(len(m.edges))
	m.edges = append(m.edges, edge{key: noKey, live: live})
	m.nodes = append(m.nodes, node{hash: hash, next: *head, at: uint32(at), n: uint16(len(state))})
	*head = m.here
}

// state returns a node's state, which freeze made.
func (m *memo) state(k *node) []uint64 { return m.words[k.at : int(k.at)+int(k.n)] }

// thaw has the model's arrays follow.
func (c *Core) thaw() {
	m := &c.memo
	if m.stale {
		c.melt(m.base, m.state(&m.nodes[m.here]))
		m.stale = false
	}
}

// leave is for whoever changes the model's state outside of it.
func (c *Core) leave() {
	c.thaw()
	c.memo.here = 0
}
