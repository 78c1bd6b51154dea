package timeline

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// sample is a timeline with everything in it.
func sampleTimeline() *Timeline {
	t := &Timeline{Title: "two CPUs", PerSecond: 60 * 2_330_000_000}
	a, b := t.Track("CPU 0"), t.Track("CPU 1")
	t.Begin(a, 600, Mark{Name: "bench", Category: "task"})
	t.Begin(b, 0, Mark{Name: "idle", Category: "idle"})
	t.Instant(a, 1200, Mark{
		Name: "patch: breakpoint", Category: "patch", Flows: []uint64{7},
		Notes: []Note{{Key: "address", Number: 0xffffffff80001000}, {Key: "function", Text: "bench_target"}},
	})
	t.Instant(b, 1200, Mark{Name: "sync", Category: "sync", Ends: []uint64{7}})
	t.Begin(a, 1200, Mark{Name: "timer", Category: "irq"})
	if t.Open(a) != 2 || t.Open(b) != 1 {
		panic("slices are open that have ended, or not open that have begun")
	}
	t.End(a, 6000)
	t.End(a, 60*2_330_000_000)
	t.End(b, 60*2_330_000_000+59)
	return t
}

// wire is a decoded message: fields in their order.
type wire []wireField

type wireField struct {
	num   protowire.Number
	value uint64
	bytes []byte
}

func decode(t *testing.T, b []byte) wire {
	t.Helper()
	var w wire
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		b = b[n:]
		f := wireField{num: num}
		switch typ {
		case protowire.VarintType:
			f.value, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			f.value, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(b)
		default:
			t.Fatalf("field %d has wire type %d", num, typ)
		}
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		b = b[n:]
		w = append(w, f)
	}
	return w
}

func (w wire) value(num protowire.Number) uint64 {
	for _, f := range w {
		if f.num == num {
			return f.value
		}
	}
	return 0
}

func (w wire) text(num protowire.Number) string {
	for _, f := range w {
		if f.num == num {
			return string(f.bytes)
		}
	}
	return ""
}

func (w wire) sub(t *testing.T, num protowire.Number) (wire, bool) {
	for _, f := range w {
		if f.num == num {
			return decode(t, f.bytes), true
		}
	}
	return nil, false
}

// retell writes a trace as lines, as a reader of the format understands it.
func retell(t *testing.T, trace []byte) string {
	var out strings.Builder
	names := map[[2]uint64]string{}
	tracks := map[uint64]string{}
	for _, f := range decode(t, trace) {
		p := decode(t, f.bytes)
		require.That(t, f.num == 1 && p.value(10) == 1 && p.value(13) != 0, "packet %v is no packet of the one sequence", p)
		if in, ok := p.sub(t, 12); ok {
			for _, f := range in {
				e := decode(t, f.bytes)
				names[[2]uint64{uint64(f.num), e.value(1)}] = e.text(2)
			}
		}
		if d, ok := p.sub(t, 60); ok {
			tracks[d.value(1)] = d.text(2)
			fmt.Fprintf(&out, "track %d %q parent %d rank %d children %d first %d flags %d\n", d.value(1),
				d.text(2), d.value(5), d.value(12), d.value(11), p.value(87), p.value(13))
		}
		if e, ok := p.sub(t, 11); ok {
			fmt.Fprintf(&out, "%d ns %s: %s", p.value(8), tracks[e.value(11)],
				[]string{"", "begin", "end", "instant"}[e.value(9)])
			if e.value(9) != 2 {
				fmt.Fprintf(&out, " %s [%s]", names[[2]uint64{2, e.value(10)}], names[[2]uint64{1, e.value(3)}])
			}
			for _, f := range e {
				switch f.num {
				case 4:
					n := decode(t, f.bytes)
					fmt.Fprintf(&out, " %s=%#x%s", names[[2]uint64{3, n.value(1)}], n.value(3), n.text(6))
				case 47:
					fmt.Fprintf(&out, " flow %d", f.value)
				case 48:
					fmt.Fprintf(&out, " end of flow %d", f.value)
				}
			}
			out.WriteString("\n")
		}
	}
	return out.String()
}

// TestTimelineIsReadBack decodes a trace with the wire format's own library, by the field numbers of
// the published messages, written here once more.
func TestTimelineIsReadBack(t *testing.T) {
	b := require.Must(sampleTimeline().Encode())(t)
	const want = `track 1 "two CPUs" parent 0 rank 0 children 3 first 1 flags 1
track 2 "CPU 0" parent 1 rank 0 children 0 first 0 flags 2
track 3 "CPU 1" parent 1 rank 1 children 0 first 0 flags 2
0 ns CPU 1: begin idle [idle]
4 ns CPU 0: begin bench [task]
8 ns CPU 0: instant patch: breakpoint [patch] address=0xffffffff80001000 function=0x0bench_target flow 7
8 ns CPU 1: instant sync [sync] end of flow 7
8 ns CPU 0: begin timer [irq]
42 ns CPU 0: end
1000000000 ns CPU 0: end
1000000000 ns CPU 1: end
`
	got := retell(t, b)
	require.That(t, got == want, "the trace says\n%s\nwant\n%s", got, want)
	again, err := sampleTimeline().Encode()
	require.That(t, err == nil && bytes.Equal(b, again), "the same timeline gives other bytes, %v", err)
}

// TestTimelineInProtoc has the compiler of protocol buffers decode a trace.
func TestTimelineInProtoc(t *testing.T) {
	protoc := hosttools.Need(t, "protoc", "protobuf-compiler", "decoding a timeline by another program")
	b := require.Must(sampleTimeline().Encode())(t)
	cmd := exec.Command(protoc, "--decode_raw")
	cmd.Stdin = bytes.NewReader(b)
	out, err := cmd.CombinedOutput()
	require.Need(t, err == nil, "protoc: %v\n%s", err, out)
	for _, want := range []string{`2: "CPU 1"`, `2: "patch: breakpoint"`, "48: 0x0000000000000007", "8: 1000000000"} {
		require.That(t, strings.Contains(string(out), want), "protoc does not see %s in\n%s", want, out)
	}
	n := strings.Count(string(out), "1 {\n")
	require.That(t, n >= 11, "protoc sees %d messages, want at least 11 packets", n)
}

func TestBadTimelines(t *testing.T) {
	for _, c := range []struct {
		name, want string
		make       func(*Timeline, TrackID)
	}{
		{"end first", "had not begun", func(tl *Timeline, id TrackID) { tl.End(id, 3) }},
		{"ends before", "had not begun", func(tl *Timeline, id TrackID) {
			tl.Begin(id, 5, Mark{Name: "x"})
			tl.End(id, 3)
		}},
		{"never ends", "never end", func(tl *Timeline, id TrackID) { tl.Begin(id, 5, Mark{Name: "x"}) }},
		{"no name", "give it a name", func(tl *Timeline, id TrackID) { tl.Instant(id, 5, Mark{}) }},
		{"no text", "give it a name", func(tl *Timeline, id TrackID) { tl.Instant(id, 5, Mark{Name: "\xff"}) }},
		{"too late", "does not fit", func(tl *Timeline, id TrackID) { tl.Instant(id, 1<<63, Mark{Name: "x"}) }},
	} {
		tl := &Timeline{PerSecond: 1000}
		c.make(tl, tl.Track("t"))
		require.Error(t, require.Err(tl.Encode()), c.want, "%s", c.name)
	}
	require.That(t, require.Err((&Timeline{}).Encode()) != nil, "a timeline without a unit of time is encoded")
}

// TestArrowsEnd leaves out arrows that nobody is at the end of.
func TestArrowsEnd(t *testing.T) {
	tl := &Timeline{Title: "t", PerSecond: 1000}
	a := tl.Track("a")
	tl.Instant(a, 1, Mark{Name: "begin", Category: "c", Flows: []uint64{1, 2, 3}})
	tl.Instant(a, 2, Mark{Name: "end", Category: "c", Ends: []uint64{2}})
	got := tl.ordered()[0].Mark.Flows
	require.That(t, len(got) == 1 && got[0] == 2, "flows %v, want 2 alone", got)
	require.That(t, len(tl.events[0].Mark.Flows) == 3, "writing a timeline changed it")
}
