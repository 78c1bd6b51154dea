package targets

import (
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// Every target is an architecture of the documents, and those that are none are not said to be simulated.
func TestArchitectures(t *testing.T) {
	var simulated []string
	for _, a := range Architectures() {
		require.That(t, len(a.Documents) != 0, "no document lists %s", a.Name)
		if a.Simulated() {
			simulated = append(simulated, a.Name)
		}
	}
	var names []string
	for _, target := range List() {
		names = append(names, target.Name)
	}
	slices.Sort(simulated)
	slices.Sort(names)
	require.That(t, slices.Equal(simulated, names), "simulated are %v, the targets are %v", simulated, names)
}

// Each document lists these.
func TestArchitecturesOfDocuments(t *testing.T) {
	for document, want := range map[string]string{
		"09":  "i386 x86_64 ppc64 ia64 sparc64 arm ppc",
		"18":  "i386 x86_64 ppc64 ia64 sparc64 arm ppc mips s390",
		"19":  "i386 x86_64 ppc64 ia64 sparc64 arm ppc mips s390 parisc",
		"now": "i386 x86_64 ppc64 sparc64 arm ppc mips s390 parisc loongarch riscv",
	} {
		var names []string
		for _, a := range Architectures() {
			if slices.Contains(a.Documents, document) {
				names = append(names, a.Name)
			}
		}
		require.Equal(t, strings.Join(names, " "), want, "%s", document)
	}
}
