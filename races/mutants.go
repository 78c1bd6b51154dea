package races

import "kprobesim/kprobes"

// Mistakes in unloading modules. All others are made by Kprobes.
const (
	// MutantModuleEarly frees a module in front of its exit function.
	MutantModuleEarly = "module-freed-early"
	// MutantLeftBehind frees a module that has left a probe behind, whose handler is the module's.
	MutantLeftBehind = "module-left-behind"
)

// Mutants lists the mistakes that a search can be told to make, each a kernel with one step of a
// protocol left out.
func Mutants() []string {
	return append(kprobes.Mutants(), MutantModuleEarly, MutantLeftBehind)
}
