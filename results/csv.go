package results

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// overridesColumn is the header of a last column, which only a set with overrides has: the settings, the
// same in each line. What has none is the same bytes as before there was that column.
const overridesColumn = "set"

// columnNames is the header of the long form.
func columnNames() []string {
	return []string{
		"experiment", "machine", "isa", "era", "cpus", "seed", "probe", "metric", "unit", "value",
		"role",
	}
}

// fields returns the columns of one record in the order of columnNames.
func (r Record) fields() []string {
	return []string{
		r.Experiment, r.Machine, r.ISA, r.Era, strconv.Itoa(r.CPUs),
		strconv.FormatUint(r.Seed, 10), r.Probe, r.Metric, r.Unit, r.Value.String(),
		string(r.Role),
	}
}

// CSV returns the long form: a header and one line an observation, fields parted by commas, never
// quoted (Add refuses fields that would need it), every line ended by a newline.
func (s *Set) CSV() []byte {
	var b bytes.Buffer
	var last []string
	head := columnNames()
	if len(s.Overrides) > 0 {
		head, last = append(head, overridesColumn), []string{packOverrides(s.Overrides)}
	}
	line(&b, head)
	for _, r := range s.records {
		line(&b, append(r.fields(), last...))
	}
	return b.Bytes()
}

func line(b *bytes.Buffer, fields []string) {
	b.WriteString(strings.Join(fields, ","))
	b.WriteByte('\n')
}

// ReadCSV reads the long form strictly: what it accepts, CSV writes back byte for byte. Errors begin
// with name:line.
func ReadCSV(name string, r io.Reader) (*Set, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	text, ended := strings.CutSuffix(string(data), "\n")
	lines := strings.Split(text, "\n")
	want := strings.Join(columnNames(), ",")
	overridden := lines[0] == want+","+overridesColumn
	if lines[0] != want && !overridden {
		return nil, fmt.Errorf("%s:1: header is %q, want %q", name, clip(lines[0]), want)
	}
	if !ended {
		return nil, fmt.Errorf("%s:%d: the last line does not end; the file is cut", name, len(lines))
	}
	return readLines(name, lines, overridden)
}

func readLines(name string, lines []string, overridden bool) (*Set, error) {
	set := &Set{}
	for i, text := range lines[1:] {
		var err error
		if overridden {
			text, err = set.cutOverrides(text)
		}
		var r Record
		if err == nil {
			r, err = parseRecord(text)
		}
		if err == nil {
			err = set.Add(r)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, i+2, err)
		}
	}
	return set, nil
}

func parseRecord(text string) (Record, error) {
	f := strings.Split(text, ",")
	if want := len(columnNames()); len(f) != want {
		return Record{}, fmt.Errorf("%d fields, want %d", len(f), want)
	}
	cpus, err := strconv.Atoi(f[4])
	if err != nil || strconv.Itoa(cpus) != f[4] {
		return Record{}, fmt.Errorf("cpus %q is not a plain number", clip(f[4]))
	}
	seed, err := strconv.ParseUint(f[5], 10, 64)
	if err != nil || strconv.FormatUint(seed, 10) != f[5] {
		return Record{}, fmt.Errorf("seed %q is not a plain number", clip(f[5]))
	}
	value, err := ParseValue(f[9])
	if err != nil {
		return Record{}, err
	}
	point := Point{
		Experiment: f[0], Machine: f[1], ISA: f[2], Era: f[3], CPUs: cpus, Seed: seed, Probe: f[6],
	}
	return Record{Point: point, Metric: f[7], Unit: f[8], Value: value, Role: Role(f[10])}, nil
}

// clip keeps foreign text in error messages short.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}
