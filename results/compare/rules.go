package compare

import (
	"fmt"
	"path"
	"time"

	"kprobesim/internal/doc"
	"kprobesim/results"
)

// RulesName is the file of rules that belongs to a directory of baselines.
const RulesName = "checks.toml"

// Rules say what may move. The zero Rules allow nothing.
type Rules struct {
	// Means compares the means of replicates, and calls those moved whose 95 % intervals do not overlap. Without
	// it every replicate is compared exactly.
	Means bool

	thresholds []threshold
	waivers    []waiver
	today      string
	used       map[int]bool // waivers that excused something
}

// selection are patterns with * and ? for what a rule is about. An empty one fits all.
type selection struct {
	experiment, machine, probe, metric string
	pos                                doc.Pos
}

// threshold allows changes of at most a share, in percent, or an amount, in the unit of the metric.
type threshold struct {
	selection
	percent, amount results.Value
}

// waiver excuses changes until a day, which is the last.
type waiver struct {
	selection
	reason, expires string
}

// ReadRules reads a file of rules as they are on a day (the host's, or any other). The error lists every mistake with
// its place.
func ReadRules(file string, b []byte, today time.Time) (*Rules, error) {
	root, err := doc.Parse(file, b)
	if err != nil {
		return nil, err
	}
	var errs doc.Errors
	r := &Rules{today: today.Format(time.DateOnly), used: map[int]bool{}}
	top := doc.NewReader(root, &errs)
	r.Means = doc.Opt(top, "replicates", "exact", doc.OneOf("exact", "means")) == "means"
	for _, t := range top.List("thresholds") {
		r.thresholds = append(r.thresholds, readThreshold(t))
	}
	for _, t := range top.List("waivers") {
		r.waivers = append(r.waivers, readWaiver(t))
	}
	top.Done()
	return r, errs.Err()
}

func readSelection(t *doc.Reader) selection {
	s := selection{pos: t.Pos()}
	for key, to := range map[string]*string{
		"experiment": &s.experiment, "machine": &s.machine, "probe": &s.probe, "metric": &s.metric,
	} {
		*to = doc.Opt(t, key, "*", doc.Text)
		if _, err := path.Match(*to, ""); err != nil {
			t.Errorf(key, "%q is no pattern: a bracket is not closed", *to)
		}
	}
	return s
}

func readThreshold(t *doc.Reader) threshold {
	x := threshold{selection: readSelection(t)}
	if !t.Has("percent") && !t.Has("amount") {
		t.Errorf("percent", "a threshold needs percent, or amount in the unit of the metric")
	}
	for key, to := range map[string]*results.Value{"percent": &x.percent, "amount": &x.amount} {
		*to = doc.Opt(t, key, results.Value{}, limit)
	}
	t.Done()
	return x
}

// limit reads a number that is not below zero.
func limit(n *doc.Node) (results.Value, error) {
	if n.Kind != doc.Integer && n.Kind != doc.Float {
		return results.Value{}, fmt.Errorf("want a number, not %s", n.Kind)
	}
	v, err := results.ParseValue(n.Text)
	if err == nil && v.Float() < 0 {
		err = fmt.Errorf("%s is below zero", v)
	}
	return v, err
}

func readWaiver(t *doc.Reader) waiver {
	w := waiver{selection: readSelection(t), reason: doc.Need(t, "reason", doc.Text), expires: doc.Need(t, "expires", day)}
	t.Done()
	return w
}

// day reads a day.
func day(n *doc.Node) (string, error) {
	text, err := doc.Text(n)
	if err != nil {
		return "", err
	}
	if _, err := time.Parse(time.DateOnly, text); err != nil {
		return "", fmt.Errorf("%q is no day: write \"YEAR-MONTH-DAY\", the last day on which the waiver holds", text)
	}
	return text, nil
}

func (s selection) fits(r results.Record) bool {
	return matches(s.experiment, r.Experiment) && matches(s.machine, r.Machine) && matches(s.probe, r.Probe) && matches(s.metric, r.Metric)
}

// judge says what a change means.
func (r *Rules) judge(c Change) (Verdict, string) {
	if r == nil {
		return Moved, ""
	}
	if c.Old.Unit == c.New.Unit && c.Old.Role == c.New.Role {
		if r.Means && overlap(c.Old, c.New) {
			return allowed, "within the spread of the replicates"
		}
		for _, t := range r.thresholds {
			if t.fits(c.Old) && t.allows(c) {
				return allowed, t.text()
			}
		}
	}
	for i, w := range r.waivers {
		if w.fits(c.Old) && w.expires >= r.today {
			r.used[i] = true
			return waived, fmt.Sprintf("%s (until %s, %s)", w.reason, w.expires, w.pos)
		}
	}
	return Moved, ""
}

// overlap reports whether two means of replicates cannot be told apart.
func overlap(a, b results.Record) bool {
	return a.Spread.Of > 1 && b.Spread.Of > 1 &&
		a.Spread.Low.Float() <= b.Spread.High.Float() && b.Spread.Low.Float() <= a.Spread.High.Float()
}

func (t threshold) allows(c Change) bool {
	within := func(v, limit results.Value) bool { return v.Abs().Float() <= limit.Float() }
	return !t.percent.IsZero() && c.HasPercent && within(c.Percent, t.percent) || !t.amount.IsZero() && within(c.Delta, t.amount)
}

func (t threshold) text() string {
	switch {
	case t.amount.IsZero():
		return fmt.Sprintf("within %s %% (%s)", t.percent, t.pos)
	case t.percent.IsZero():
		return fmt.Sprintf("within %s of its unit (%s)", t.amount, t.pos)
	default:
		return fmt.Sprintf("within %s %% or %s of its unit (%s)", t.percent, t.amount, t.pos)
	}
}

// stale names waivers about an experiment that expired, or that had nothing to excuse.
func (r *Rules) stale(experiment string) []string {
	if r == nil {
		return nil
	}
	var out []string
	for i, w := range r.waivers {
		switch {
		case !matches(w.experiment, experiment):
		case w.expires < r.today:
			out = append(out, fmt.Sprintf("%s: the waiver expired on %s: %s", w.pos, w.expires, w.reason))
		case !r.used[i]:
			out = append(out, fmt.Sprintf("%s: the waiver has nothing to excuse here: %s", w.pos, w.reason))
		}
	}
	return out
}
