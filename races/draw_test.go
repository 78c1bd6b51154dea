package races

import (
	"bytes"
	"io"
	"slices"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
)

// TestArrows has CPUs fetch what others have stored: the first time, the last of several stores, and only what they have stored.
func TestArrows(t *testing.T) {
	x := teller{rows: make([]row, 3), stored: []toldStore{
		{bytesAt{0x100, []byte{1, 2}}, 0, 0, 0}, {bytesAt{0x101, []byte{9}}, 1, 1, 0}, {bytesAt{0x101, []byte{2}}, 0, 2, 0},
	}}
	for _, tt := range []struct {
		cpu  int
		pc   uint64
		code []byte
		want []uint64
	}{
		{1, 0x101, []byte{2}, []uint64{1}},       // of the last store
		{1, 0x101, []byte{2}, nil},               // it has that
		{0, 0x101, []byte{2}, nil},               // its own
		{2, 0xff, []byte{0, 1}, []uint64{2}},     // a part of the first store
		{2, 0x101, []byte{9, 5, 5}, []uint64{3}}, // of CPU 1, which was stored over
		{2, 0x101, []byte{7}, nil},               // of nobody
		{2, 0x102, []byte{2}, nil},               // somewhere else
	} {
		got := x.arrows(&cpus.Step{CPU: tt.cpu, PC: tt.pc, Code: tt.code})
		require.That(t, slices.Equal(got, tt.want), "%+v ends %d", tt, got)
	}
	require.That(t, slices.Equal(x.rows[2].flows, []uint64{1}) && slices.Equal(x.rows[0].flows, []uint64{2}) && slices.Equal(x.rows[1].flows, []uint64{3}), "arrows begin at %+v", x.rows)
}

// TestWhatDecides gives the rows weight that are about the slot of a violation, and not those about the one behind it.
func TestWhatDecides(t *testing.T) {
	g := newToyGuest()
	g.pools[0].slots = []slot{{start: 0x9000}, {start: 0x9001}}
	x := teller{t: &trial{checker: g.checker}, rows: []row{
		{weight: helping, addr: [2]uint64{0x9000, 0x9001}},
		{weight: helping, addr: [2]uint64{0x8fff, 0x9000}},
		{weight: helping, addr: [2]uint64{0x9001, 0x9002}},
		{weight: passing, addr: [2]uint64{0x9000, 0x9001}},
	}}
	x.weigh(&Violation{PC: 0x9000})
	for i, want := range []int{deciding, helping, helping, passing} {
		require.Equal(t, x.rows[i].weight, want, "the weight of row %d", i)
	}
}

// TestTimelineOfASchedule wants each arrow of a schedule to lead from a store to another CPU, and not back in time.
func TestTimelineOfASchedule(t *testing.T) {
	s := require.Must(Load("optimize"))(t)
	v := require.Must(s.Variant("breakpoint"))(t)
	opt := Default()
	opt.Mutant = "bp-skip-sync-2"
	r := &recorder{l: require.Must(newLab(s, v, opt.Mutant))(t), n: 3}
	r.l.watch = r.attach
	o := require.Must(r.run(&opt))(t)
	var drawn bytes.Buffer
	require.NoError(t, r.show(io.Discard, Shown{Timeline: &drawn}, o))
	require.That(t, bytes.Contains(drawn.Bytes(), []byte(o.Violation.String())), "the timeline of %d bytes does not say what was found", drawn.Len())
	from, arrived := map[uint64]*row{}, 0
	for i := range r.tell.rows {
		x := &r.tell.rows[i]
		for _, id := range x.flows {
			from[id] = x
		}
		for _, id := range x.ends {
			b := from[id]
			require.Need(t, b != nil && b.cpu != x.cpu && b.step <= x.step+uint64(x.instructions), "arrow %d of %+v has begun at %+v", id, x, b)
			arrived++
		}
	}
	require.That(t, arrived > 0 && arrived == len(from), "%d arrows have begun and %d arrived", len(from), arrived)
}
