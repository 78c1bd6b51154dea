package kprobes

import (
	"slices"
	"strings"
	"testing"
)

// What a kind of probe does not have is refused, and nothing of the refused probe is left.
func TestSpecsAreChecked(t *testing.T) {
	const f = "handler"
	for _, tt := range []struct {
		year uint64
		spec Spec
		want string
	}{
		{2010, Spec{Kind: Kretprobe, Post: f}, "only kprobes have a post or fault handler"},
		{2010, Spec{Kind: Kretprobe, Fault: f}, "only kprobes have a post or fault handler"},
		{2010, Spec{Kind: Jprobe, Handler: f, Post: f}, "only kprobes have a post or fault handler"},
		{2010, Spec{Entry: f}, "has no entry handler"},
		{2010, Spec{Kind: Jprobe, Handler: f, Entry: f}, "has no entry handler"},
		{2005, Spec{Kind: Kretprobe, Entry: f}, "return probes of 2005"},
		{2005, Spec{Kind: Kretprobe, DataSize: 8}, "return probes of 2005"},
		{2010, Spec{Handler: "nobody"}, "no such function"},
		{2010, Spec{Handler: "probe_table"}, "no such function"},
		{2010, Spec{Offset: 1 << 32}, "does not fit into an unsigned int"},
	} {
		y, err := newToy(t, tt.year, Default(), nil)
		if err != nil {
			t.Fatal(err)
		}
		allocated := len(y.used)
		tt.spec.Symbol = "target"
		if _, err := y.k.Add(y, tt.spec); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%d, %+v: error %v, want one with %q", tt.year, tt.spec, err, tt.want)
		}
		y.nothingLeft(allocated)
	}
}

// A length that was never meant is no array of probes.
func TestLengthsOfArrays(t *testing.T) {
	y := toy2010(t)
	p := y.add(Spec{Symbol: "target"})
	array := uint64(toyData + 0x700)
	y.do(y.Store(array, 8, p.Addr))
	for n, want := range map[uint64][]uint64{
		0: nil, 1: {p.Addr}, 1<<32 - 1: nil, 1 << 31: nil, 1<<16 + 1: nil, 1<<32 + 1: {p.Addr}, // an int
	} {
		if got := y.k.pointers(array, n); !slices.Equal(got, want) {
			t.Errorf("%d probes are %d", n, len(got))
		}
	}
}

// Nothing that a hit may execute can be probed, wherever the linker script puts it.
func TestNoProbesOnThePathOfAHit(t *testing.T) { eachKernel(t, holdNoProbesOnThePathOfAHit) }

func holdNoProbesOnThePathOfAHit(t *testing.T, image string) {
	g := newGuest(t, image, Default())
	g.k.sym.text = Span{0, ^uint64(0)}
	s := &g.k.sym
	for _, span := range []Span{s.noProbes, s.slots, s.detours} {
		if span.Start == 0 || g.k.barred(span.Start) == nil || g.k.barred(span.End-1) == nil {
			t.Errorf("%#x to %#x can be probed", span.Start, span.End)
		}
	}
}
