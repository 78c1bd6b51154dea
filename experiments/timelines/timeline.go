package timelines

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"kprobesim/cpus"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/schema"
	"kprobesim/image"
	"kprobesim/internal/clock"
	"kprobesim/kprobes"
	"kprobesim/results/timeline"
	"kprobesim/sim"
	"kprobesim/smp"
)

// Write boots a machine for p, measures as kinds.Measure does, and writes what every CPU did
// meanwhile in the format of Perfetto: which task ran, interrupts, probe hits, interprocessor
// interrupts, quiescent states and the steps of every change of text.
func Write(p *schema.Point, w io.Writer) error {
	var rec *watcher
	_, err := kinds.Observed(p, func(m *sim.Machine) cpus.Observer {
		title := fmt.Sprintf("%s, point %s, on %s", p.Experiment, p.Label, p.Machine.Name)
		rec = newWatcher(m.Image(), m.CPUs(), p.Machine.CPU.Hz, title)
		rec.others = schema.Packaged(p.Kind)
		m.Watch(rec.event)
		return rec
	})
	if err != nil {
		return err
	}
	b, err := rec.finish()
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// Categories of slices and instants, by which the viewer filters.
const (
	onTask    = "task"
	onUser    = "user"   // a task in user mode
	onCall    = "kernel" // what such a task has the kernel do
	onIdle    = "idle"
	onStopper = "stopper"
	onIRQ     = "irq"
	onProbe   = "probe"
	onWatch   = "watch"
	onIPI     = "ipi"
	onRCU     = "rcu"
	onStop    = "stop"
	onPatch   = "patch"
	onSync    = "sync"
)

// maxTimeline bounds the events of a timeline.
const maxTimeline = 4 << 20

// layer is an open slice of a CPU, beside the task that runs.
type layer uint8

const (
	inTask layer = iota
	inCall
	inIRQ
	inProbe
	inWatch // the kernel has found out which watchpoint was hit
)

// watcher makes a timeline: it observes every instruction of every CPU and hears of events.
type watcher struct {
	im     *image.Image
	enters uint64 // address of the return probes' trampoline
	called uint64 // address of the entry of system calls
	watch  uint64 // address of what calls the handler of a watchpoint
	t      timeline.Timeline
	cpus   []cpuTrack
	others bool               // what ran before is not known, as in packaged kernels
	flows  map[flowKey]uint64 // arrows that have begun and not arrived
	last   uint64             // flow
	latest clock.Ticks        // of the steps of protocols
}

// cpuTrack is the track of one CPU.
type cpuTrack struct {
	id     timeline.TrackID
	task   bool    // the slice of a task is open
	user   bool    // it is a user task
	open   []layer // and those above it
	now    clock.Ticks
	before uint64 // address of the last instruction that was part of no layer
	last   uint64 // address of the last instruction
	caller string // the function to which the handling of a watchpoint returns
}

// flowKey names the arrow from a change of text to a CPU.
type flowKey struct {
	patch uint64
	cpu   int
}

func newWatcher(im *image.Image, n int, hz int64, title string) *watcher {
	w := &watcher{im: im, flows: map[flowKey]uint64{}}
	w.t = timeline.Timeline{Title: title, PerSecond: uint64(hz) * uint64(clock.PerCycle)}
	for name, at := range map[string]*uint64{"kretprobe_trampoline": &w.enters, "syscall_entry": &w.called, "kwatch_hit": &w.watch} {
		if f, ok := im.Func(name); ok {
			*at = f.Entry
		}
	}
	for i := range n {
		w.cpus = append(w.cpus, cpuTrack{id: w.t.Track(fmt.Sprintf("CPU %d", i))})
	}
	return w
}

// layerOf says what an instruction is part of. A hit begins with an exception, in a detour buffer or in
// the trampoline of return probes, and lasts as long as code of probes runs; an interrupt is where the
// exception context says so. In a user task the rest of the kernel's code is a layer, too.
func (w *watcher) layerOf(c *cpuTrack, s *cpus.Step) layer {
	phase := image.Phase(s.Phase)
	switch {
	case s.PC == w.watch && c.top() != inWatch, c.top() == inWatch && w.function(s.PC) != c.caller:
		return inWatch
	case s.Context == cpus.Breakpoint || s.Context == cpus.SingleStep || phase == image.PhaseDetour || s.PC == w.enters:
		return inProbe
	case c.top() == inProbe && phase.Probing():
		return inProbe
	case s.Context == cpus.Interrupted || phase == image.PhaseIRQ:
		return inIRQ
	case c.user && !s.User:
		return inCall
	}
	return inTask
}

// Step implements cpus.Observer.
func (w *watcher) Step(s *cpus.Step) {
	if w.full() {
		return
	}
	c := &w.cpus[s.CPU]
	if !c.task {
		w.begin(c, s)
	}
	l := w.layerOf(c, s)
	if l == inTask || l == inCall {
		c.before = s.PC
	}
	if c.top() != l {
		w.enter(c, l, s)
	}
	c.last = s.PC
}

// begin opens the slice of the task that runs when the timeline begins: on the first CPU the one that
// measures, on others the flow of control that becomes the idle task.
func (w *watcher) begin(c *cpuTrack, s *cpus.Step) {
	name := "idle"
	switch {
	case w.others:
		name = "what ran before"
	case s.CPU == 0:
		name = "init"
	}
	w.switchTo(c, s.Start, sim.Event{Name: name})
}

// full reports that there are too many events, which finish complains about.
func (w *watcher) full() bool { return w.t.Len() > maxTimeline }

// top is the innermost layer that is open.
func (c *cpuTrack) top() layer {
	if len(c.open) == 0 {
		return inTask
	}
	return c.open[len(c.open)-1]
}

// enter makes a layer the innermost one: by leaving those inside it when it is open, else by opening it.
func (w *watcher) enter(c *cpuTrack, l layer, s *cpus.Step) {
	at := c.at(s.Start)
	keep := 0
	for i, o := range c.open {
		if o == l {
			keep = i + 1
		}
	}
	if keep > 0 || l == inTask {
		for len(c.open) > keep {
			c.open = c.open[:len(c.open)-1]
			w.t.End(c.id, at)
		}
		return
	}
	c.open = append(c.open, l)
	w.t.Begin(c.id, at, w.layerMark(c, l, s.PC))
}

// layerMark names a slice: an interrupt by the code that it enters, a hit by where it was taken. What the
// kernel does for a user task without being called is to begin it, or to go on with it.
func (w *watcher) layerMark(c *cpuTrack, l layer, pc uint64) timeline.Mark {
	switch {
	case l == inIRQ:
		return timeline.Mark{Name: w.function(pc), Category: onIRQ}
	case l == inWatch:
		c.caller = w.function(c.last)
		return timeline.Mark{Name: "watchpoint", Category: onWatch}
	case l == inCall && pc == w.called:
		return timeline.Mark{Name: "system call", Category: onCall}
	case l == inCall:
		return timeline.Mark{Name: w.function(pc), Category: onCall}
	}
	return timeline.Mark{Name: "hit " + w.place(c.before), Category: onProbe}
}

// at is the time of an event on a CPU's track in the timeline's unit; it does not go back.
func (c *cpuTrack) at(t clock.Ticks) uint64 {
	c.now = max(c.now, t)
	return uint64(c.now)
}

// switchTo ends the slice of the task that ran and begins another one.
func (w *watcher) switchTo(c *cpuTrack, t clock.Ticks, to sim.Event) {
	at := c.at(t)
	w.leave(c, at)
	c.task, c.user = true, to.Arg != 0
	w.t.Begin(c.id, at, timeline.Mark{Name: to.Name, Category: taskCategory(to)})
}

// leave ends everything that is open.
func (w *watcher) leave(c *cpuTrack, at uint64) {
	for w.t.Open(c.id) > 0 {
		w.t.End(c.id, at)
	}
	c.open = c.open[:0]
}

// taskCategory tells user tasks from others, and the idle task and the stoppers by their names.
func taskCategory(to sim.Event) string {
	switch {
	case to.Arg != 0:
		return onUser
	case to.Name == "idle":
		return onIdle
	case strings.HasPrefix(to.Name, "migration/"):
		return onStopper
	}
	return onTask
}

// event hears of what the machine notes.
func (w *watcher) event(e sim.Event) {
	if e.CPU < 0 || e.CPU >= len(w.cpus) || w.full() {
		return
	}
	c := &w.cpus[e.CPU]
	if e.Kind == sim.EventTask {
		w.switchTo(c, e.At, e)
		return
	}
	if m, ok := w.instant(e); ok {
		w.t.Instant(c.id, uint64(w.causal(e.At, m)), m)
	}
}

// causal returns the time at which an instant is drawn. The steps of protocols are told in the order in
// which they led to each other, but the clocks of CPUs may differ by the machine's lookahead: no step is
// drawn before one that it follows.
func (w *watcher) causal(at clock.Ticks, m timeline.Mark) clock.Ticks {
	if m.Category == onIPI {
		return at
	}
	w.latest = max(w.latest, at)
	return w.latest
}

// instant turns an event into a mark.
func (w *watcher) instant(e sim.Event) (timeline.Mark, bool) {
	switch e.Kind {
	case sim.EventIPISend:
		return mark(onIPI, "send "+e.Name, number("vector", e.ID), number("destination", e.Arg)), true
	case sim.EventIPI:
		return mark(onIPI, "ipi "+e.Name, number("vector", e.ID), number("from", e.Arg)), true
	case sim.EventSignal:
		return mark(onIPI, e.Name), true
	case smp.EventQuiescent:
		return mark(onRCU, "quiescent ("+e.Name+")", number("period", e.ID)), true
	case smp.EventGraceBegin:
		return mark(onRCU, "grace period begins ("+e.Name+")", number("period", e.ID)), true
	case smp.EventGraceEnd:
		return mark(onRCU, "grace period ends ("+e.Name+")", number("period", e.ID)), true
	case smp.EventStop:
		return mark(onStop, "stop: "+e.Name, number("stop", e.ID)), true
	case kprobes.EventProbe:
		return mark(onProbe, e.Name, timeline.Note{Key: "at", Text: w.place(e.Arg)}), true
	case kprobes.EventWatch:
		notes := []timeline.Note{number("register", e.ID)}
		if e.Arg != 0 {
			notes = append(notes, timeline.Note{Key: "at", Text: w.place(e.Arg)})
		}
		return mark(onWatch, e.Name, notes...), true
	case kprobes.EventPatch:
		m := mark(onPatch, "patch: "+e.Name, number("patch", e.ID), timeline.Note{Key: "at", Text: w.place(e.Arg)})
		m.Flows = w.arrows(e.ID)
		return m, true
	case kprobes.EventSync:
		m := mark(onSync, "sync", number("patch", e.ID))
		m.Ends = w.arrival(flowKey{e.ID, e.CPU})
		return m, true
	}
	return timeline.Mark{}, false
}

func mark(category, name string, notes ...timeline.Note) timeline.Mark {
	return timeline.Mark{Name: name, Category: category, Notes: notes}
}

func number(key string, v uint64) timeline.Note { return timeline.Note{Key: key, Number: v} }

// arrows begins an arrow from a change of text to every CPU that none is under way to.
func (w *watcher) arrows(patch uint64) []uint64 {
	var ids []uint64
	for i := range w.cpus {
		key := flowKey{patch, i}
		if w.flows[key] == 0 {
			w.last++
			w.flows[key] = w.last
			ids = append(ids, w.last)
		}
	}
	return ids
}

// arrival ends the arrow to a CPU that has synchronized.
func (w *watcher) arrival(key flowKey) []uint64 {
	id := w.flows[key]
	if id == 0 {
		return nil
	}
	delete(w.flows, key)
	return []uint64{id}
}

// place names an address by function and offset.
func (w *watcher) place(pc uint64) string {
	name, off, ok := w.im.In(pc)
	if !ok {
		return fmt.Sprintf("%#x", pc)
	}
	return fmt.Sprintf("%s+%#x", name, off)
}

// function names the function of an address.
func (w *watcher) function(pc uint64) string {
	name, _, ok := w.im.In(pc)
	if !ok {
		return fmt.Sprintf("%#x", pc)
	}
	return name
}

// finish ends what is open and encodes the timeline.
func (w *watcher) finish() ([]byte, error) {
	var end clock.Ticks
	for i := range w.cpus {
		end = max(end, w.cpus[i].now)
	}
	for i := range w.cpus {
		w.leave(&w.cpus[i], uint64(end))
	}
	switch {
	case w.t.Len() == 0:
		return nil, errors.New("nothing happened that a timeline could show")
	case w.full():
		return nil, fmt.Errorf("more than %d events: run less with --set, for instance workload.hits", maxTimeline)
	}
	return w.t.Encode()
}
