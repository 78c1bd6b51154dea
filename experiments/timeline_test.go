package experiments

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// told is one event of a decoded timeline.
type told struct {
	nanos      uint64
	track      uint64 // the CPU
	what       uint64 // of the constants below
	name, kind string
	flow, end  []uint64
}

// What events are in the format.
const (
	toldBegin   = 1
	toldEnd     = 2
	toldInstant = 3
)

// fieldsOf calls f for every field of a message.
func fieldsOf(t *testing.T, b []byte, f func(num protowire.Number, v uint64, sub []byte)) {
	t.Helper()
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		size := protowire.ConsumeFieldValue(num, typ, b[n:])
		if size < 0 {
			t.Fatal(protowire.ParseError(size))
		}
		value := b[n : n+size]
		switch typ {
		case protowire.VarintType:
			v, _ := protowire.ConsumeVarint(value)
			f(num, v, nil)
		case protowire.Fixed64Type:
			v, _ := protowire.ConsumeFixed64(value)
			f(num, v, nil)
		case protowire.BytesType:
			sub, _ := protowire.ConsumeBytes(value)
			f(num, 0, sub)
		default:
			t.Fatalf("field %d has the wire type %d", num, typ)
		}
		b = b[n+size:]
	}
}

// decodeTimeline reads the events of a timeline back.
func decodeTimeline(t *testing.T, trace []byte) []told {
	t.Helper()
	var all []told
	names := map[string]string{}
	fieldsOf(t, trace, func(_ protowire.Number, _ uint64, packet []byte) {
		var e told
		var event []byte
		fieldsOf(t, packet, func(num protowire.Number, v uint64, sub []byte) {
			switch num {
			case 8:
				e.nanos = v
			case 11:
				event = sub
			case 12:
				fieldsOf(t, sub, func(list protowire.Number, _ uint64, entry []byte) {
					var id uint64
					var name string
					fieldsOf(t, entry, func(num protowire.Number, v uint64, sub []byte) {
						if num == 1 {
							id = v
						} else {
							name = string(sub)
						}
					})
					names[fmt.Sprint(list, id)] = name
				})
			}
		})
		if event == nil {
			return
		}
		fieldsOf(t, event, func(num protowire.Number, v uint64, _ []byte) {
			switch num {
			case 3:
				e.kind = names[fmt.Sprint(1, v)]
			case 9:
				e.what = v
			case 10:
				e.name = names[fmt.Sprint(2, v)]
			case 11:
				e.track = v - 2 // behind the root, which is 1
			case 47:
				e.flow = append(e.flow, v)
			case 48:
				e.end = append(e.end, v)
			}
		})
		all = append(all, e)
	})
	return all
}

// timelineOf runs a point of an experiment of the program with settings.
func timelineOf(t *testing.T, name, point string, sets ...string) []byte {
	t.Helper()
	p, err := NewLoader().Plan(name, sets)
	if err != nil {
		t.Fatal(err)
	}
	pt, err := p.Point(point)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Timeline(pt, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestTimelineOfOneCPU counts the hits of the main experiment: a slice for every hit of every kind,
// twice as many when a return is caught too.
func TestTimelineOfOneCPU(t *testing.T) {
	for _, c := range []struct {
		point string
		per   int
	}{{"k", 1}, {"b", 1}, {"o", 1}, {"rb", 2}} {
		trace := timelineOf(t, e5410, c.point, "workload.hits=3", "workload.warmup=2")
		if again := timelineOf(t, e5410, c.point, "workload.hits=3", "workload.warmup=2"); !bytes.Equal(trace, again) {
			t.Errorf("%s: another run gives another timeline", c.point)
		}
		hits, at := 0, uint64(0)
		for _, e := range decodeTimeline(t, trace) {
			if e.nanos < at {
				t.Errorf("%s: an event at %d ns follows one at %d", c.point, e.nanos, at)
			}
			at = e.nanos
			if e.what == toldBegin && e.kind == onProbe {
				hits++
				if !strings.HasPrefix(e.name, "hit bench_target+") {
					t.Errorf("%s: a slice is called %q", c.point, e.name)
				}
			}
		}
		const calls = 1 + 2 + 3 // the first, the warm-up, the measured ones
		if want := calls * c.per; hits != want {
			t.Errorf("%s: %d hits are in the timeline, want %d", c.point, hits, want)
		}
	}
}
