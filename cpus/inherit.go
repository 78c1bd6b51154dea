package cpus

import "maps"

// Inherit returns prices, and for classes that a description does not price the prices that they inherit.
func (isa *ISA) Inherit(prices map[string]Cost) map[string]Cost {
	all := maps.Clone(prices)
	for _, name := range isa.Classes {
		from, ok := name, true
		for ok {
			if k, has := prices[from]; has {
				all[name] = k
				break
			}
			from, ok = isa.Inherited[from]
		}
	}
	return all
}
