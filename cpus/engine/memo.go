package engine

import (
	"math/bits"
	"slices"
	"unsafe"

	"kprobesim/internal/clock"
	"kprobesim/internal/host"
)

// memo remembers what the window model did with blocks, as FastSim did with the pipelines of an
// out-of-order core (Schnarr and Larus, Fast Out-of-Order Processor Simulation Using Memoization, 1998).
//
// What the model does with a block is a function of its state as seen from the time of dispatch, of
// the block, and of what the block's accesses to memory found. So states are the nodes of a graph, and
// an edge leads from a state by way of a block to the next state. It holds how far dispatch and
// retirement move. Only a block for which there is no edge goes through the model.
//
// A node holds all of a state that may still matter, and an edge all inputs. Both are compared in
// full. So the memo changes no result, and what it has forgotten is a matter of the host's time.
type memo struct {
	here uint32 // the node that the model is at; zero when nobody has looked
	// What the model's arrays hold: that node, or another one and what was dispatched and stored there. In the
	// latter case only the node has the state.
	held held

	// Node n has its first edge in place n. Node 0 is none and has no edge. All further edges are in pairs by hash:
	// where everything before has ended, blocks of all code begin in one node.
	edges   []edge
	others  [][2]edge
	nodes   []node
	words   []uint64 // states and inputs
	heads   []uint32 // nodes by hash
	spreads int      // shift of a hash to its head
	pairs   int      // the same to its pair
	blocks  uint64   // numbers given to blocks

	key    uint64         // of the edge that the running block does not have
	inputs [inputs]uint64 // of the running block; Core.outcome has their number

	ahead uint64 // the key of the first edge of here, asked for early: the host's memory may take its time

	limit  int    // of edges; zero when nothing is to be remembered
	most   int    // to which it grows
	runs   uint8  // executions of a block before it is remembered
	narrow uint64 // bits of hashes that are left out, by a test
	found  uint64
	throttle
}

// edge records what a block did in the state of a node.
type edge struct {
	key      uint64 // noKey in a node that has no edge
	input    uint64 // the only input, or where all begin in words when there are several
	dispatch int32  // times of dispatch and retirement behind it, from that of dispatch before it
	retire   int32
	to       uint32 // node, and above it (edgeLive) how many stores of that are live
	from     uint32 // node, which is zero where there is no edge
}

// edgeLive is the place of node.live in edge.to. Nodes have smaller numbers, because a memo has no more.
const edgeLive = 24

// leads has an edge lead to the present node.
func (e *edge) leads(c *Core) { e.to = c.memo.here | uint32(c.live)<<edgeLive }

// node is where an edge leads to, and live what that node says of stores.
func (e *edge) node() uint32 { return e.to & (1<<edgeLive - 1) }
func (e *edge) live() uint64 { return uint64(e.to >> edgeLive) }

// The key of an edge, from its lowest bit on. The number of the block is the rest.
const (
	mispredicted = 1 << iota // of a branch
	taken
	_         // streaming
	oneInput  // their number
	allInputs = (inputs - 1) * oneInput
	overrode  = 1 << 12      // of a branch: a first prediction was wrong, and the one behind it right
	keyStart  = 13           // the first instruction
	keyEnd    = keyStart + 7 // the instruction behind the last
	keyBlock  = keyEnd + 7
	noKey     = ^uint64(0)
)

// keyDrain is the key of an edge along which everything in flight ends. No block's first instruction comes
// behind its last.
const keyDrain = 1<<keyStart | oneInput

// node is a state in words.
type node struct {
	hash uint64
	next uint32 // another node of the same head
	at   uint32
	n    uint16
	live uint8 // stores, the last ones, that a load may have to wait for
}

// golden is 2^64 divided by the golden ratio, whose multiples spread well.
const golden = 0x9e3779b97f4a7c15

// held copies what the model's arrays hold: the state of a node, from a time of dispatch and a last store on.
type held struct {
	node   uint32
	at     ticks
	placed uint64
}

// throttle has the memo rest where it is not worth its time. Loads that take times which never come
// again lead to states that never come again, and to look for a state takes longer than the model
// takes for a block.
type throttle struct {
	before uint64 // memo.found at the last decision
	far    rests  // of states in which retirement is far behind dispatch, which have the most words and come again the least
	known  uint32 // such states since the last decision that had a node
	rests         // of all; delays are then noted where the model looks for them
}

// rests are pauses, each twice as long as the one before as long as tries fail.
type rests struct {
	tries uint32 // since the last decision
	pause uint32 // blocks that are not looked at
	rest  uint32 // the next pause
}

// due counts a try and reports whether to decide.
func (r *rests) due() bool {
	if r.tries++; r.tries < memoTrial {
		return false
	}
	r.tries = 0
	return true
}

// decide begins a pause if the tries were not worth their time.
func (r *rests) decide(worth bool) {
	if worth {
		r.rest = restLeast
		return
	}
	r.pause = r.rest
	r.rest = min(2*r.rest, restMost)
}

// Bounds, beside host.Memo.
const (
	memoLeast = 1 << 9  // edges of one CPU of many
	memoFirst = 1 << 14 // edges until it is full for the first time
	memoHeads = 15      // logarithm of the heads of nodes
	memoWords = 32      // for one edge
	memoState = 1 << 12 // and for the largest state, which finds room even where few edges do
	memoTrial = 256     // blocks without an edge until the next decision
	restLeast = 1 << 9
	restMost  = 1 << 17
	// Retirement is so far behind dispatch where a load has missed the first level, from some latency of the second one on.
	far = 20 * clock.PerCycle
)

// init makes the memo of one of a machine's CPUs.
func (m *memo) init(all int) {
	m.edges = []edge{{key: noKey}}
	m.most, m.runs = min(host.Memo.Blocks, 1<<edgeLive), uint8(host.Memo.Runs)
	m.rest, m.far.rest = restLeast, restLeast
	if m.most >= memoLeast {
		m.most = max(m.most/all, memoLeast)
	}
	m.limit = min(m.most, memoFirst)
}

// forget empties the memo, which is twice as large then, up to its bound. The model's arrays must have followed.
func (m *memo) forget() {
	if m.heads == nil || m.limit < m.most { // new memory is empty, and clearing it would have the host provide all of it
		if m.heads != nil {
			m.limit = min(2*m.limit, m.most)
		}
		m.heads = make([]uint32, 1<<min(bits.Len(uint(m.limit)), memoHeads))
		m.spreads = 64 - bits.Len(uint(len(m.heads)-1))
		m.others = make([][2]edge, 1<<bits.Len(uint(m.limit)|2)>>1)
		m.pairs = 64 - bits.Len(uint(len(m.others)-1))
	} else {
		clear(m.heads)
		clear(m.others)
	}
	m.edges, m.nodes, m.words = m.edges[:1], append(m.nodes[:0], node{}), m.words[:0]
	m.here = 0
}

// hitMemo gives a whole block that was just executed its times if the memo has them, which it mostly
// has, and reports whether it does. What is irregular is left to settle.
func (c *Core) hitMemo(b *timed) bool {
	m := &c.memo
	if m.here == 0 || c.irregular&b.irregularMask != 0 || c.sends != b.stores {
		return false
	}
	key := b.key | c.outcome | c.loop.passes&streaming
	e := m.first(m.here)
	if e.key != key || key&allInputs != 0 && !m.meets(e, key) {
		if e = m.other(key); e == nil {
			return false
		}
	}
	d := c.dispatch // what follow does, in line
	c.dispatch, c.retire = d+ticks(e.dispatch), d+ticks(e.retire)
	to := e.to
	m.here, c.live = to&(1<<edgeLive-1), uint64(to>>edgeLive)
	m.ahead = m.first(to & (1<<edgeLive - 1)).key
	m.found++
	c.count += uint64(len(b.ops))
	if c.outcome&mispredicted != 0 {
		c.step.Stalls.Mispredict += c.ev[evMispredict]
	}
	c.outcome = 0
	c.placed, c.sends = c.sequence, 0
	return true
}

// first is the first edge of a node.
func (m *memo) first(node uint32) *edge {
	return (*edge)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(m.edges)), uintptr(node)*unsafe.Sizeof(edge{})))
}

// edge returns the edge with a key that leads from here, or nil.
func (m *memo) edge(key uint64) *edge {
	if e := &m.edges[m.here]; e.key == key && (key&allInputs == 0 || m.meets(e, key)) {
		return e
	}
	return m.other(key)
}

// other is edge of those that are not the first.
func (m *memo) other(key uint64) *edge {
	here := m.here
	p := m.pair(here, key)
	e := &p[0]
	if e.key == key && e.from == here && (key&allInputs == 0 || m.meets(e, key)) {
		return e
	}
	if e = &p[1]; e.key == key && e.from == here && (key&allInputs == 0 || m.meets(e, key)) {
		return e
	}
	return nil
}

// pair returns where such an edge from node n is kept. Two are a line of the host's cache.
func (m *memo) pair(n uint32, key uint64) *[2]edge {
	hash := key ^ uint64(n)<<40
	if key&allInputs != 0 {
		hash ^= bits.RotateLeft64(m.inputs[0], 20)
	}
	return &m.others[hash*golden>>(m.pairs&63)]
}

// follow goes along an edge with n instructions.
func (c *Core) follow(e *edge, n int) {
	d := c.dispatch
	c.dispatch, c.retire = d+ticks(e.dispatch), d+ticks(e.retire)
	m := &c.memo
	m.here, c.live = e.node(), e.live()
	m.ahead = m.edges[m.here].key
	m.found++
	c.count += uint64(n)
	if c.outcome&mispredicted != 0 {
		c.step.Stalls.Mispredict += c.ev[evMispredict]
	}
	c.outcome = 0
}

// meets reports whether the running block has the inputs of an edge with the same key.
func (m *memo) meets(e *edge, key uint64) bool {
	if key&allInputs == oneInput {
		return e.input == m.inputs[0]
	}
	n := key & allInputs / oneInput
	return slices.Equal(m.words[e.input:e.input+n], m.inputs[:n])
}

// settleRunning is settle of the whole running block, when nothing quicker has given it its places.
//
//go:noinline
func (c *Core) settleRunning() {
	c.settle(len(c.cur.ops))
	c.settled = 0
}

// settle gives the executed instructions of the running block, up to n, their times. Blocks
// are executed first and timed after, because the two loops are faster apart.
func (c *Core) settle(n int) {
	if c.untimed.on {
		c.settleUntimed(n)
		return
	}
	if c.window {
		from := c.dispatch
		if c.outcome >= oneInput {
			c.applyInputs()
		}
		if m := &c.memo; m.pause != 0 && m.here == 0 { // what settleWindow comes to, in line
			m.pause--
			c.scheduleBlock(n)
		} else {
			c.settleWindow(n)
		}
		if p := c.prefetcher; p != nil && p.wrong.open {
			c.leaveWrongPath(from)
		}
	} else {
		c.settleThroughput(n)
	}
	c.settled, c.outcome, c.repriced = n, 0, 0
	if c.sends = 0; c.irregular != 0 || n != len(c.cur.ops) {
		c.tidy(n)
	}
	if c.placed != c.sequence && n == len(c.cur.ops) {
		c.passStores()
	}
}

// passStores has the next store be the one behind the last that was sent: those between were sent by instructions that do not
// store by their description, and are never timed.
func (c *Core) passStores() {
	c.detachMemo()
	c.placed = c.sequence
}

// settleWindow follows the edge that the block has in the present state, if there is one. If not, the model
// is asked, and what it says remembered if that is worth it.
func (c *Core) settleWindow(n int) {
	m := &c.memo
	if m.here != 0 && c.lookUp(n) {
		return
	}
	if !c.worth(n) {
		c.detachMemo()
		c.scheduleBlock(n)
		return
	}
	if m.full() || m.heads == nil {
		c.restoreState()
		m.forget()
	}
	if m.here == 0 {
		c.findNode()
		if c.lookUp(n) {
			return
		}
	}
	c.learn(n)
}

// full reports whether there is no room for what one edge more may need.
func (m *memo) full() bool {
	return len(m.edges)+2 > m.limit || len(m.words) > m.limit*memoWords+memoState
}

// drainByMemo is Drain by an edge, which is made when there is none. It reports whether that was possible.
func (c *Core) drainByMemo(t ticks) bool {
	m, d := &c.memo, c.dispatch
	if c.late != 0 || m.full() {
		return false
	}
	m.inputs[0] = uint64(t)
	if e := m.edge(keyDrain); e != nil {
		c.dispatch, c.retire = d+ticks(e.dispatch), d+ticks(e.retire)
		m.here, c.live = e.node(), e.live()
		return true
	}
	from := m.here
	c.detachMemo()
	c.drain(t)
	if d = c.dispatch - d; ticks(int32(d)) == d {
		c.findNode()
		e := edge{key: keyDrain, dispatch: int32(d), retire: int32(d)}
		e.leads(c)
		m.add(from, e, m.inputs[:1])
	}
	return true
}

// lookUp is hitMemo of instructions up to n, with any inputs.
func (c *Core) lookUp(n int) bool {
	m, b := &c.memo, c.cur
	placed := c.gather(n)
	m.key = b.number | uint64(n)<<keyEnd | uint64(c.settled)<<keyStart | c.outcome | c.loop.passes&streaming
	if e := m.edge(m.key); e != nil {
		c.follow(e, n-c.settled)
		c.placed, c.late = placed, 0
		return true
	}
	c.applyInputs()
	return false
}

// worth reports whether a block is to be remembered. What is executed for the first time is seldom
// executed often.
func (c *Core) worth(n int) bool {
	m := &c.memo
	switch b := c.cur; {
	case m.limit == 0 || n <= c.settled:
	case m.pause != 0:
		m.pause--
	case m.far.pause != 0 && c.isFar():
		m.far.pause--
	case b.runs < m.runs:
		b.runs++
	default:
		m.keyOf(b)
		return true
	}
	return false
}

// keyOf returns the key of a whole block's edges without inputs and branch, or zero when hitMemo is not to look for them. A
// block gets its number here.
func (m *memo) keyOf(b *timed) uint64 {
	if b.number == 0 {
		m.blocks++
		b.number = m.blocks << keyBlock
		if len(b.ops) <= insnBits {
			b.key = b.number | uint64(len(b.ops))<<keyEnd
		}
	}
	return b.key
}

// learn makes an edge while the model does its work.
func (c *Core) learn(n int) {
	m := &c.memo
	if m.due() {
		m.decide(m.found-m.before >= memoTrial) // more were found than were not
		m.before = m.found
	}
	c.restoreState()
	from, d, stalls, wrote := m.here, c.dispatch, c.step.Stalls, c.wrote
	if c.outcome&mispredicted != 0 {
		stalls.Mispredict += c.ev[evMispredict]
	}
	c.invalidateNode()
	c.scheduleBlock(n)
	e := edge{key: m.key&(1<<keyBlock-1) | c.cur.number, dispatch: int32(c.dispatch - d), retire: int32(c.retire - d)}
	given := m.key & allInputs / oneInput
	if stalls != c.step.Stalls || wrote != c.wrote ||
		ticks(e.dispatch) != c.dispatch-d || ticks(e.retire) != c.retire-d {
		return
	}
	c.findNode()
	e.leads(c)
	m.add(from, e, m.inputs[:given])
}

// add gives node n an edge with its inputs, which are in memo.inputs too. Of a pair the older one goes.
func (m *memo) add(n uint32, e edge, given []uint64) {
	e.from = n
	if first := &m.edges[n]; first.key == noKey {
		m.keepInputs(&e, given, &edge{})
		*first = e
		return
	}
	p := m.pair(n, e.key)
	m.keepInputs(&e, given, &p[1])
	p[0], p[1] = e, p[0]
}

// keepInputs keeps the inputs of an edge, in the place of an old one's when they find room there.
func (m *memo) keepInputs(e *edge, given []uint64, old *edge) {
	switch n, room := len(given), int(old.key&allInputs/oneInput); {
	case n == 0:
	case n == 1:
		e.input = given[0]
	case n <= room:
		e.input = old.input
		copy(m.words[e.input:], given)
	default:
		e.input = uint64(len(m.words))
		m.words = append(m.words, given...)
	}
}

// isFar reports whether retirement is far behind dispatch.
func (c *Core) isFar() bool { return c.retire-c.dispatch > far }

// countFar notes whether a state has had a node, if it is a far one.
func (c *Core) countFar(known uint32) {
	if !c.isFar() {
		return
	}
	m := &c.memo
	if m.known += known; m.far.due() {
		m.far.decide(3*m.known >= memoTrial)
		m.known = 0
	}
}

// findNode finds the node of the state that the model's arrays hold, or makes one.
func (c *Core) findNode() {
	m := &c.memo
	at := len(m.words)
	live := uint8(0)
	m.words, live = c.freeze(m.words)
	state := m.words[at:]
	hash := uint64(0)
	for _, w := range state {
		hash = bits.RotateLeft64(hash, 29) ^ w
		hash *= golden
	}
	hash &^= m.narrow
	c.late = 0
	head := &m.heads[hash>>(m.spreads&63)]
	for i := *head; i != 0; i = m.nodes[i].next {
		if k := &m.nodes[i]; k.hash == hash && slices.Equal(state, m.state(k)) {
			m.words = m.words[:at]
			c.countFar(1)
			c.reach(i)
			return
		}
	}
	n := uint32(len(m.edges))
	m.edges = append(m.edges, edge{key: noKey})
	m.nodes = append(m.nodes, node{hash: hash, next: *head, at: uint32(at), n: uint16(len(state)), live: live})
	*head = n
	c.countFar(0)
	c.reach(n)
}

// reach makes a node the present one, whose state the model's arrays hold.
func (c *Core) reach(n uint32) {
	c.memo.here, c.live = n, uint64(c.memo.nodes[n].live)
	c.memo.held = held{n, c.dispatch, c.placed}
}

// state returns a node's state, which freeze made.
func (m *memo) state(k *node) []uint64 { return m.words[k.at : int(k.at)+int(k.n)] }

// restoreState has the model's arrays follow.
func (c *Core) restoreState() {
	m := &c.memo
	d := c.dispatch - c.late
	if now := (held{m.here, d, c.placed}); m.here != 0 && m.held != now {
		c.melt(d, m.state(&m.nodes[m.here]))
		m.held = now
	}
}

// detachMemo prepares a change of the model's state from outside.
func (c *Core) detachMemo() {
	c.restoreState()
	c.invalidateNode()
}

// invalidateNode has the memo forget the node of the model's state.
func (c *Core) invalidateNode() { c.memo.here, c.live = 0, c.seen }
