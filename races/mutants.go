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
	all := slices.Concat(kprobes.Mutants(), smp.Mutants(), []string{MutantModuleEarly, MutantLeftBehind})
	for _, m := range guestMutants() {
		all = append(all, m.name)
	}
	return all
}

// guestMutant is a mistake in one function of the guest. Its code is changed before the machine runs, so that no image has it.
type guestMutant struct {
	name, function string
	insn           string // pattern of the one instruction that is changed, as the instruction set prints it
	change         func(code []byte) []byte
}

// guestMutants are mistakes in the code of guests whose stores wait. They are none where each store is seen at once.
func guestMutants() []guestMutant {
	return []guestMutant{
		{"idle-unfenced", "cpu_idle", `^mfence|^lock `, nops},         // a CPU may halt without having seen who waits for it
		{"answer-unlocked", "smp_answer_call", `^lock dec`, unlocked}, // of two answers to a call, one may be lost
	}
}

// nops leave an instruction out.
func nops(code []byte) []byte { return slices.Repeat([]byte{0x90}, len(code)) }

// unlocked takes the prefix from an instruction.
func unlocked(code []byte) []byte { return append([]byte{0x90}, code[1:]...) }

// spoil makes the mistake of a mutant in the guest's code.
func (t *trial) spoil() error {
	i := slices.IndexFunc(guestMutants(), func(m guestMutant) bool { return m.name == t.l.mutant })
	if i < 0 {
		return nil
	}
	m := guestMutants()[i]
	if !t.l.isa.StoresWait {
		return fmt.Errorf("mutant %s is no mistake on %s, whose stores do not wait here", m.name, t.l.isa.Name)
	}
	f, err := t.l.function(m.function)
	if err != nil {
		return err
	}
	code, err := t.m.ReadBytes(f[0], int(f[1]-f[0]))
	if err != nil {
		return err
	}
	pattern, at := regexp.MustCompile(m.insn), -1
	for i := 0; i < len(code); {
		text, n := t.l.isa.Disasm(code[i:], f[0]+uint64(i), t.l.im.SymbolOff)
		if pattern.MatchString(text) {
			if at >= 0 {
				return fmt.Errorf("mutant %s: several instructions of %s in %s are like %s", m.name, m.function, t.l.im.Name, m.insn)
			}
			at = i
			code = slices.Concat(code[:i], m.change(code[i:i+n]), code[i+n:])
		}
		i += max(n, 1)
	}
	if at < 0 {
		return fmt.Errorf("mutant %s: no instruction of %s in %s is like %s", m.name, m.function, t.l.im.Name, m.insn)
	}
	return t.m.WriteBytes(f[0], code)
}
