package timeline

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// Timeline is a history on several tracks: slices, which nest, instants, and flows that
// tie some of them together. Encode writes it for the Perfetto viewer. Times are whole numbers of a
// unit that the maker chooses, so that their order is exact; only what is written is rounded, down
// to nanoseconds.
type Timeline struct {
	Title     string // heading of all tracks
	PerSecond uint64 // units of time in a second
	tracks    []track
	events    []timelineEvent
}

// TrackID names a track of a timeline.
type TrackID int

// track is one line of the picture.
type track struct {
	name string
	open int // slices that have begun and not ended
}

// Mark is the text of a slice or an instant. A flow is a number: an arrow leads from each event that
// lists it in Flows to the next one, up to the one that has it in Ends.
type Mark struct {
	Name, Category string
	Notes          []Note
	Flows, Ends    []uint64
}

// Note is a detail of a mark: a text, or a number when the text is empty.
type Note struct {
	Key    string
	Text   string
	Number uint64
}

// eventType has the numbers of the format.
type eventType uint64

const (
	sliceBegin eventType = 1
	sliceEnd   eventType = 2
	instant    eventType = 3
)

type timelineEvent struct {
	kind  eventType
	track TrackID
	at    uint64
	Mark  Mark
}

// Track adds a track below those that are there.
func (t *Timeline) Track(name string) TrackID {
	t.tracks = append(t.tracks, track{name: name})
	return TrackID(len(t.tracks) - 1)
}

// Begin opens a slice; it ends after all that begin inside it.
func (t *Timeline) Begin(id TrackID, at uint64, m Mark) {
	t.add(timelineEvent{sliceBegin, id, at, m})
	t.tracks[id].open++
}

// End closes the innermost slice of a track.
func (t *Timeline) End(id TrackID, at uint64) {
	t.add(timelineEvent{sliceEnd, id, at, Mark{}})
	t.tracks[id].open--
}

// Instant adds what has no length.
func (t *Timeline) Instant(id TrackID, at uint64, m Mark) {
	t.add(timelineEvent{instant, id, at, m})
}

// Open is the number of slices of a track that have begun and not ended.
func (t *Timeline) Open(id TrackID) int { return t.tracks[id].open }

// Len is the number of events.
func (t *Timeline) Len() int { return len(t.events) }

func (t *Timeline) add(e timelineEvent) { t.events = append(t.events, e) }

// ordered returns the events by time, and events of one time as they were added. Flows that end nowhere are left out.
func (t *Timeline) ordered() []timelineEvent {
	events := slices.Clone(t.events)
	ends := map[uint64]bool{}
	for _, e := range events {
		for _, id := range e.Mark.Ends {
			ends[id] = true
		}
	}
	for i := range events {
		flows := &events[i].Mark.Flows
		*flows = slices.DeleteFunc(slices.Clone(*flows), func(id uint64) bool { return !ends[id] })
	}
	slices.SortStableFunc(events, func(a, b timelineEvent) int { return cmp.Compare(a.at, b.at) })
	return events
}

// check finds what a viewer would show wrongly: slices that end before they begin or never do, and
// marks without a name.
func (t *Timeline) check(events []timelineEvent) error {
	if t.PerSecond == 0 {
		return errors.New("the unit of time is not given")
	}
	open := make([]int, len(t.tracks))
	for i, e := range events {
		switch e.kind {
		case sliceBegin:
			open[e.track]++
		case sliceEnd:
			open[e.track]--
		}
		if open[e.track] < 0 {
			return fmt.Errorf("event %d, at %d, ends a slice of track %q that had not begun", i, e.at,
				t.tracks[e.track].name)
		}
		if e.kind != sliceEnd && (e.Mark.Name == "" || !utf8.ValidString(e.Mark.Name)) {
			return fmt.Errorf("event %d, at %d of track %q, is called %q: give it a name in UTF-8", i,
				e.at, t.tracks[e.track].name, e.Mark.Name)
		}
	}
	for i, n := range open {
		if n > 0 {
			return fmt.Errorf("%d slices of track %q never end", n, t.tracks[i].name)
		}
	}
	return nil
}

// nanos turns a time into whole nanoseconds, rounded down.
func (t *Timeline) nanos(at uint64) (uint64, error) {
	hi, lo := bits.Mul64(at, 1_000_000_000)
	if hi >= t.PerSecond {
		return 0, fmt.Errorf("time %d of %d a second does not fit 64 bits of nanoseconds", at, t.PerSecond)
	}
	q, _ := bits.Div64(hi, lo, t.PerSecond)
	return q, nil
}
