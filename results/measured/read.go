package measured

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Tag begins each line of a table, with the version of its form behind it.
const (
	tag     = "kprobesim-measure"
	version = 1
)

// Begin and End are in the first and the last line.
const (
	Begin = tag + " 1 begin"
	End   = tag + " 1 end "
)

// Spread is the least of several times in ticks of the time-stamp counter, the quartiles, and the longest.
type Spread struct{ Min, Low, Median, High, Max int64 }

// Row is a kind of hit: what a loop took with probes and without.
type Row struct {
	Kind    string // as in names of points: f, e, k, b, o, and with r in front return probes
	Probes  int    // in the function
	Handler string // empty or count
	Post    bool   // the probes have a post handler
	Calls   int64
	Hits    int64 // in these calls
	Base    Spread
	With    Spread
}

// Table holds what the module printed.
type Table struct {
	Facts  map[string]string // what it says of kernel, processor and clock, by the first word of the line
	Clocks []Clock           // before the rows and behind them
	Rows   []Row
	Absent []string // kinds that this kernel has not, each with the reason
}

// Clock is how long a chain of additions took, one a cycle.
type Clock struct {
	Adds  int64
	Ticks Spread
}

// Read finds the last table in a kernel's log. What stands in front of the tag is the log's own.
func Read(log string) (*Table, error) {
	lines, end, err := cut(log)
	if err != nil {
		return nil, err
	}
	if err := whole(lines, end); err != nil {
		return nil, err
	}
	t := &Table{Facts: map[string]string{}}
	for _, l := range lines {
		if err := t.line(l); err != nil {
			return nil, fmt.Errorf("line %.100q: %w: print the log again, the module and this program are not of one version", l, err)
		}
	}
	return t, t.complete()
}

// cut returns the lines of the last table, and its end.
func cut(log string) (lines []string, end string, err error) {
	begun := false
	for l := range strings.Lines(log) {
		i := strings.Index(l, tag+" ")
		if i < 0 {
			continue
		}
		number, text, _ := strings.Cut(strings.TrimRight(l[i+len(tag)+1:], "\r\n"), " ")
		v, err := strconv.Atoi(number)
		switch {
		case err != nil:
			continue // a sentence with the tag in it
		case v != version:
			return nil, "", fmt.Errorf("the table is of version %d, and this program reads version %d: build the module that `kprobesim measure --write DIR` writes", v, version)
		case text == "begin":
			lines, end, begun = nil, "", true
		case strings.HasPrefix(text, "end "):
			end = text
		default:
			lines = append(lines, text)
		}
	}
	switch {
	case !begun && lines == nil && end == "":
		return nil, "", errors.New("no line of the module kprobesim_measure is in this log: insert the module, and write the kernel's log to a file (dmesg > log.txt)")
	case !begun:
		return nil, "", errors.New("the table has no beginning: the kernel's log has room for less, or was cut; raise it by log_buf_len=1M, or insert the module again")
	case end == "":
		return nil, "", fmt.Errorf("the table ends behind %d lines without its last one: the log was cut, or the module has not ended yet", len(lines))
	}
	return lines, end, nil
}

// whole holds lines against what the module counted.
func whole(lines []string, end string) error {
	var n int
	var want, sum uint32
	if _, err := fmt.Sscanf(end, "end lines=%d sum=%x", &n, &want); err != nil {
		return fmt.Errorf("the last line of the table is %.100q: print the log again", end)
	}
	if n != len(lines) {
		return fmt.Errorf("the table has %d lines, and the module printed %d: the log was cut; print it again", len(lines), n)
	}
	for _, l := range lines {
		for _, c := range []byte(l + "\n") {
			sum = sum*31 + uint32(c)
		}
	}
	if sum != want {
		return fmt.Errorf("the sum of the table's lines is %08x, and the module printed %08x: a line was changed; print the log again", sum, want)
	}
	return nil
}

// line reads one line.
func (t *Table) line(l string) error {
	word, rest, _ := strings.Cut(l, " ")
	switch word {
	case "row":
		return t.row(rest)
	case "clock":
		f := readFields(rest)
		c := Clock{f.number("adds"), f.spread("ticks")}
		t.Clocks = append(t.Clocks, c)
		if f.err == nil && (c.Adds < 1 || c.Ticks.Min < 1) {
			return errors.New("a clock that stands still")
		}
		return f.err
	case "absent":
		t.Absent = append(t.Absent, rest)
	default:
		t.Facts[word] = rest
	}
	return nil
}

func (t *Table) row(text string) error {
	kind, rest, _ := strings.Cut(text, " ")
	f := readFields(rest)
	r := Row{
		Kind: kind, Probes: int(f.number("probes")), Handler: f.words["handler"], Post: f.number("post") != 0,
		Calls: f.number("calls"), Hits: f.number("hits"), Base: f.spread("base"), With: f.spread("with"),
	}
	t.Rows = append(t.Rows, r)
	if f.err == nil && (kind == "" || r.Handler == "" || r.Calls < 1 || r.Hits < 1 || r.Probes < 1) {
		return errors.New("a row without calls, hits or a name")
	}
	return f.err
}

// complete wants what figures are made of.
func (t *Table) complete() error {
	for _, want := range []string{"kernel", "isa", "processor", "tsc"} {
		if t.Facts[want] == "" {
			return fmt.Errorf("the table has no line %q: build the module that `kprobesim measure --write DIR` writes", want)
		}
	}
	if len(t.Clocks) == 0 || len(t.Rows) == 0 {
		return fmt.Errorf("the table has no rows and times of its clock; the module says: %s", strings.Join(append(t.Absent, "nothing"), "; "))
	}
	if t.khz() < 1 {
		return errors.New("the kernel has found no frequency of the time-stamp counter: figures in time cannot be made")
	}
	return nil
}

// khz is the frequency of the time-stamp counter.
func (t *Table) khz() int64 {
	f := readFields(t.Facts["tsc"])
	return f.number("khz")
}

// fields are words NAME=VALUE of a line; the first mistake stays.
type fields struct {
	words map[string]string
	err   error
}

func readFields(text string) *fields {
	f := &fields{words: map[string]string{}}
	for _, w := range strings.Fields(text) {
		if name, value, ok := strings.Cut(w, "="); ok {
			f.words[name] = value
		}
	}
	return f
}

// most bounds a number, so that products with it stay in range.
const most = 1 << 53

func (f *fields) parse(name, text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil && (n < 0 || n > most) {
		err = errors.New("is out of range")
	}
	if err != nil && f.err == nil {
		f.err = fmt.Errorf("%s=%s is no number that it may have", name, text)
	}
	return n
}

func (f *fields) number(name string) int64 { return f.parse(name, f.words[name]) }

func (f *fields) spread(name string) Spread {
	parts := strings.Split(f.words[name], ",")
	if len(parts) != 5 {
		f.err = fmt.Errorf("%s has %d times in place of five", name, len(parts))
		return Spread{}
	}
	var n [5]int64
	for i, p := range parts {
		n[i] = f.parse(name, p)
	}
	if f.err == nil && !slices.IsSorted(n[:]) {
		f.err = fmt.Errorf("the times of %s are not in order", name)
	}
	return Spread{n[0], n[1], n[2], n[3], n[4]}
}

// Lines are the lines of a log that are the module's, to be kept.
func Lines(log string) string {
	var b strings.Builder
	for l := range strings.Lines(log) {
		if i := strings.Index(l, tag+" "); i >= 0 {
			b.WriteString(strings.TrimRight(l[i:], "\r\n") + "\n")
		}
	}
	return b.String()
}
