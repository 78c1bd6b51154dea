package timelines

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/schema"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
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
	pt := exptest.PointOf(t, name, point, sets...)
	var b bytes.Buffer
	require.NoError(t, Write(pt, &b))
	return b.Bytes()
}

// TestTimelineOfOneCPU counts the hits of the main experiment: a slice for every hit of every kind,
// twice as many when a return is caught too.
func TestTimelineOfOneCPU(t *testing.T) {
	for _, c := range []struct {
		point string
		per   int
	}{{"k", 1}, {"b", 1}, {"o", 1}, {"rb", 2}} {
		trace := timelineOf(t, exptest.E5410, c.point, "workload.hits=3", "workload.warmup=2")
		again := timelineOf(t, exptest.E5410, c.point, "workload.hits=3", "workload.warmup=2")
		require.That(t, bytes.Equal(trace, again), "%s: another run gives another timeline", c.point)
		hits, at := 0, uint64(0)
		for _, e := range decodeTimeline(t, trace) {
			require.That(t, e.nanos >= at, "%s: an event at %d ns follows one at %d", c.point, e.nanos, at)
			at = e.nanos
			if e.what == toldBegin && e.kind == onProbe {
				hits++
				require.That(t, strings.HasPrefix(e.name, "hit bench_target+"), "%s: a slice is called %q", c.point, e.name)
			}
		}
		const calls = 1 + 2 + 3 // the first, the warm-up, the measured ones
		want := calls * c.per
		require.That(t, hits == want, "%s: %d hits are in the timeline, want %d", c.point, hits, want)
	}
}

// TestTimelineOfOptimization follows one optimization on four busy CPUs: delay, grace period, and the
// change of text by either protocol, in the order that the kernel specifies.
func TestTimelineOfOptimization(t *testing.T) {
	exptest.Alone(t)
	behind := []string{
		"registered", "patch: breakpoint", "optimizing", "grace period begins (sched)", "quiescent (sched)", "grace period ends (sched)",
		"patch: breakpoint", "sync", "patch: tail", "sync", "patch: first", "sync", "optimized",
	}
	type way struct {
		patching string
		steps    int // of the change of text
		want     []string
	}
	for _, c := range hosttools.Share(t, "ways to change text", 2, []way{
		{"stop_machine", 1, []string{
			"registered", "patch: breakpoint", "optimizing", "grace period begins (sched)", "quiescent (sched)", "grace period ends (sched)",
			"stop: prepare", "stop: disable-irq", "stop: run", "patch: whole", "stop: exit", "sync", "optimized",
		}},
		{"breakpoint", 3, behind},
		{"breakpoint-batch", 3, behind},
	}) {
		sets := []string{"kernel.cpus=4", "kernel.hz=1000", "workload.load=busy", "kernel.patching=" + c.patching}
		events := decodeTimeline(t, timelineOf(t, schema.KindLatency, "o", sets...))
		got := protocolSteps(events)
		require.That(t, slices.Equal(got, c.want), "%s: the steps are\n%q\nwant\n%q", c.patching, got, c.want)
		checkGrace(t, c.patching, events)
		checkTracks(t, c.patching, events)
		checkSyncs(t, events, c.steps)
	}
}

// TestTimelineOfUserMode: CPUs busy in user mode pass their quiescent states in ticks, in a task of theirs,
// and end by a system call.
func TestTimelineOfUserMode(t *testing.T) {
	exptest.Alone(t)
	images := [][]string{nil, {"machine=xeon-e5410-i386", "kernel.isa=i386", "kernel.image=i386-2010"}}
	for _, image := range hosttools.Share(t, "instruction sets", 2, images) {
		sets := append([]string{"kernel.cpus=4", "kernel.hz=1000", "workload.load=user"}, image...)
		events := decodeTimeline(t, timelineOf(t, schema.KindLatency, "o", sets...))
		checkGrace(t, "user mode", events)
		open, user, calls := map[uint64][]told{}, map[uint64]bool{}, map[uint64]int{}
		for _, e := range events {
			stack := open[e.track]
			switch {
			case e.what == toldEnd:
				open[e.track] = stack[:len(stack)-1]
				continue
			case e.what == toldBegin:
				open[e.track] = append(stack, e)
			}
			switch {
			case e.kind == onUser:
				want := fmt.Sprintf("user/%d", e.track)
				require.That(t, e.name == want, "a user task on cpu %d is called %s", e.track, e.name)
				user[e.track] = true
			case e.name == "system call":
				require.That(t, len(stack) == 1 && stack[0].kind == onUser, "cpu %d: a system call in %+v", e.track, stack)
				calls[e.track]++
			case e.name == "quiescent (sched)" && e.track > 0 && user[e.track]:
				require.That(t, len(stack) == 2 && stack[0].kind == onUser && stack[1].kind == onIRQ, "cpu %d: quiescent in %+v", e.track, stack)
			}
		}
		for cpu := range uint64(4) {
			require.That(t, user[cpu] && calls[cpu] == 1, "cpu %d: a user task %v, which made %d system calls; want 1", cpu, user[cpu], calls[cpu])
		}
	}
}

// protocolSteps lists the steps of protocols in a timeline, what is repeated but once.
func protocolSteps(events []told) []string {
	var steps []string
	for _, e := range events {
		switch {
		case e.what != toldInstant || e.kind == onIPI:
		case len(steps) == 0 && e.name != "registered": // what came before
		case len(steps) == 0 || steps[len(steps)-1] != e.name:
			steps = append(steps, e.name)
		}
	}
	return steps
}

// checkGrace: five jiffies of a millisecond lie before the grace period, and every CPU but the idle ones
// passes a quiescent state in it.
func checkGrace(t *testing.T, name string, events []told) {
	t.Helper()
	var registered, begun uint64
	seen := map[uint64]bool{}
	for _, e := range events {
		switch e.name {
		case "optimizing":
			registered = e.nanos
		case "grace period begins (sched)":
			begun = e.nanos
		case "quiescent (sched)":
			seen[e.track] = true
		}
	}
	d := begun - registered
	require.That(t, d >= 4_000_000 && d <= 5_100_000, "%s: the grace period begins %d ns after the wish to optimize, want nearly 5 jiffies", name, d)
	require.That(t, len(seen) == 4, "%s: CPUs %v passed a quiescent state, want all four", name, seen)
}

// checkTracks: each CPU has its busy task, the interrupts of its timer, and with stop_machine its stopper.
func checkTracks(t *testing.T, name string, events []told) {
	t.Helper()
	for cpu := range uint64(4) {
		kinds := map[string]int{}
		for _, e := range events {
			if e.track == cpu && e.what == toldBegin {
				kinds[e.kind]++
			}
		}
		require.That(t, kinds[onTask] != 0 && kinds[onIRQ] != 0 && (name != "stop_machine" || kinds[onStopper] != 0), "%s: cpu %d has the slices %v", name, cpu, kinds)
	}
}

// checkSyncs: behind every step of the patch each CPU synchronizes before the next one, and an arrow
// leads from the step to it.
func checkSyncs(t *testing.T, events []told, want int) {
	t.Helper()
	var flows []uint64
	steps := 0
	wished, live := false, false // the optimizer's patch; the one before it armed the breakpoint
	for _, e := range events {
		switch {
		case e.name == "optimizing":
			wished = true
		case e.name == "grace period ends (sched)":
			live = wished
		case !live:
		case e.kind == onPatch:
			require.That(t, len(flows) == 0, "step %s while %d CPUs have not synchronized for the one before", e.name, len(flows))
			flows = slices.Clone(e.flow)
			if steps++; len(flows) != 4 {
				t.Errorf("step %s has arrows to %d CPUs, want 4", e.name, len(flows))
			}
		case e.kind == onSync:
			i := slices.Index(flows, append(e.end, 0)[0])
			require.Need(t, i >= 0, "cpu %d synchronizes at the end of arrows %v, open are %v", e.track, e.end, flows)
			flows = slices.Delete(flows, i, i+1)
		}
	}
	require.That(t, steps == want && len(flows) == 0, "%d steps, want %d, and %d arrows end nowhere", steps, want, len(flows))
}

// TestTimelineOfABatch counts the synchronizations while three probes become optimized: one batch,
// which stop_machine and breakpoints written together need once, breakpoints alone for each.
func TestTimelineOfABatch(t *testing.T) {
	exptest.Alone(t)
	ways := map[string]struct{ steps, rounds int }{"stop_machine": {3, 1}, "breakpoint": {9, 9}, "breakpoint-batch": {9, 3}}
	for _, patching := range hosttools.Share(t, "ways to change text", 2, slices.Sorted(maps.Keys(ways))) {
		want := ways[patching]
		events := decodeTimeline(t, timelineOf(t, schema.KindBystander, "o", "kernel.cpus=4", "workload.batch=3",
			"kernel.patching="+patching))
		wished, steps, arrows, syncs := 0, 0, 0, map[uint64]int{}
		for _, e := range events {
			switch {
			case e.name == "optimizing":
				wished++
			case e.name == "optimized":
				wished = 0 // the other two follow without anything between
			case wished < 3:
			case e.kind == onPatch:
				steps++
				arrows += len(e.flow)
			case e.kind == onSync:
				syncs[e.track]++
				arrows -= len(e.end)
			}
		}
		for cpu := range uint64(4) {
			require.That(t, syncs[cpu] == want.rounds, "%s: cpu %d synchronizes %d times, want %d", patching, cpu, syncs[cpu], want.rounds)
		}
		require.That(t, steps == want.steps && arrows == 0, "%s: %d steps, want %d, and %d more arrows begin than end", patching, steps, want.steps, arrows)
	}
}

// TestTimelineOfWatchpoints has a slice for every hit, and marks where registers are set and cleared, whether hits are
// exceptions of their own or share one with steps.
func TestTimelineOfWatchpoints(t *testing.T) {
	for _, name := range []string{"watchpoints", "watchpoints-power5", "watchpoints-tc2-a15"} {
		hits, marks := 0, []string(nil)
		for _, e := range decodeTimeline(t, timelineOf(t, name, "w/kernel.cpus=1", "workload.hits=3", "workload.warmup=2")) {
			switch {
			case e.what == toldBegin && e.kind == onWatch:
				hits++
			case e.what == toldInstant && e.kind == onWatch:
				marks = append(marks, e.name)
			}
		}
		const calls = 1 + 2 + 3 + 8 // the last ones hold the point to what it says
		require.That(t, hits == calls, "%s: %d hits are in the timeline, want %d", name, hits, calls)
		want := []string{"registered", "unregistered", "registered", "unregistered", "registered"}
		require.That(t, slices.Equal(marks, want), "%s: marks %v, want %v", name, marks, want)
	}
}

// TestTimelineOfUserProbes has slices for the hits in user tasks. A step is a slice of its own there, because the copy is
// executed in user mode.
func TestTimelineOfUserProbes(t *testing.T) {
	for name, exceptions := range map[string]int{"user-probes": 2, "user-probes-power5": 2, "user-probes-tc2-a15": 1} {
		user, hits := false, 0
		for _, e := range decodeTimeline(t, timelineOf(t, name, "k", "workload.hits=3")) {
			switch {
			case e.what == toldBegin && e.kind == onUser:
				user = true
			case e.what == toldBegin && e.kind == onTask:
				user = false
			case e.what == toldBegin && e.kind == onProbe:
				hits++
				require.That(t, user && e.name == "hit user_target+0x0", "%s: a slice %q, in a user task: %v", name, e.name, user)
			}
		}
		const warm, cold = 3 + 6, 3 + 6 // n calls and twice as many
		want := (warm + cold) * exceptions
		require.That(t, hits == want, "%s: %d slices of hits are in the timeline, want %d", name, hits, want)
	}
}
