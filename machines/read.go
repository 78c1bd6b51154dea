package machines

import (
	"maps"
	"slices"
	"strings"

	"kprobesim/cpus"
	"kprobesim/internal/doc"
)

// machineReader reads a description into m.
type machineReader struct {
	isa  *cpus.ISA
	m    *Machine
	errs *doc.Errors
}

// Read reads the description in root. isas are the instruction sets it may be for.
// Mistakes go to errs, and the machine that is returned holds what could be read, so that one run
// names as many as it can.
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
	mr.processor(r)
	mr.answers(r)
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
	fitted = doc.Opt(r, "fitted", nil, doc.ListOf(figure))
	source = doc.Need(r, "source", doc.Text)
	name, where, ok := strings.Cut(source, ":")
	switch _, known := mr.m.Sources[name]; {
	case source == "": // reported
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

// figure parses the name of a point. Points that the module of `kprobesim measure` has timed have settings in theirs.
func figure(n *doc.Node) (string, error) {
	plain := *n
	plain.Text = strings.NewReplacer("/", "-", "=", "-").Replace(n.Text)
	_, err := doc.Name(&plain)
	return n.Text, err
}

// section reads one table of numbers: each of the keys it knows how to read, then source, fitted and
// uncertainty.
func (mr *machineReader) section(r *doc.Reader, fields ...field) {
	var present []field
	for _, f := range fields {
		if f.read(r, f.key) {
			present = append(present, f)
		}
	}
	source, fitted := mr.source(r)
	doubt := uncertainty(r, source)
	for _, f := range present {
		mr.m.Params = append(mr.m.Params,
			Param{r.Path(f.key), f.text(r), source, fitted, r.At(f.key), doubt})
	}
	r.Done()
}

// calibration reads what the fitted parameters were fitted on and holds the rule that there are
// never more parameters than figures.
func (mr *machineReader) calibration(r *doc.Reader) {
	m := mr.m
	if part := r.Part("calibration"); part != nil {
		mr.figures(part)
	}
	params, figures := m.FittedParams(), m.FittedOn()
	if len(params) > len(figures) {
		mr.errs.Add(params[0].Pos,
			"%d parameters are fitted on %d figures (%s): never more parameters than figures",
			len(params), len(figures), strings.Join(figures, ", "))
	}
	if len(params) > 0 && m.Experiment == "" && m.Measured == "" {
		mr.errs.Add(params[0].Pos,
			"fitted parameters need [calibration] experiment, the file with the figures, or measured, the folder")
	}
}

// figures reads where the figures are. A folder takes the place of a base's experiment.
func (mr *machineReader) figures(c *doc.Reader) {
	m, key := mr.m, "experiment"
	if c.Has("measured") {
		key = "measured"
	}
	from := doc.Need(c, key, doc.Text)
	m.FiguresOf = c.At(key).File
	if key == "measured" || doc.IsPath(from) {
		from = doc.Beside(m.FiguresOf, from)
	}
	switch {
	case key == "experiment":
		m.Experiment = from
	case c.Has("experiment") && c.At("experiment").File == m.FiguresOf:
		c.Errorf("experiment", "figures are published or measured: leave this key or measured out")
	default:
		m.Measured = from
	}
	c.Done()
}
