package races

import "kprobesim/kprobes"

// Mutants lists the mistakes that a search can be told to make, each a kernel with one step of a
// protocol left out.
func Mutants() []string { return kprobes.Mutants() }
