package machines

import (
	"slices"
	"strings"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/doc"
)

// costs reads the ports, which a description names freely, and the cost of every class and event of
// the ISA.
// Ports come first, because the cost of a class names one. Ties come when every event has been
// read, because an event may be tied to one further down in the list of the ISA.
func (mr *machineReader) costs(r *doc.Reader) {
	c := &mr.m.CPU
	c.Classes, c.Events, c.Ports = map[string]cpus.Cost{}, map[string]clock.Ticks{}, map[string]clock.Ticks{}
	ports := r.Sub("port", true)
	names := ports.Keys()
	mr.each(ports, names, nil, mr.port)
	var ties []tie
	mr.each(r.Sub("event", true), mr.isa.Events, mr.isa.Spared, func(s *doc.Reader, name string) {
		c.Events[name] = mr.event(s, name, &ties)
	})
	mr.tie(ties)
	for _, name := range mr.isa.Events {
		if _, has := c.Events[name]; !has {
			c.Events[name] = c.Events[mr.isa.Spared[name]]
		}
	}
	mr.each(r.Sub("cost", true), mr.isa.Classes, mr.isa.Inherited, func(s *doc.Reader, name string) {
		c.Classes[name] = mr.cost(s, names)
	})
}

// ticks reads a table of one number, cycles.
func (mr *machineReader) ticks(r *doc.Reader) (t clock.Ticks) {
	mr.section(r, mr.cycles("cycles", &t, true))
	return t
}

// tie says that an event costs the same as another one, or so much more.
type tie struct {
	event, as string
	more      clock.Ticks
	r         *doc.Reader // the table of event
}

// event reads the table of an event: its cycles, or the name of the event that it costs the same as,
// which is added to ties. A description ties two events where it cannot tell them apart, or knows only
// their difference, so that one fitted number serves both.
func (mr *machineReader) event(r *doc.Reader, name string, ties *[]tie) clock.Ticks {
	if !r.Has("same_as") {
		return mr.ticks(r)
	}
	for _, key := range []string{"cycles", "fitted"} {
		if r.Has(key) {
			r.Errorf(key, "leave it out: the number is that of the event under same_as")
		}
	}
	t := tie{event: name, r: r}
	mr.section(r, into("same_as", &t.as, true, doc.OneOf(mr.isa.Events...)), mr.cycles("more", &t.more, false))
	*ties = append(*ties, t)
	return 0
}

// tie gives tied events the numbers of those that they cost the same as, which must have one of
// their own.
func (mr *machineReader) tie(ties []tie) {
	events := mr.m.CPU.Events
	for _, t := range ties {
		_, has := events[t.as]
		if !has || slices.ContainsFunc(ties, func(o tie) bool { return o.event == t.as }) {
			t.r.Errorf("same_as", "%s has no number of its own: name an event that has cycles", t.as)
			continue
		}
		events[t.event] = events[t.as] + t.more
	}
}

// each reads the tables of group g: every one of names must be there but those that inherit, and no other.
// What is missing is one message with all names: a new class of an instruction set is missing in
// every description at once.
func (mr *machineReader) each(g *doc.Reader, names []string, inherited map[string]string, read func(*doc.Reader, string)) {
	var missing []string
	for _, name := range names {
		if !g.Has(name) {
			if _, spared := inherited[name]; !spared {
				missing = append(missing, name)
			}
			continue
		}
		read(g.Sub(name, true), name)
	}
	if len(missing) > 0 {
		mr.errs.Add(g.Pos(), "missing: [%s]", strings.Join(prefixed(g, missing), "], ["))
	}
	g.Done()
}

// prefixed writes names as the headers of their tables, so that the message can be pasted.
func prefixed(g *doc.Reader, names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = g.Path(n)
	}
	return out
}

// cost reads one instruction class. Its issue bandwidth is given in cycles or in uops, of which the
// core issues width a cycle.
func (mr *machineReader) cost(r *doc.Reader, ports []string) cpus.Cost {
	var c cpus.Cost
	var uops, slots int
	c.Port = doc.Opt(r, "port", "", doc.OneOf(ports...))
	c.Unit = doc.Opt(r, "unit", "", doc.OneOf(ports...))
	c.Serialize = doc.Opt(r, "serialize", false, doc.Flag)
	c.InOrder = doc.Opt(r, "in_order", false, doc.Flag)
	c.Alone = doc.Opt(r, "alone", false, doc.Flag)
	fields := []field{count("uops", &uops, 1, 1000)}
	if !r.Has("uops") {
		fields = []field{mr.cycles("issue", &c.Issue, true), maybe("slots", &slots, 1, 1000)}
	}
	// What serializes takes its issue, and nothing runs meanwhile that could wait for a result.
	fields = append(fields, mr.cycles("latency", &c.Latency, !c.Serialize), mr.cycles("latency2", &c.Latency2, false),
		mr.cycles("occupancy", &c.Occupancy, false))
	if mr.m.CPU.BackEnd.On {
		mr.to(r, &c, ports)
		fields = append(fields, mr.cycles("deferred", &c.Deferred, false), mr.cycles("flags", &c.Flags, false), mr.cycles("index", &c.Index, false),
			mr.cycles("late_flags", &c.LateFlags, false), maybe("deferred_uops", &c.DeferredOps, 1, cpus.MaxUops))
	}
	mr.section(r, fields...)
	if uops > 0 {
		c.Issue, slots = mr.issueSlots(uops), uops
	}
	c.Slots = mr.issueSlots(slots)
	if mr.m.CPU.BackEnd.On {
		c.Ops = mr.ops(&c, slots)
	}
	return c
}

// issueSlots is the time of some issue slots. A description with a bad width is reported elsewhere; here
// it must only not divide by zero.
func (mr *machineReader) issueSlots(n int) clock.Ticks {
	return clock.PerCycle * clock.Ticks(n) / clock.Ticks(max(mr.m.CPU.Width, 1))
}
