package kprobes

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/sim"
)

// summed is the number of operations of whose outcomes TestRandomOperations compares a sum.
const summed = 150

// TestRandomOperations registers, removes, switches and calls at random, in every era: results never change, hits are counted, and in
// the end the text is as it was. A sum of what all probes were on the way shows a rule that decides another way than before.
func TestRandomOperations(t *testing.T) {
	seeds, operations := uint64(1), summed
	if hosttools.Whole(t, "random operations from five seeds on every kernel", "one seed, and fewer operations") {
		seeds, operations = 5, 400
	}
	var sums strings.Builder
	for i, image := range images() {
		for seed := range seeds {
			var s *storm
			o := Default()
			o.Batch = 1 + i%4
			if all := protocols(image); i%2 == 0 && hasJumps(image) { // some of those that are not used unasked
				o.Patching = all[i/2%len(all)]
			}
			bootImage(t, image, o, func(l *live) {
				s = newStorm(l, seed*64+uint64(i))
				s.run(operations)
			})
			if seed == 0 {
				fmt.Fprintf(&sums, "%s: %.6x\n", image, s.sum.Sum(nil))
			}
		}
	}
	require.Lines(t, "testdata/storms.txt", sums.String(), *update)
}

// storm is a random sequence of operations on a few functions.
type storm struct {
	l      *live
	rng    *rand.Rand
	fns    []string
	want   map[string]uint64
	text   map[string]string
	probes []*Probe
	sum    hash.Hash
	wrote  *uint64
}

// written returns a sum of where functions in Go write in guest memory from now on.
func written(m *sim.Machine) *uint64 {
	sum := new(uint64)
	m.WatchGo(func(_ int, va uint64, n int, write bool) {
		if write {
			*sum = (*sum ^ va<<8 ^ uint64(n)) * 1099511628211 // as FNV-1a does by bytes
		}
	})
	return sum
}

func newStorm(l *live, seed uint64) *storm {
	s := &storm{
		l: l, rng: rand.New(rand.NewPCG(seed, 5)),
		fns:  []string{"bench_target", "work_frame", "work_divide", "work_recursive", "work_checksum"},
		want: map[string]uint64{}, text: map[string]string{}, sum: sha256.New(),
	}
	for _, f := range s.fns {
		s.want[f] = l.call(f, 5, 77)
		s.text[f] = s.bytes(f)
	}
	s.wrote = written(l.m)
	return s
}

func (s *storm) bytes(fn string) string {
	f := s.l.function(fn)
	b, err := s.l.m.ReadBytes(f.Entry, int(f.Size))
	s.l.do(err)
	return hex(b)
}

func (s *storm) run(n int) {
	for i := range n {
		s.step()
		if i < summed {
			s.note()
		}
		for _, f := range s.fns {
			if got := s.l.call(f, 5, 77); got != s.want[f] {
				s.l.t.Errorf("%s returns %#x, was %#x", f, got, s.want[f])
				return
			}
		}
	}
	for len(s.probes) > 0 {
		s.remove()
	}
	s.l.do(s.l.k.WaitOptimizer(s.l.Call))
	for _, f := range s.fns {
		got := s.bytes(f)
		require.That(s.l.t, got == s.text[f], "%s reads %s in the end, was %s", f, got, s.text[f])
	}
	k := s.l.k
	require.That(s.l.t, len(k.sites) == s.l.own && !k.stray(), "without probes there are sites, slots or detour buffers left")
}

// note writes what the probes are, and what they take.
func (s *storm) note() {
	k := s.l.k
	fmt.Fprintln(s.sum, len(k.sites), k.slots.taken(), k.detours.taken(), len(k.freeing), k.Busy(), s.l.percpu("handler_hits"), *s.wrote)
	for _, p := range s.probes {
		st := s.l.state(p)
		why := st.Refusal
		st.Refusal = nil
		fmt.Fprintln(s.sum, st, k.flags(p.Addr))
		if why != nil {
			fmt.Fprintln(s.sum, why.Rule)
		}
	}
}

func (s *storm) step() {
	l, operations := s.l, 12
	if !l.k.era.disabled {
		operations = 7 // the others came later
	}
	switch s.rng.IntN(operations) {
	case 0, 1, 2, 3:
		s.register()
	case 4, 5, 6:
		s.remove()
	case 7:
		s.toggle(l.k.Enable)
	case 8:
		s.toggle(l.k.Disable)
	case 9:
		l.do(l.k.SetOptimization(l.Call, s.rng.IntN(3) > 0))
	case 10:
		l.do(l.k.armAll(l.Call, s.rng.IntN(3) > 0))
	case 11:
		l.do(l.k.WaitOptimizer(l.Call))
	}
}

func (s *storm) register() {
	fn := s.fns[s.rng.IntN(len(s.fns))]
	offs := s.l.offsets(fn)
	spec := Spec{Symbol: fn, Handler: "handler_count"}
	spec.Disabled = s.rng.IntN(4) == 0 && s.l.k.era.disabled
	switch s.rng.IntN(5) {
	case 4:
		spec.Kind, spec.Handler = Jprobe, "jprobe_arguments"
	case 0:
		spec.Kind, spec.Handler, spec.MaxActive = Kretprobe, "ret_count", 20
	case 1:
		spec.Post = "post_empty"
		fallthrough
	default:
		spec.Offset = offs[s.rng.IntN(min(len(offs), 6))]
	}
	p, err := s.l.k.Add(s.l.Call, spec)
	if errors.Is(err, ENOMEM) || spec.Kind == Jprobe && errors.Is(err, EEXIST) {
		return
	}
	s.l.do(err)
	if err == nil {
		s.probes = append(s.probes, p)
	}
}

func (s *storm) remove() {
	if len(s.probes) == 0 {
		return
	}
	i := s.rng.IntN(len(s.probes))
	s.l.do(s.l.k.Remove(s.l.Call, s.probes[i]))
	s.probes = slices.Delete(s.probes, i, i+1)
}

func (s *storm) toggle(f func(Caller, *Probe) error) {
	if len(s.probes) > 0 {
		s.l.do(f(s.l.Call, s.probes[s.rng.IntN(len(s.probes))]))
	}
}

// hasJumps tells whether kernels of an image's year have the optimizer.
func hasJumps(image string) bool {
	im, err := openImage(image)
	if err != nil {
		panic(err)
	}
	return slices.ContainsFunc(ArchOf(im).Eras, func(e Era) bool { return e.Year == has(image).year && e.Optimize })
}
