package formats

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"kprobesim/results"
)

// CSV returns the long form of a set, as WriteCSV writes it.
func CSV(s *results.Set) []byte {
	var b bytes.Buffer
	_ = WriteCSV(&b, s) // a buffer takes everything
	return b.Bytes()
}

// WriteCSV writes the long form of a set: a header and one line an observation, fields parted by commas, never quoted (Add
// refuses fields that would need it), every line ended by a newline.
func WriteCSV(w io.Writer, s *results.Set) error {
	b := bufio.NewWriter(w)
	f := form{s.Replicated(), s.Axes, len(s.Overrides) > 0}
	line := func(fields []string) { b.WriteString(strings.Join(fields, ",") + "\n") } // Flush has the error
	line(f.header())
	settings := packOverrides(s.Overrides)
	var at results.Point
	var cells []string
	for r := range s.All() {
		if r.Point != at || cells == nil {
			at, cells = r.Point, cellsOf(s.Axes, r.Point)
		}
		line(f.fields(r.Fields(), strconv.Itoa(r.Replicate), cells, settings))
	}
	return b.Flush()
}

// cellsOf are the values of swept keys at a point.
func cellsOf(axes []results.Axis, p results.Point) []string {
	cells := make([]string, len(axes))
	for i, a := range axes {
		cells[i] = a.Cell(p)
	}
	return cells
}

// form says which further columns a file has. Only a set with several replicates has their number, only one of a sweep the
// swept keys, and only one with overrides the settings, the same in each line. Other files stay the bytes that they were
// before there were these columns.
type form struct {
	replicate bool
	axes      []results.Axis
	settings  bool
}

// replicateAt is the place of the column of replicates, behind the seed.
const replicateAt = 6

// fields puts the further columns among the others.
func (f form) fields(of []string, replicate string, cells []string, settings string) []string {
	if f.replicate {
		of = slices.Insert(of, replicateAt, replicate)
	}
	of = append(of, cells...)
	if f.settings {
		of = append(of, settings)
	}
	return of
}

func (f form) header() []string {
	heads := make([]string, len(f.axes))
	for i, a := range f.axes {
		heads[i] = a.Head()
	}
	return f.fields(results.Columns(), "replicate", heads, "set")
}

// formOf tells the form of a file from its header; false for a header that no file has.
func formOf(header string) (f form, ok bool) {
	fields := strings.Split(header, ",")
	f.replicate = len(fields) > replicateAt && fields[replicateAt] == "replicate"
	known := len(f.header())
	if len(fields) > known && fields[len(fields)-1] == "set" {
		f.settings, fields = true, fields[:len(fields)-1]
	}
	for _, head := range fields[min(known, len(fields)):] {
		f.axes = append(f.axes, results.ParseAxis(head))
	}
	return f, header == strings.Join(f.header(), ",")
}

// ReadCSV reads the long form strictly: it refuses all that CSV does not write back byte for byte. Errors begin with
// name:line.
func ReadCSV(name string, r io.Reader) (*results.Set, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	header, rest, _ := strings.Cut(string(data), "\n")
	f, known := formOf(header)
	if !known {
		return nil, fmt.Errorf("%s:1: header is %.80q, want %q", name, header, strings.Join(results.Columns(), ","))
	}
	set := &results.Set{Axes: f.axes}
	number := 1
	for text := range strings.Lines(rest) {
		number++
		if err := f.read(set, strings.Split(strings.TrimSuffix(text, "\n"), ",")); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, number, err)
		}
	}
	if !bytes.HasSuffix(data, []byte("\n")) {
		return nil, fmt.Errorf("%s:%d: the last line does not end; the file is cut", name, number)
	}
	want := &sameLines{name: name, left: data}
	if err := WriteCSV(want, set); err != nil {
		return nil, err
	}
	return set, nil
}

// sameLines takes what is written and refuses what differs from lines that were read, such as a number with a leading zero.
type sameLines struct {
	name string
	left []byte
	line int
	rest []byte // of a line that is not whole yet
}

func (s *sameLines) Write(b []byte) (int, error) {
	s.rest = append(s.rest, b...)
	for line := range bytes.Lines(s.rest) {
		if line[len(line)-1] != '\n' {
			s.rest = slices.Clone(line)
			return len(b), nil
		}
		s.line++
		text, rest, _ := bytes.Cut(s.left, []byte("\n"))
		if string(text) != string(line[:len(line)-1]) {
			return 0, fmt.Errorf("%s:%d: %.200q is not as it is written, which is %.200q", s.name, s.line, string(text)+"\n", line)
		}
		s.left = rest
	}
	s.rest = nil
	return len(b), nil
}

// read adds the record of a line.
func (f form) read(set *results.Set, fields []string) (err error) {
	if want := len(f.header()); len(fields) != want {
		return fmt.Errorf("%d fields, want %d", len(fields), want)
	}
	var r results.Record
	if f.settings && set.Overrides == nil {
		if set.Overrides, err = unpackOverrides(fields[len(fields)-1]); err != nil {
			return err
		}
	}
	if f.replicate {
		if r.Replicate, err = strconv.Atoi(fields[replicateAt]); err != nil {
			return fmt.Errorf("replicate %.80q is not a plain number", fields[replicateAt])
		}
		fields = slices.Delete(fields, replicateAt, replicateAt+1)
	}
	r.Experiment, r.Machine, r.ISA, r.Era, r.Probe = fields[0], fields[1], fields[2], fields[3], fields[6]
	r.Metric, r.Unit, r.Role = fields[7], fields[8], results.Role(fields[10])
	for i, a := range f.axes {
		if cell, text := fields[len(results.Columns())+i], r.Swept(a.Key); cell != text {
			a.Cells[text] = cell
		}
	}
	if r.CPUs, err = strconv.Atoi(fields[4]); err != nil {
		return fmt.Errorf("cpus %.80q is not a plain number", fields[4])
	}
	if r.Seed, err = strconv.ParseUint(fields[5], 10, 64); err != nil {
		return fmt.Errorf("seed %.80q is not a plain number", fields[5])
	}
	if r.Value, err = results.ParseValue(fields[9]); err != nil {
		return err
	}
	return set.Add(r)
}
