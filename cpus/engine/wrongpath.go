package engine

// wrongPaths are branches that were mispredicted and jump over a few bytes. Both of their ways soon lead to the same code, so a core
// that goes on along the wrong one executes what follows. Its results are dropped, and lines that its loads have asked for come all
// the same. That is all that is modelled of it: such a load finds its line on the way when it is executed again.
//
// Dispatch was held up from the branch on, until it was resolved and the front end had come back. Loads behind it were made on the
// wrong path so much earlier, if their addresses were known before the branch was resolved. Another branch that was mispredicted has held
// up the wrong path as well, if it was resolved there in time. If not, nothing there has waited for it. The oldest branch whose
// wrong path has a load has made it first.
type wrongPaths struct {
	paths   [16]wrongPath // the oldest first
	n       int
	open    bool   // the running block ends by a branch that will be one
	arrives ticks  // when the line of the last load that missed is there, and
	load    uint64 // its number
}

// wrongPath is one of them.
type wrongPath struct {
	ahead    ticks  // how much earlier it has what comes next
	resolved ticks  // when the branch was
	last     uint64 // the last instruction that found a place in the window
}

// convergent notes that the running block ends by a mispredicted branch over so many bytes, if that has a wrong path. All in front
// of it gets its times now, so that leaveWrongPath knows when it was dispatched. The outcome of the branch is noted afterwards.
func (c *Core) convergent(over uint64) {
	if p := c.prefetcher; p != nil && over < p.wrongPath && c.window {
		c.Settle()
		p.wrong.open = true
		c.irregular |= irregularAccess // so that hitMemo leaves it to settle
	}
}

// leaveWrongPath notes the wrong path of the branch that ends the running block. In front of it dispatch was at a time.
func (c *Core) leaveWrongPath(from ticks) {
	w, resolved, held := &c.prefetcher.wrong, c.dispatch-c.ev[evMispredict], c.dispatch-from
	w.open = false
	data := ticks(0) // when what the branch waited for was there, on each path
	if w.load+uint64(len(c.cur.ops)) >= c.Completed() {
		data = min(w.arrives, resolved)
	}
	for i := range w.n {
		if p := &w.paths[i]; max(resolved-p.ahead, data) >= p.resolved {
			p.ahead += held
		}
	}
	if w.n == len(w.paths) {
		w.drop()
	}
	w.paths[w.n] = wrongPath{ahead: held, resolved: resolved, last: c.Completed() + uint64(c.rob)}
	w.n++
}

// drop forgets the oldest path.
func (w *wrongPaths) drop() {
	copy(w.paths[:], w.paths[1:w.n])
	w.n--
}

// early is how much earlier the running load, which is dispatched next and knows its address at a time, was made on a wrong path, or 0.
func (c *Core) early(known ticks) ticks {
	w := &c.prefetcher.wrong
	for w.n > 0 && !w.paths[0].has(c.dispatch, c.Completed()) {
		w.drop() // nor is anything behind it on that path
	}
	for i := range w.n {
		if p := &w.paths[i]; p.has(known, c.Completed()) {
			return p.ahead
		}
	}
	return 0
}

// has reports whether instruction n was on the path, if it has what it needs at a time.
func (p *wrongPath) has(t ticks, n uint64) bool { return t-p.ahead < p.resolved && n < p.last }
