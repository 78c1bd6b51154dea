package arm

// Coherence of instruction fetch (ARM ARM, A3.9.3, B2.2.5). The caches of instructions do not see stores:
// software cleans the data cache, invalidates that of instructions and synchronizes. Here a store is seen at
// once; these functions are where a model of older copies is told that they end.

// invalidateFetch is ICIALLU, invalidateFetchEverywhere ICIALLUIS.
func (c *CPU) invalidateFetch(uint32) {}

func (c *CPU) invalidateFetchEverywhere(v uint32) {
	for _, other := range c.machine.cpus {
		other.invalidateFetch(v)
	}
}

// invalidateFetchLine is ICIMVAU and reaches every CPU, as an operation by address to the point of
// unification does among those that share their memory (ARM ARM, B2.2.6). Its address is translated.
func (c *CPU) invalidateFetchLine(va uint32) { c.DataAddress(uint64(va), false) }

// cleanData is DCCMVAU and its like: the address is translated, and there is nothing to write back.
func (c *CPU) cleanData(va uint32) { c.DataAddress(uint64(va), false) }
