package describing

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"kprobesim/internal/doc"
	"kprobesim/internal/native"
	"kprobesim/judging"
	"kprobesim/machines"
)

// Host times programs: judging.Host, but in tests.
type Host interface {
	judging.Clocked
	Difference(more, less []byte, parts int, j *native.Job) (float64, error)
	Shortest(p []byte, j *native.Job, near float64) (float64, error)
	Time(c *judging.Case) (float64, error)
}

// Describer measures the host, one number after the other.
type Describer struct {
	Host Host
	Root *doc.Node // the description of the same family, which becomes the host's
	// Read checks a description.
	Read func(root *doc.Node) (*machines.Machine, error)
	Say  func(format string, args ...any)
	// Rows has what was measured, and Open what could not be settled or explained.
	Rows []Row
	Open []string

	waits int    // how often the host was busy
	name  string // of the description of the same family
	id    identity
}

// Row is a number, as it was in the description of the family and as it is of the host.
type Row struct {
	Key, Loop           string
	Before, Now         string
	Measured, Explained float64 // cycles, on the host and under the description
}

// How says how a number was measured.
func (r Row) How() string {
	if r.Measured == 0 {
		return r.Loop
	}
	return fmt.Sprintf("%s: %.2f cycles", r.Loop, r.Measured)
}

// Describe makes the description one of this host.
func (d *Describer) Describe(name string, at time.Time) error {
	var err error
	if d.id, err = identify(d.Host); err != nil {
		return err
	}
	if err := d.id.steady(); err != nil {
		return err
	}
	d.name = d.text("name")
	d.begin(name, at)
	for _, p := range d.parts() {
		d.Say("%s", p.what)
		if err := p.do(); err != nil {
			return fmt.Errorf("%s: %w", p.what, err)
		}
	}
	_, err = d.Read(d.Root)
	return err
}

// part names numbers that are measured together.
type part struct {
	what string
	do   func() error
}

// parts lists them in the order of measuring.
func (d *Describer) parts() []part {
	return []part{
		{"clock", d.clock},
		{"width", d.width},
		{"window", d.window},
		{"caches", d.caches},
		{"TLBs", d.tlbs},
		{"loads", d.loads},
		{"instructions", d.instructions},
		{"fusion", d.fusions},
		{"branches", d.branches},
		{"predictors, prefetchers, rates of lines and strings", d.structures},
		{"other processors", d.transfers},
	}
}

// begin names the host in the description, and makes a prior of each number of the family.
func (d *Describer) begin(name string, at time.Time) {
	d.put(name, "name")
	d.put(d.id.title(), "title")
	d.put(fmt.Sprintf("measured here, %s, %s, by kprobesim characterize", at.Format(time.DateOnly), d.id), "sources", "here")
	d.put(fmt.Sprintf("not measured: the number of %s, a description of the same family", d.name), "sources", "prior")
	remove(d.Root, "base", "calibration")
	d.priors(d.Root)
}

// priors makes priors of the sources below a table.
func (d *Describer) priors(n *doc.Node) {
	for i := range n.Fields {
		f := &n.Fields[i]
		switch {
		case f.Key == "sources":
		case f.Key == "source" && !strings.HasPrefix(f.Value.Text, "prior:"):
			f.Value = text("prior: " + d.name + " has it from " + f.Value.Text)
		case f.Value.Kind == doc.Table:
			remove(f.Value, "fitted")
			d.priors(f.Value)
		}
	}
}

// remove takes keys out of a table.
func remove(n *doc.Node, keys ...string) {
	var left []doc.Field
	for _, f := range n.Fields {
		keep := true
		for _, k := range keys {
			keep = keep && f.Key != k
		}
		if keep {
			left = append(left, f)
		}
	}
	n.Fields = left
}

func text(s string) *doc.Node { return &doc.Node{Kind: doc.String, Text: s} }

// number is a number of cycles as descriptions have it: whole, or a fraction.
func number(v float64) *doc.Node {
	for _, den := range []float64{1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60} {
		num := math.Round(v * den)
		if math.Abs(num/den-v) > 1e-6 && den < 60 {
			continue
		}
		if den == 1 {
			return &doc.Node{Kind: doc.Integer, Text: fmt.Sprintf("%.0f", num)}
		}
		return text(fmt.Sprintf("%.0f/%.0f", num, den))
	}
	return nil
}

// put sets a key to a text.
func (d *Describer) put(v string, path ...string) { d.set(text(v), path...) }

// set sets a key.
func (d *Describer) set(v *doc.Node, path ...string) {
	if err := (doc.Setting{Path: path, Value: v}).Apply(d.Root); err != nil {
		panic(err) // the tables of a description have these keys
	}
}

// node returns the value of a key, or nil.
func (d *Describer) node(path ...string) *doc.Node {
	n := d.Root
	for _, k := range path {
		if n == nil || n.Kind != doc.Table {
			return nil
		}
		n = n.Get(k)
	}
	return n
}

// text returns the text of a key, or "".
func (d *Describer) text(path ...string) string {
	if n := d.node(path...); n != nil {
		return n.Text
	}
	return ""
}

// measured sets a number and says in its table's source how it was measured.
func (d *Describer) measured(v *doc.Node, how string, path ...string) {
	before := d.text(path...)
	d.set(v, path...)
	table := path[:len(path)-1]
	d.source(how, table...)
	d.Rows = append(d.Rows, Row{Key: strings.Join(path, "."), Loop: how, Before: before, Now: v.Text})
}

// source adds to the source of a table that a number in it was measured.
func (d *Describer) source(how string, table ...string) {
	path := append(append([]string{}, table...), "source")
	old := d.text(path...)
	if rest, ok := strings.CutPrefix(old, "here: "); ok {
		if !strings.HasPrefix(rest, how) { // two numbers may be of one measurement
			d.put("here: "+how+"; "+rest, path...)
		}
		return
	}
	old = strings.TrimPrefix(old, "prior: ")
	d.put("here: "+how+"; the rest of the table is a prior: "+old, path...)
	remove(d.node(table...), "uncertainty")
}

// open notes what could not be settled. It is an error only where the host cannot be timed at all.
func (d *Describer) open(what string, err error) error {
	if errors.Is(err, judging.ErrBusy) || err == nil {
		if err != nil {
			what += ": " + err.Error()
		}
		d.Open = append(d.Open, what)
		return nil
	}
	return err
}
