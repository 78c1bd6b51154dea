package races

import (
	"fmt"
	"regexp"
	"slices"

	"kprobesim/kprobes"
	"kprobesim/smp"
)

// Mistakes in unloading modules. Others are made by Kprobes, by the services of the kernel, or in the guest's code.
const (
	// MutantModuleEarly frees a module in front of its exit function.
	MutantModuleEarly = "module-freed-early"
	// MutantLeftBehind frees a module that has left a probe behind, whose handler is the module's.
	MutantLeftBehind = "module-left-behind"
)

// Mutants lists the mistakes that a search can be told to make, each a kernel with one step of a
// protocol left out.
func Mutants() []string {
	return slices.Concat(kprobes.Mutants(), smp.Mutants(), []string{MutantModuleEarly, MutantLeftBehind}, codeMutants())
}

// codeMutants lists the mistakes in the guest's code, of all architectures.
func codeMutants() (names []string) {
	for _, t := range known() {
		for _, m := range t.Probes.CodeMutants {
			if !slices.Contains(names, m.Name) {
				names = append(names, m.Name)
			}
		}
	}
	return names
}

// spoil makes the mistake of a mutant in the guest's code.
func (t *trial) spoil() error {
	all := t.l.target.Probes.CodeMutants
	i := slices.IndexFunc(all, func(m kprobes.CodeMutant) bool { return m.Name == t.l.mutant })
	switch {
	case t.l.mutant == "":
		return nil
	case i < 0 && slices.Contains(codeMutants(), t.l.mutant):
		return fmt.Errorf("mutant %s is a mistake in code that %s has not", t.l.mutant, t.l.im.Name)
	case i < 0:
		return nil
	}
	m := all[i]
	f, err := t.l.function(m.Function)
	if err != nil {
		return err
	}
	code, err := t.m.ReadBytes(f[0], int(f[1]-f[0]))
	if err != nil {
		return err
	}
	pattern, found := regexp.MustCompile(m.Insn), false
	for i := 0; i < len(code); {
		text, n := t.l.isa.Disasm(code[i:], f[0]+uint64(i), t.l.im.SymbolOff)
		if pattern.MatchString(text) {
			found = true
			code = slices.Concat(code[:i], m.Change(code[i:i+n]), code[i+n:])
		}
		i += n
	}
	if !found {
		return fmt.Errorf("mutant %s: no instruction of %s in %s is like %s", m.Name, m.Function, t.l.im.Name, m.Insn)
	}
	return t.m.WriteBytes(f[0], code)
}
