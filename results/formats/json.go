package formats

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

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
	Format int `json:"format"`
	About
	Overrides []string    `json:"overrides"`
	Points    []jsonPoint `json:"points"`
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
	Values []jsonValue `json:"values"`
}

// jsonValue is one observation. The number has the digits of the CSV form.
type jsonValue struct {
	Metric string       `json:"metric"`
	Unit   string       `json:"unit"`
	Value  json.Number  `json:"value"`
	Role   results.Role `json:"role"`
	Source string       `json:"source,omitempty"`
}

// JSON returns the records of the CSV form as one JSON document, with the sources of published values and with
// what the set is of.
func JSON(s *results.Set, about About) ([]byte, error) {
	file := jsonFile{Format: jsonFormat, About: about, Overrides: append([]string{}, s.Overrides...), Points: []jsonPoint{}}
	place := map[results.Point]int{}
	for r := range s.All() {
		i, seen := place[r.Point]
		if !seen {
			i = len(file.Points)
			place[r.Point] = i
			file.Points = append(file.Points, jsonPoint{r.Point.Experiment, PlaceOf(r.Point), nil})
		}
		v := jsonValue{r.Metric, r.Unit, json.Number(r.Value.String()), r.Role, r.Source}
		file.Points[i].Values = append(file.Points[i].Values, v)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(file); err != nil {
		return nil, fmt.Errorf("results in JSON: %w", err)
	}
	return b.Bytes(), nil
}

// ReadJSON reads what JSON wrote and refuses unknown keys and other formats. The name stands in errors.
func ReadJSON(name string, b []byte) (About, *results.Set, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
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
	set := &results.Set{Overrides: file.Overrides}
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
