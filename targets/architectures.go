package targets

import "slices"

// Architecture is one for which the documents of Kprobes say that it has probes.
type Architecture struct {
	Name      string   // as the documents name it
	Documents []string // keys of docs/coverage.md of the documents that list it
	Rule      string   // what they say of it beside its name, in our words; empty if nothing
}

// Architectures returns the architectures of the documents, in their order. Most of them are not simulated.
func Architectures() []Architecture {
	all := []string{"09", "18", "19", "now"}
	later := []string{"18", "19", "now"}
	return []Architecture{
		{"i386", all, "jump optimization from 2.6.34"},
		{"x86_64", all, "jump optimization from 2.6.34"},
		{"ppc64", all, ""},
		{"ia64", []string{"09", "18", "19"}, "no probe on the instruction of slot 1 of a bundle"},
		{"sparc64", all, "no return probes"},
		{"arm", all, ""},
		{"ppc", all, ""},
		{"mips", later, ""},
		{"s390", later, ""},
		{"parisc", []string{"19", "now"}, ""},
		{"loongarch", []string{"now"}, ""},
		{"riscv", []string{"now"}, ""},
	}
}

// Simulated tells whether an architecture of the documents is a target.
func (a Architecture) Simulated() bool {
	return slices.ContainsFunc(List(), func(t Target) bool { return t.Name == a.Name })
}
