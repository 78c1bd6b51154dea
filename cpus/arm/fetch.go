package arm

// Coherence of instruction fetch (ARM ARM, A3.9.3, B2.2.5). Where the machine description says so, the caches of
// instructions do not see stores: software cleans the data cache, invalidates that of instructions and
// synchronizes.

// invalidateFetch is ICIALLU, invalidateFetchEverywhere ICIALLUIS.
func (c *CPU) invalidateFetch(uint32)           { c.InvalidateAllFetch(false) }
func (c *CPU) invalidateFetchEverywhere(uint32) { c.InvalidateAllFetch(true) }

// invalidateFetchLine is ICIMVAU. It reaches every CPU, as an operation by address does among CPUs that share
// their memory (ARM ARM, B2.2.6).
func (c *CPU) invalidateFetchLine(va uint32) {
	if pa, ok := c.DataAddress(uint64(va), false); ok {
		c.InvalidateFetch(pa)
	}
}

// cleanData is DCCMVAU and its like, to whatever point: memory is where all observers meet here.
func (c *CPU) cleanData(va uint32) {
	if pa, ok := c.DataAddress(uint64(va), false); ok {
		c.CleanData(pa)
	}
}

// cleanSets is DCCSW and DCCISW, which software repeats for all sets and ways: the first cleans everything.
func (c *CPU) cleanSets(uint32) { c.CleanAllData() }

// sync ends what was fetched before.
func (c *CPU) sync() {
	c.Counts.ContextSyncs++
	c.SyncContext()
	c.OrderByControl()
}
