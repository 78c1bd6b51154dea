package planning

import "testing"

// TestSortOf tells files apart, also a machine that only changes what another one says of itself.
func TestSortOf(t *testing.T) {
	for text, want := range map[string]Sort{
		"base = \"xeon-e5410\"\n[linux]\n":               SortMachine,
		"base = \"./other.toml\"\n[clock]\n":             SortMachine,
		"[sources]\nx = \"y\"\n":                         SortMachine,
		"base = \"./other.toml\"\n[cpuid.0x1]\n":         SortMachine,
		"base = \"linux-probes\"\nmachine = \"other\"\n": SortExperiment,
		"script = []\n":                                  SortScenario,
	} {
		if got := SortOf("f.toml", []byte(text)); got != want {
			t.Errorf("%q is a %s, want a %s", text, got, want)
		}
	}
}
