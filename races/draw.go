package races

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"kprobesim/cpus"
	"kprobesim/results/timeline"
)

// Shown says what is written of a schedule that is shown.
type Shown struct {
	Lines    int       // the last instructions, 0 for all
	Timeline io.Writer // a timeline for the viewer Perfetto, or nil
}

// bytesAt are bytes of text, of an instruction or of a store into it.
type bytesAt struct {
	addr uint64
	code []byte
}

// shared returns what each of two has at the addresses that both have.
func (b bytesAt) shared(o bytesAt) (own, others []byte) {
	from, to := max(b.addr, o.addr), min(b.addr+uint64(len(b.code)), o.addr+uint64(len(o.code)))
	if from >= to {
		return nil, nil
	}
	return b.code[from-b.addr : to-b.addr], o.code[from-o.addr : to-o.addr]
}

// toldStore is a store into text, and the row that tells of it.
type toldStore struct {
	bytesAt
	cpu, row int
	fetched  uint64 // CPUs that have fetched it, as bits
}

// arrows begins an arrow at each store of another CPU that an instruction has fetched, the first time that its CPU does, and returns
// their numbers. Of several stores of the same bytes it is the last one.
func (x *teller) arrows(s *cpus.Step) (ends []uint64) {
	fetched, cpu := bytesAt{s.PC, s.Code}, uint64(1)<<s.CPU
	var found []bytesAt
	for i := len(x.stored) - 1; i >= 0; i-- {
		st := &x.stored[i]
		own, others := fetched.shared(st.bytesAt)
		again := func(o bytesAt) bool { both, _ := o.shared(st.bytesAt); return both != nil }
		if own == nil || !bytes.Equal(own, others) || slices.ContainsFunc(found, again) {
			continue
		}
		found = append(found, st.bytesAt)
		if st.cpu == s.CPU || st.fetched&cpu != 0 {
			continue
		}
		st.fetched |= cpu
		x.flow++
		x.rows[st.row].flows = append(x.rows[st.row].flows, x.flow)
		ends = append(ends, x.flow)
	}
	return ends
}

// draw writes what was told as a timeline, in which an instruction takes a nanosecond.
func (x *teller) draw(w io.Writer, title string) error {
	x.flush()
	t := timeline.Timeline{Title: title, PerSecond: 1e9}
	for i := range x.t.m.CPUs() {
		t.Track(fmt.Sprintf("CPU %d", i))
	}
	for i := range x.rows {
		r := &x.rows[i]
		m := timeline.Mark{Name: r.text, Category: "step", Flows: r.flows, Ends: r.ends}
		if r.instructions == 0 {
			t.Instant(timeline.TrackID(r.cpu), r.step, m)
			continue
		}
		m.Category = "code"
		t.Begin(timeline.TrackID(r.cpu), r.step, m)
		t.End(timeline.TrackID(r.cpu), r.step+uint64(r.instructions))
	}
	if v := x.wrong(); v != nil {
		t.Instant(timeline.TrackID(max(v.CPU, 0)), v.Step, timeline.Mark{Name: v.String(), Category: "violation"})
	}
	b, err := t.Encode()
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}
