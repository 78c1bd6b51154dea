package timeline

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers of Perfetto's messages, from perfetto/trace: trace.proto, trace_packet.proto,
// track_event/track_descriptor.proto, track_event/track_event.proto, debug_annotation.proto and
// interned_data.proto.
const (
	tracePacket = 1

	packetTimestamp     = 8
	packetSequence      = 10
	packetEvent         = 11
	packetInterned      = 12
	packetSequenceFlags = 13
	packetTrack         = 60
	packetFirst         = 87

	trackUUID     = 1
	trackName     = 2
	trackParent   = 5
	trackChildren = 11 // how children are ordered
	trackRank     = 12

	eventCategory = 3
	eventNote     = 4
	eventKind     = 9
	eventName     = 10
	eventTrack    = 11
	eventFlow     = 47
	eventFlowEnd  = 48

	internedCategories = 1
	internedNames      = 2
	internedNoteNames  = 3
	internedID         = 1
	internedText       = 2

	noteName   = 1
	noteNumber = 3
	noteText   = 6
)

// Values of fields.
const (
	sequence          = 1 // all packets are of one writer
	stateCleared      = 1 // interned names begin anew with this packet
	stateNeeded       = 2 // refers to names of packets before
	explicitOrder     = 3 // children by rank
	rootUUID          = 1
	firstTrackUUID    = 2
	packetHeadroom    = 64 // what a packet takes beside its names, roughly
	nothingIsInterned = 0
)

// encoder writes packets and remembers which names were written.
type encoder struct {
	t     *Timeline
	out   []byte
	names [internedNoteNames + 1]map[string]uint64 // by field of the interned data
	fresh []byte                                   // interned data of the packet in the making
}

// Encode returns the timeline in Perfetto's format, which ui.perfetto.dev and its trace processor
// open. Equal timelines give equal bytes. It fails when slices do not nest or a time is too large.
func (t *Timeline) Encode() ([]byte, error) {
	events := t.ordered()
	if err := t.check(events); err != nil {
		return nil, fmt.Errorf("timeline: %w", err)
	}
	e := &encoder{t: t, out: make([]byte, 0, packetHeadroom*(len(events)+1))}
	for i := range e.names {
		e.names[i] = map[string]uint64{}
	}
	e.tracks()
	for i := range events {
		if err := e.event(&events[i]); err != nil {
			return nil, fmt.Errorf("timeline: %w", err)
		}
	}
	return e.out, nil
}

// tracks describes the root, which has the title, and below it the tracks in their order.
func (e *encoder) tracks() {
	d := putNumber(nil, trackUUID, rootUUID)
	d = putText(d, trackName, e.t.Title)
	d = putNumber(d, trackChildren, explicitOrder)
	p := putNumber(nil, packetSequenceFlags, stateCleared)
	p = putNumber(p, packetFirst, 1)
	e.packet(putMessage(p, packetTrack, d))
	for i, tr := range e.t.tracks {
		d := putNumber(nil, trackUUID, firstTrackUUID+uint64(i))
		d = putText(d, trackName, tr.name)
		d = putNumber(d, trackParent, rootUUID)
		d = putNumber(d, trackRank, uint64(i))
		e.packet(putMessage(putNumber(nil, packetSequenceFlags, stateNeeded), packetTrack, d))
	}
}

// packet ends a packet.
func (e *encoder) packet(p []byte) {
	e.out = putMessage(e.out, tracePacket, putNumber(p, packetSequence, sequence))
}

func (e *encoder) event(v *timelineEvent) error {
	at, err := e.t.nanos(v.at)
	if err != nil {
		return err
	}
	e.fresh = e.fresh[:0]
	body := putNumber(nil, eventKind, uint64(v.kind))
	body = putNumber(body, eventTrack, firstTrackUUID+uint64(v.track))
	if v.kind != sliceEnd {
		body = e.Mark(body, &v.Mark)
	}
	p := putNumber(nil, packetTimestamp, at)
	p = putNumber(p, packetSequenceFlags, stateNeeded)
	if len(e.fresh) > 0 {
		p = putMessage(p, packetInterned, e.fresh)
	}
	e.packet(putMessage(p, packetEvent, body))
	return nil
}

func (e *encoder) Mark(b []byte, m *Mark) []byte {
	b = putNumber(b, eventName, e.intern(internedNames, m.Name))
	if m.Category != "" {
		b = putNumber(b, eventCategory, e.intern(internedCategories, m.Category))
	}
	for _, n := range m.Notes {
		d := putNumber(nil, noteName, e.intern(internedNoteNames, n.Key))
		if n.Text != "" {
			d = putText(d, noteText, n.Text)
		} else {
			d = putNumber(d, noteNumber, n.Number)
		}
		b = putMessage(b, eventNote, d)
	}
	b = putFlows(b, eventFlow, m.Flows)
	return putFlows(b, eventFlowEnd, m.Ends)
}

// intern returns the number of a name, and has the packet carry the name when it is new.
func (e *encoder) intern(field protowire.Number, name string) uint64 {
	known := e.names[field]
	if id := known[name]; id != nothingIsInterned {
		return id
	}
	id := uint64(len(known)) + 1
	known[name] = id
	e.fresh = putMessage(e.fresh, field, putText(putNumber(nil, internedID, id), internedText, name))
	return id
}

func putFlows(b []byte, field protowire.Number, ids []uint64) []byte {
	for _, id := range ids {
		b = protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), id)
	}
	return b
}

func putNumber(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func putText(b []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

func putMessage(b []byte, field protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), m)
}
