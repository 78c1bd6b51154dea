package workloads

import (
	"debug/elf"
	"testing"
)

// TestSites holds every site to one instruction of five bytes, as a jump takes.
func TestSites(t *testing.T) { eachImage(t, holdSites) }

func holdSites(t *testing.T, _ Image, f *elf.File) {
	syms := symbolsOf(t, f)
	decoded := map[string][]insn{}
	for _, site := range Sites() {
		sym, ok := syms[site.Symbol]
		if !ok {
			t.Fatalf("the image has no function %s", site.Symbol)
		}
		if decoded[site.Symbol] == nil {
			decoded[site.Symbol] = decode(t, f, sym)
		}
		found := false
		for _, in := range decoded[site.Symbol] {
			found = found || uint64(in.at) == site.Offset && in.Len == 5
		}
		if !found {
			t.Errorf("%s+%#x is no instruction of five bytes", site.Symbol, site.Offset)
		}
	}
}
