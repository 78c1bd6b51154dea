package formats

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"kprobesim/results"
)

// jsonFormat grows when a reader of the old form would misunderstand the new one.
const jsonFormat = 1

// About says what a set of records is of.
type About struct {
	Name  string `json:"name"`  // of the experiment or collection
	Title string `json:"title"` // as its table has it
	Kind  string `json:"kind"`  // what was measured
}

// jsonFile is the form on disk: the records of a set grouped by point, in the order of the set.
type jsonFile struct {
	jsonHead
	Points []jsonPoint `json:"points"`
}

type jsonHead struct {
	Format int `json:"format"`
	About
	Overrides []string   `json:"overrides"`
	Axes      []jsonAxis `json:"axes,omitempty"`

	Figure results.Wish `json:"figure,omitzero"`
}

// jsonAxis is a swept key and the unit of its values.
type jsonAxis struct {
	Key  string `json:"key"`
	Unit string `json:"unit,omitempty"`
}

// PlaceJSON names a point within an experiment, as programs read it. The seed is a string because JSON numbers
// lose digits in many readers.
type PlaceJSON struct {
	Machine   string `json:"machine"`
	ISA       string `json:"isa"`
	Era       string `json:"era"`
	CPUs      int    `json:"cpus"`
	Seed      uint64 `json:"seed,string"`
	Replicate int    `json:"replicate"`
	Probe     string `json:"probe"`
}

// PlaceOf is the place of a point.
func PlaceOf(p results.Point) PlaceJSON {
	return PlaceJSON{p.Machine, p.ISA, p.Era, p.CPUs, p.Seed, p.Replicate, p.Probe}
}

// jsonPoint is one point.
type jsonPoint struct {
	Experiment string `json:"experiment"`
	PlaceJSON
	Swept  map[string]any `json:"swept,omitempty"` // values of the axes
	Values []jsonValue    `json:"values"`
}

// jsonValue is one observation. The number has the digits of the CSV form.
type jsonValue struct {
	Metric string       `json:"metric"`
	Unit   string       `json:"unit"`
	Value  json.Number  `json:"value"`
	Role   results.Role `json:"role"`
	Source string       `json:"source,omitempty"`
}

// JSON returns the records of the CSV form as WriteJSON writes them.
func JSON(s *results.Set, about About) ([]byte, error) {
	var b bytes.Buffer
	err := WriteJSON(&b, s, about)
	return b.Bytes(), err
}

// WriteJSON writes the records of the CSV form as one JSON document, with the sources of published values and with
// what the set is of. Points are encoded one by one, as all of them would take too much memory.
func WriteJSON(w io.Writer, s *results.Set, about About) error {
	b := bufio.NewWriter(w)
	head := jsonHead{Format: jsonFormat, About: about, Overrides: append([]string{}, s.Overrides...), Figure: s.Wish}
	numeric := map[string]bool{}
	for _, a := range s.Axes {
		head.Axes = append(head.Axes, jsonAxis{a.Key, a.Unit})
		numeric[a.Key] = s.Numeric(a)
	}
	text, err := indented(head, "")
	if err != nil {
		return err
	}
	b.WriteString(strings.TrimSuffix(text, "\n}") + ",\n \"points\": [") // Flush has the error
	end := "]\n}\n"
	for i, p := range s.Points() {
		if i > 0 {
			b.WriteByte(',')
		}
		if text, err = indented(pointJSON(s, p, numeric), "  "); err != nil {
			return err
		}
		b.WriteString("\n  " + text)
		end = "\n ]\n}\n"
	}
	b.WriteString(end)
	return b.Flush()
}

// indented encodes a value as one of a larger document, with texts as they are.
func indented(v any, prefix string) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent(prefix, " ")
	if err := enc.Encode(v); err != nil {
		return "", fmt.Errorf("results in JSON: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// pointJSON is a point with its records. Values of axes that are numbers everywhere are numbers.
func pointJSON(s *results.Set, p results.Point, numeric map[string]bool) jsonPoint {
	out := jsonPoint{Experiment: p.Experiment, PlaceJSON: PlaceOf(p)}
	for _, a := range s.Axes {
		cell := a.Cell(p)
		if cell == "" {
			continue
		}
		if out.Swept == nil {
			out.Swept = map[string]any{}
		}
		if out.Swept[a.Key] = cell; numeric[a.Key] {
			out.Swept[a.Key] = json.Number(cell)
		}
	}
	for r := range s.At(p) {
		out.Values = append(out.Values, jsonValue{r.Metric, r.Unit, json.Number(r.Value.String()), r.Role, r.Source})
	}
	return out
}

// ReadJSON reads what JSON wrote and refuses unknown keys and other formats. The name stands in errors.
func ReadJSON(name string, b []byte) (About, *results.Set, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	dec.UseNumber()
	var file jsonFile
	if err := dec.Decode(&file); err != nil {
		return About{}, nil, fmt.Errorf("%s: %w", name, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return About{}, nil, fmt.Errorf("%s: something follows the results", name)
	}
	if file.Format != jsonFormat {
		return About{}, nil, fmt.Errorf("%s: format %d, this program reads %d; run the experiment again", name,
			file.Format, jsonFormat)
	}
	set := &results.Set{Overrides: file.Overrides, Wish: file.Figure}
	for _, a := range file.Axes {
		set.Axes = append(set.Axes, results.Axis{Key: a.Key, Unit: a.Unit, Cells: map[string]string{}})
	}
	for i, p := range file.Points {
		if err := p.addTo(set); err != nil {
			return About{}, nil, fmt.Errorf("%s: point %d: %w", name, i, err)
		}
	}
	return file.About, set, nil
}

// addTo adds the records of one point.
func (p jsonPoint) addTo(s *results.Set) error {
	at := results.Point{
		Experiment: p.Experiment, Machine: p.Machine, ISA: p.ISA, Era: p.Era, CPUs: p.CPUs, Seed: p.Seed, Replicate: p.Replicate,
		Probe: p.Probe,
	}
	for _, a := range s.Axes {
		if text, cell := at.Swept(a.Key), p.Swept[a.Key]; cell != nil && fmt.Sprint(cell) != text {
			a.Cells[text] = fmt.Sprint(cell)
		}
	}
	for _, v := range p.Values {
		value, err := results.ParseValue(v.Value.String())
		if err != nil {
			return fmt.Errorf("%s: %w", v.Metric, err)
		}
		if err := s.Add(results.Record{Point: at, Metric: v.Metric, Unit: v.Unit, Value: value, Role: v.Role, Source: v.Source}); err != nil {
			return err
		}
	}
	return nil
}
