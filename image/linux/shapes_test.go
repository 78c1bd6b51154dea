package linux

import "testing"

// sameTables finds the tables of a kernel by their shape that symbols say the places of.
func sameTables(t *testing.T, file string, k *Kernel) {
	t.Helper()
	s := newSearcher(k.Image)
	for _, x := range shapes {
		want, ok := k.Table(x.name)
		got, found := s.byShape(x.name, want.Entry)
		if ok && (!found || got != want) {
			t.Errorf("%s: table of %s: %x by its shape, %x by symbols", file, x.name, got, want)
		}
	}
}
