package machines

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/doc"
	"kprobesim/mmu"
)

// machineReader reads a description into m.
type machineReader struct {
	isa  *cpus.ISA
	m    *Machine
	errs *doc.Errors
}

// readMachine reads the description in root. isas are the instruction sets it may be for.
func Read(root *doc.Node, isas []*cpus.ISA, errs *doc.Errors) *Machine {
	r := doc.NewReader(root, errs)
	m := &Machine{
		Name: doc.Need(r, "name", doc.Text), Title: doc.Need(r, "title", doc.Text),
		ISA: doc.Need(r, "isa", doc.OneOf(isaNames(isas)...)), File: root.Pos.File,
	}
	m.CPU.Name = m.Name
	mr := &machineReader{m: m, errs: errs}
	i := slices.IndexFunc(isas, func(i *cpus.ISA) bool { return i.Name == m.ISA })
	if i < 0 {
		return m // reported; what the numbers must be follows from the ISA
	}
	before := len(*errs)
	mr.isa = isas[i]
	r.Has("base") // read by the loader
	mr.sources(r.Sub("sources", true))
	mr.core(r)
	mr.costs(r)
	mr.memory(r)
	mr.check(r, before)
	mr.calibration(r)
	r.Done()
	return m
}

// check holds the finished description against the ISA, for what no single value shows. It only
// speaks when nothing else was wrong.
func (mr *machineReader) check(r *doc.Reader, before int) {
	if len(*mr.errs) > before {
		return
	}
	for _, err := range mr.m.CPU.Check(mr.isa) {
		mr.errs.Add(r.Pos(), "%v", err)
	}
}

func isaNames(isas []*cpus.ISA) []string {
	var out []string
	for _, i := range isas {
		out = append(out, i.Name)
	}
	return out
}

// sources reads the bibliography.
func (mr *machineReader) sources(r *doc.Reader) {
	mr.m.Sources = map[string]string{}
	for _, key := range r.Keys() {
		mr.m.Sources[key] = doc.Need(r, key, doc.Text)
	}
}

// source reads the source and the fitted mark that a table of numbers must have. A source starts
// with a name of the bibliography, or with "fitted" where the number is marked so.
func (mr *machineReader) source(r *doc.Reader) (source string, fitted []string) {
	fitted = doc.Opt(r, "fitted", nil, doc.ListOf(doc.Name))
	source = doc.Need(r, "source", doc.Text)
	if source == "" {
		return source, fitted
	}
	name, where, ok := strings.Cut(source, ":")
	switch _, known := mr.m.Sources[name]; {
	case len(fitted) > 0 && name != "fitted":
		r.Errorf("source", "a fitted number says on what: write \"fitted: ...\"")
	case len(fitted) == 0 && name == "fitted":
		r.Errorf("source", "the number is not marked fitted: add fitted = [point names]")
	case name != "fitted" && !known:
		names := slices.Sorted(maps.Keys(mr.m.Sources))
		r.Errorf("source", "%q is not in [sources]: start with one of %s and a colon%s", name,
			strings.Join(names, ", "), doc.Suggest(name, names))
	case !ok || strings.TrimSpace(where) == "":
		r.Errorf("source", "say behind the colon where in %q", name)
	}
	return source, fitted
}

// section reads one table of numbers: each of the keys it knows how to read, then source and
// fitted.
func (mr *machineReader) section(r *doc.Reader, fields ...field) {
	var present []field
	for _, f := range fields {
		if f.read(r, f.key) {
			present = append(present, f)
		}
	}
	source, fitted := mr.source(r)
	for _, f := range present {
		mr.m.Params = append(mr.m.Params,
			Param{r.Path(f.key), r.Text(f.key), source, fitted, r.At(f.key)})
	}
	r.Done()
}

// field reads one number of a table; read reports whether it was there.
type field struct {
	key  string
	read func(r *doc.Reader, key string) bool
}

func into[T any](key string, to *T, need bool, parse func(*doc.Node) (T, error)) field {
	return field{key, func(r *doc.Reader, key string) bool {
		has := r.Has(key)
		if need || has {
			*to = doc.Need(r, key, parse)
		}
		return has
	}}
}

func cycles(key string, to *clock.Ticks, need bool) field { return into(key, to, need, parseTicks) }

func hertz(key string, to *int64) field {
	return into(key, to, true, doc.Frequency().Whole(false, 1e6, 1e11))
}

func count(key string, to *int, lo, hi int64) field {
	return into(key, to, true, func(n *doc.Node) (int, error) {
		v, err := doc.Int(lo, hi)(n)
		return int(v), err
	})
}

// parseTicks reads a number of cycles: 14, "1.5" or "1/3".
func parseTicks(n *doc.Node) (clock.Ticks, error) {
	q, err := doc.Cycles().Parse(true)(n)
	if err != nil {
		return 0, err
	}
	t, err := clock.Parse(strings.ReplaceAll(q.Written, "_", ""))
	if err != nil {
		return 0, err
	}
	if t > MaxCost {
		return 0, fmt.Errorf("%s cycles is more than %d: is the unit right?", q.Written,
			MaxCost.Cycles())
	}
	return t, nil
}

// core reads the clock, the shape of the core and its predictor.
func (mr *machineReader) core(r *doc.Reader) {
	c := &mr.m.CPU
	mr.section(r.Sub("clock", true), hertz("frequency", &c.Hz), hertz("timer", &mr.m.TimerHz))
	core := r.Sub("core", true)
	c.Model = doc.Need(core, "model", doc.OneOf(cpus.Throughput, cpus.Window))
	mr.section(core, count("width", &c.Width, 1, 6), count("window", &c.Window, 1, cpus.MaxWindow),
		count("store_buffer", &c.StoreBuffer, 1, 1024))
	if r.Has("front_end") {
		f := r.Sub("front_end", true)
		c.FrontEnd.ComplexFirst = doc.Opt(f, "complex_first", false, doc.Flag)
		mr.section(f, count("fetch_bytes", &c.FrontEnd.FetchBytes, 4, 64), count("queue", &c.FrontEnd.Queue, 0, 1024))
	}
	p := &c.Predictor
	mr.section(r.Sub("predictor", true), count("history_bits", &p.HistoryBits, 0, 32),
		count("table_bits", &p.TableBits, 1, 24), count("target_entries", &p.TargetEntries, 1, 1<<16),
		count("return_stack", &p.ReturnStack, 1, 1024))
}

// costs reads the ports, which a description names freely, and the cost of every class and event of
// the ISA.
func (mr *machineReader) costs(r *doc.Reader) {
	c := &mr.m.CPU
	c.Classes, c.Events, c.Ports = map[string]cpus.Cost{}, map[string]clock.Ticks{}, map[string]clock.Ticks{}
	ports := r.Sub("port", true)
	names := ports.Keys()
	mr.each(ports, names, func(s *doc.Reader, name string) { c.Ports[name] = mr.ticks(s) })
	var ties []tie
	mr.each(r.Sub("event", true), mr.isa.Events, func(s *doc.Reader, name string) {
		c.Events[name] = mr.event(s, name, &ties)
	})
	mr.tie(ties)
	mr.each(r.Sub("cost", true), mr.isa.Classes, func(s *doc.Reader, name string) {
		c.Classes[name] = mr.cost(s, names)
	})
}

// ticks reads a table of one number, cycles.
func (mr *machineReader) ticks(r *doc.Reader) (t clock.Ticks) {
	mr.section(r, cycles("cycles", &t, true))
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
	mr.section(r, into("same_as", &t.as, true, doc.OneOf(mr.isa.Events...)), cycles("more", &t.more, false))
	*ties = append(*ties, t)
	return 0
}

// tie gives tied events the numbers of those that they cost the same as, which must have one of
// their own.
func (mr *machineReader) tie(ties []tie) {
	events := mr.m.CPU.Events
	for _, t := range ties {
		if slices.ContainsFunc(ties, func(o tie) bool { return o.event == t.as }) {
			t.r.Errorf("same_as", "%s has no number of its own: name an event that has cycles", t.as)
			continue
		}
		events[t.event] = events[t.as] + t.more
	}
}

// each reads the tables of group g: every one of names must be there, and no other.
func (mr *machineReader) each(g *doc.Reader, names []string, read func(*doc.Reader, string)) {
	var missing []string
	for _, name := range names {
		if !g.Has(name) {
			missing = append(missing, name)
			continue
		}
		read(g.Sub(name, true), name)
	}
	if len(missing) > 0 {
		mr.errs.Add(g.Pos(), "missing: [%s]", strings.Join(prefixed(g, missing), "], ["))
	}
	g.Done()
}

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
	var uops int
	c.Port = doc.Opt(r, "port", "", doc.OneOf(ports...))
	c.Serialize = doc.Opt(r, "serialize", false, doc.Flag)
	c.InOrder = doc.Opt(r, "in_order", false, doc.Flag)
	issue := count("uops", &uops, 1, 1000)
	if !r.Has("uops") {
		issue = cycles("issue", &c.Issue, true)
	}
	mr.section(r, issue, cycles("latency", &c.Latency, true),
		cycles("occupancy", &c.Occupancy, false))
	if uops > 0 {
		c.Issue = clock.PerCycle * clock.Ticks(uops) / clock.Ticks(max(mr.m.CPU.Width, 1))
	}
	return c
}

// memory reads caches, TLBs and DRAM.
func (mr *machineReader) memory(r *doc.Reader) {
	c := &mr.m.CPU
	caches := r.Sub("cache", true)
	mr.cache(caches.Sub("l1i", true), &c.L1I)
	mr.cache(caches.Sub("l1d", true), &c.L1D)
	mr.cache(caches.Sub("l2", true), &c.L2)
	caches.Done()
	mr.section(r.Sub("memory", true), cycles("latency", &c.Memory, true))
	tlbs := r.Sub("tlb", true)
	mr.tlb(tlbs.Sub("instruction", true), &c.ITLB)
	mr.tlb(tlbs.Sub("data", true), &c.DTLB)
	tlbs.Done()
}

func (mr *machineReader) cache(r *doc.Reader, c *mmu.CacheConfig) {
	before := len(*mr.errs)
	var size, line int64
	mr.section(r, into("size", &size, true, doc.Size().Whole(false, 1, 1<<30)),
		count("ways", &c.Ways, 1, 32), into("line", &line, true, doc.Size().Whole(false, 1, 1024)),
		cycles("latency", &c.Latency, true))
	c.Size, c.Line = int(size), int(line)
	if err := c.Check(); err != nil && len(*mr.errs) == before {
		mr.errs.Add(r.Pos(), "%v", err)
	}
}

func (mr *machineReader) tlb(r *doc.Reader, c *mmu.TLBConfig) {
	before := len(*mr.errs)
	mr.section(r, count("entries", &c.Entries, 1, 1<<16), count("ways", &c.Ways, 1, 1<<16),
		count("large_entries", &c.LargeEntries, 1, 1<<16),
		count("large_ways", &c.LargeWays, 1, 1<<16))
	if err := c.Check(); err != nil && len(*mr.errs) == before {
		mr.errs.Add(r.Pos(), "%v", err)
	}
}

// calibration reads what the fitted parameters were fitted on and holds the rule that there are
// never more parameters than figures.
func (mr *machineReader) calibration(r *doc.Reader) {
	m := mr.m
	if r.Has("calibration") {
		c := r.Sub("calibration", false)
		m.Experiment = doc.Need(c, "experiment", doc.Text)
		if doc.IsPath(m.Experiment) {
			m.Experiment = doc.Beside(c.At("experiment").File, m.Experiment)
		}
		c.Done()
	}
	params, figures := m.FittedParams(), m.FittedOn()
	if len(params) > len(figures) {
		mr.errs.Add(params[0].Pos,
			"%d parameters are fitted on %d figures (%s): never more parameters than figures",
			len(params), len(figures), strings.Join(figures, ", "))
	}
	if len(params) > 0 && m.Experiment == "" {
		mr.errs.Add(params[0].Pos,
			"fitted parameters need [calibration] experiment, the file with the figures")
	}
}
