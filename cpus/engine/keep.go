package engine

// Keep has the timing model's state stand where it can be kept, outside of what the memo remembers. Nothing
// of it shows in times.
func (e *Engine[C, P]) Keep() { e.Core.detachMemo() }

// Renew drops everything that follows from state that was read: decoded code, and the copies of translations.
// It panics for what no CPU can have: the host does not look whether places in some tables are inside of them.
func (e *Engine[C, P]) Renew() {
	recent, p := int(e.dMask)+1, &e.predictor
	if len(e.dRecent) != recent || len(e.sRecent) != recent || len(p.counters) != int(p.cmask)+1 ||
		p.top < 0 || p.top >= len(p.returns) || p.depth > len(p.returns) || !e.prefetcher.sound() || !p.tagged.sound() || !e.loads.sound() {
		panic("engine: a place outside of its table")
	}
	e.levels.Renew(len(e.ram))
	e.setDirect()
	e.invalidateNode()
	e.forgetCode()
	e.code = nil // its routines know where caches were
	e.ForgetTranslations()
}
