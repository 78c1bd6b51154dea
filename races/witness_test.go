package races

import (
	"bytes"
	"slices"
	"testing"

	"kprobesim/cpus"
	"kprobesim/sim"
)

// Places of a toy guest: the function toy with two probes at its start, their handlers, and what
// callers call in the end.
const (
	toyHandler  = toyAt + 0x100
	toyHandler2 = toyAt + 0x110
	toyReturned = toyAt + 0x120
	toyStores   = toyAt + 0x130
	toyResult   = 42
)

// toyWitness is a witness of the toy guest, and what it has found.
type toyWitness struct {
	*witness
	bytes  []byte
	result uint64
	kinds  []Kind
}

func newToyWitness() *toyWitness {
	x := &toyWitness{bytes: slices.Clone(toyCode), result: toyResult}
	x.witness = &witness{
		texts:   []*text{toyText()},
		areas:   []*pieces{{name: "slot"}, {name: "detour"}},
		class:   classes{base: toyAt, of: make([]uint8, 0x200)},
		results: map[uint64]uint64{toyAt: toyResult}, tasks: map[uint64]*actor{}, on: []uint64{1, 2},
		probes: []*probed{
			{name: "p", addr: toyAt, fn: toyAt, handler: toyHandler},
			{name: "q", addr: toyAt, fn: toyAt, handler: toyHandler2},
		},
		read:  func(addr uint64, n int) []byte { return x.bytes[addr-toyAt:][:n] },
		same:  func(addr uint64, want []byte) bool { return bytes.HasPrefix(x.bytes[addr-toyAt:], want) },
		arg:   func(int, int) uint64 { return x.result },
		syncs: func() []uint64 { return []uint64{0, 0} },
		found: func(k Kind, _ int, _ uint64, _ string) { x.kinds = append(x.kinds, k) },
		mark:  func(int, bool) {},
	}
	x.span(textCode, toyAt, toyAt+uint64(len(toyCode)))
	x.span(handlerCode, toyHandler, toyHandler+1)
	x.span(handlerCode, toyHandler2, toyHandler2+1)
	x.span(returnCode, toyReturned, toyReturned+1)
	x.span(storeCode, toyStores, toyStores+1)
	x.span(slotCode, 0x9000, 0xa000)
	x.span(detourCode, 0xa000, 0xb000)
	return x
}

// run lets a CPU execute the instructions at some places.
func (x *toyWitness) run(cpu int, pcs ...uint64) {
	for _, pc := range pcs {
		s := &cpus.Step{CPU: cpu, PC: pc}
		if t := x.textAt(pc); t != nil {
			s.Code = x.bytes[pc-toyAt:][:max(t.length[pc-toyAt], 1)]
		}
		x.Step(s)
	}
}

func TestHandlerCallsAreCounted(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(x *toyWitness)
		want []Kind
	}{
		{"one call each", func(x *toyWitness) {
			x.run(0, toyAt, toyHandler, toyHandler2, toyAt+1, toyReturned)
		}, nil},
		{"lost", func(x *toyWitness) { x.run(0, toyAt, toyHandler, toyReturned) }, []Kind{Lost}},
		{"doubled", func(x *toyWitness) {
			x.run(0, toyAt, toyHandler, toyHandler2, toyHandler, toyReturned)
		}, []Kind{Doubled}},
		{"disabled and called", func(x *toyWitness) {
			x.set(1, off)
			x.run(0, toyAt, toyHandler, toyHandler2, toyReturned)
		}, []Kind{Doubled}},
		{"disabled in the middle", func(x *toyWitness) {
			x.run(0, toyAt, toyHandler)
			x.set(1, maybe)
			x.set(1, off)
			x.run(0, toyReturned)
		}, nil},
		{"disabled and enabled again in the middle", func(x *toyWitness) {
			x.run(0, toyAt, toyHandler)
			x.set(1, off)
			x.set(1, on)
			x.run(0, toyReturned)
		}, nil},
		{"twice while it is disabled", func(x *toyWitness) {
			x.run(0, toyAt, toyHandler, toyHandler2)
			x.set(1, maybe)
			x.run(0, toyHandler2, toyReturned)
		}, []Kind{Doubled}},
		{"tasks that take turns on a CPU", func(x *toyWitness) {
			x.run(0, toyAt, toyHandler)
			x.on[0] = 3
			x.run(0, toyAt, toyHandler, toyHandler2, toyReturned)
			x.on[0] = 1
			x.run(0, toyHandler2, toyReturned)
		}, nil},
		{"a task that moves", func(x *toyWitness) {
			x.run(0, toyAt, toyHandler)
			x.on[0], x.on[1] = 2, 1
			x.run(1, toyHandler2, toyReturned)
		}, nil},
		{"another result", func(x *toyWitness) {
			x.result++
			x.run(0, toyAt, toyHandler, toyHandler2, toyReturned)
		}, []Kind{Result}},
	} {
		x := newToyWitness()
		x.set(0, on)
		x.set(1, on)
		tt.do(x)
		if !slices.Equal(x.kinds, tt.want) {
			t.Errorf("%s: found %q, want %q", tt.name, x.kinds, tt.want)
		}
	}
}

func TestWitnessSeesStoresAndPieces(t *testing.T) {
	x := newToyWitness()
	x.bytes[1] = 0x90
	if _, ok := x.unseen(); !ok {
		t.Error("a store that nobody looked at is not noticed")
	}
	x.run(0, toyStores)
	if _, ok := x.unseen(); ok {
		t.Error("a store that was looked at counts as unseen")
	}
	x.run(1, toyAt)
	x.piece(x.areas[0], sim.Event{Name: "taken", Arg: 0x9010})
	x.run(1, 0x9010, 0x9013)
	if len(x.kinds) != 0 {
		t.Errorf("found %q too early", x.kinds)
	}
	x.piece(x.areas[0], sim.Event{Name: "freed", Arg: 0x9010})
	x.run(1, 0x9013)
	x.run(1, 0xa000)
	x.rest()
	if want := []Kind{Stale, Stale, Stale}; !slices.Equal(x.kinds, want) {
		t.Errorf("found %q, want %q: a freed slot, a buffer that never was, text that is not restored", x.kinds, want)
	}
}
