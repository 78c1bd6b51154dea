package targets

import (
	"slices"
	"testing"
)

// Every target is an architecture of the documents, and those that are none are not said to be simulated.
func TestArchitectures(t *testing.T) {
	var simulated []string
	for _, a := range Architectures() {
		if len(a.Documents) == 0 {
			t.Errorf("no document lists %s", a.Name)
		}
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
	if !slices.Equal(simulated, names) {
		t.Errorf("simulated are %v, the targets are %v", simulated, names)
	}
}
