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

// overridesColumn is the header of a last column, which only a set with overrides has: the settings, the
// same in each line. What has none is the same bytes as before there was that column.
const overridesColumn = "set"

// CSV returns the long form of a set: a header and one line an observation, fields parted by commas, never
// quoted (Add refuses fields that would need it), every line ended by a newline.
func CSV(s *results.Set) []byte {
	var b bytes.Buffer
	extra := extraColumns{s.Replicated(), len(s.Overrides) > 0}
	line(&b, extra.names())
	for _, r := range s.Records() {
		fields := withReplicate(r.Fields(), strconv.Itoa(r.Replicate), extra.replicate)
		if extra.overrides {
			fields = append(fields, packOverrides(s.Overrides))
		}
		line(&b, fields)
	}
	return b.Bytes()
}

// replicateColumn stands behind the seed in the file of a set that has more than one replicate. Other files
// are without it, so that they stay the bytes that they were before there were replicates.
const (
	replicateColumn = "replicate"
	replicateAt     = 6
)

// extraColumns are the columns that only some files have.
type extraColumns struct{ replicate, overrides bool }

// names is the header of a file with these columns.
func (e extraColumns) names() []string {
	names := withReplicate(results.Columns(), replicateColumn, e.replicate)
	if e.overrides {
		names = append(names, overridesColumn)
	}
	return names
}

// extraOf tells from a header which columns a file has; false for a header that no file has.
func extraOf(header string) (extraColumns, bool) {
	for _, e := range []extraColumns{{}, {replicate: true}, {overrides: true}, {true, true}} {
		if header == strings.Join(e.names(), ",") {
			return e, true
		}
	}
	return extraColumns{}, false
}

// withReplicate puts the text of the column into its place among the others, when there is such a column.
func withReplicate(fields []string, text string, replicated bool) []string {
	if !replicated {
		return fields
	}
	return slices.Insert(fields, replicateAt, text)
}

// cutReplicate takes the column out of a line and parses it.
func cutReplicate(text string) (rest string, replicate int, err error) {
	f := strings.Split(text, ",")
	if len(f) <= replicateAt {
		return text, 0, nil // the number of fields is wrong, which is said of the others
	}
	replicate, err = strconv.Atoi(f[replicateAt])
	if err != nil || replicate < 0 || strconv.Itoa(replicate) != f[replicateAt] {
		return "", 0, fmt.Errorf("%s %q is not a plain number", replicateColumn, clip(f[replicateAt]))
	}
	return strings.Join(slices.Delete(f, replicateAt, replicateAt+1), ","), replicate, nil
}

func line(b *bytes.Buffer, fields []string) {
	b.WriteString(strings.Join(fields, ","))
	b.WriteByte('\n')
}

// ReadCSV reads the long form strictly: what it accepts, CSV writes back byte for byte. Errors begin
// with name:line.
func ReadCSV(name string, r io.Reader) (*results.Set, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	text, ended := strings.CutSuffix(string(data), "\n")
	lines := strings.Split(text, "\n")
	want := strings.Join(results.Columns(), ",")
	extra, known := extraOf(lines[0])
	if !known {
		return nil, fmt.Errorf("%s:1: header is %q, want %q", name, clip(lines[0]), want)
	}
	if !ended {
		return nil, fmt.Errorf("%s:%d: the last line does not end; the file is cut", name, len(lines))
	}
	set, err := readLines(name, lines, extra)
	if err == nil && extra.replicate && !set.Replicated() {
		return nil, fmt.Errorf("%s:1: column %s, and no line of a replicate other than 0", name, replicateColumn)
	}
	return set, err
}

func readLines(name string, lines []string, extra extraColumns) (*results.Set, error) {
	set := &results.Set{}
	for i, text := range lines[1:] {
		var replicate int
		var err error
		if extra.overrides {
			text, err = cutOverrides(set, text)
		}
		if err == nil && extra.replicate {
			text, replicate, err = cutReplicate(text)
		}
		var r results.Record
		if err == nil {
			r, err = parseRecord(text)
			r.Replicate = replicate
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

func parseRecord(text string) (results.Record, error) {
	f := strings.Split(text, ",")
	if want := len(results.Columns()); len(f) != want {
		return results.Record{}, fmt.Errorf("%d fields, want %d", len(f), want)
	}
	cpus, err := strconv.Atoi(f[4])
	if err != nil || strconv.Itoa(cpus) != f[4] {
		return results.Record{}, fmt.Errorf("cpus %q is not a plain number", clip(f[4]))
	}
	seed, err := strconv.ParseUint(f[5], 10, 64)
	if err != nil || strconv.FormatUint(seed, 10) != f[5] {
		return results.Record{}, fmt.Errorf("seed %q is not a plain number", clip(f[5]))
	}
	value, err := results.ParseValue(f[9])
	if err != nil {
		return results.Record{}, err
	}
	point := results.Point{
		Experiment: f[0], Machine: f[1], ISA: f[2], Era: f[3], CPUs: cpus, Seed: seed, Probe: f[6],
	}
	return results.Record{Point: point, Metric: f[7], Unit: f[8], Value: value, Role: results.Role(f[10])}, nil
}

// clip keeps foreign text in error messages short.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}
