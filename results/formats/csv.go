package formats

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"kprobesim/results"
)

// CSV returns the long form of a set: a header and one line an observation, fields parted by commas, never quoted (Add refuses
// fields that would need it), every line ended by a newline.
func CSV(s *results.Set) []byte {
	var b bytes.Buffer
	f := form{s.Replicated(), len(s.Overrides) > 0}
	line := func(fields []string) { b.WriteString(strings.Join(fields, ",") + "\n") }
	line(f.header())
	settings := packOverrides(s.Overrides)
	for r := range s.All() {
		line(f.fields(r.Fields(), strconv.Itoa(r.Replicate), settings))
	}
	return b.Bytes()
}

// form says which further columns a file has. Only a set with several replicates has their number, and only one with
// overrides the settings, the same in each line. Other files stay the bytes that they were before there were these columns.
type form struct{ replicate, settings bool }

// replicateAt is the place of the column of replicates, behind the seed.
const replicateAt = 6

// fields puts the further columns among the others.
func (f form) fields(of []string, replicate, settings string) []string {
	if f.replicate {
		of = slices.Insert(of, replicateAt, replicate)
	}
	if f.settings {
		of = append(of, settings)
	}
	return of
}

func (f form) header() []string { return f.fields(results.Columns(), "replicate", "set") }

// formOf tells the form of a file from its header; false for a header that no file has.
func formOf(header string) (form, bool) {
	for _, f := range []form{{}, {replicate: true}, {settings: true}, {true, true}} {
		if header == strings.Join(f.header(), ",") {
			return f, true
		}
	}
	return form{}, false
}

// ReadCSV reads the long form strictly: it refuses all that CSV does not write back byte for byte. Errors begin with
// name:line.
func ReadCSV(name string, r io.Reader) (*results.Set, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	lines := strings.SplitAfter(string(data), "\n")
	f, known := formOf(strings.TrimSuffix(lines[0], "\n"))
	if !known {
		return nil, fmt.Errorf("%s:1: header is %.80q, want %q", name, lines[0], strings.Join(results.Columns(), ","))
	}
	last := len(lines) - 1
	if lines[last] != "" {
		return nil, fmt.Errorf("%s:%d: the last line does not end; the file is cut", name, last+1)
	}
	set := &results.Set{}
	for i, text := range lines[1:last] {
		if err := f.read(set, strings.Split(strings.TrimSuffix(text, "\n"), ",")); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, i+2, err)
		}
	}
	return set, asWritten(name, lines, strings.SplitAfter(string(CSV(set)), "\n"))
}

// asWritten refuses lines that are not as CSV writes what they say, such as a number with a leading zero.
func asWritten(name string, lines, want []string) error {
	for i, text := range lines {
		if text != want[i] {
			return fmt.Errorf("%s:%d: %.200q is not as it is written, which is %.200q", name, i+1, text, want[i])
		}
	}
	return nil
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
