package results

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"kprobesim/internal/distinct"
)

// Setting is one parameter of a sweep in the name of a point.
type Setting struct{ Key, Value string }

// swept takes the name of a point apart: what is observed, and the parameters of the sweep. A value
// may hold a slash.
func swept(probe string) (name string, settings []Setting) {
	parts := strings.Split(probe, "/")
	for _, part := range parts[1:] {
		key, value, ok := strings.Cut(part, "=")
		switch {
		case ok:
			settings = append(settings, Setting{key, value})
		case len(settings) > 0:
			settings[len(settings)-1].Value += "/" + part
		}
	}
	return parts[0], settings
}

// Name is the point's name without the parameters of a sweep.
func (p Point) Name() string {
	name, _ := swept(p.Probe)
	return name
}

// Settings are the parameters of the sweep at the point.
func (p Point) Settings() []Setting {
	_, settings := swept(p.Probe)
	return settings
}

// Swept returns the value that a parameter of the sweep has at the point, "" when it is not swept.
func (p Point) Swept(key string) string {
	for _, s := range p.Settings() {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// Without is the text of the point's Probe without one parameter of the sweep.
func (p Point) Without(key string) string {
	name, settings := swept(p.Probe)
	for _, s := range settings {
		if s.Key != key {
			name += "/" + s.Key + "=" + s.Value
		}
	}
	return name
}

// Axis is a swept key as a column of its own. In names of points its values stand as they were written.
type Axis struct {
	Key, Unit string            // a unit is that of Cells
	Cells     map[string]string // numbers in the unit, by the texts that names have; texts that are cells already are left out
}

// ownColumn reports whether records have a swept key in another column.
func ownColumn(key string) bool {
	return slices.Contains([]string{"machine", "isa", "seed", "kernel.isa", "kernel.era", "kernel.cpus"}, key)
}

// AddAxis makes a swept key a column of the set, unless records have it in another one. A key that is a column already
// only adds its values.
func (s *Set) AddAxis(a Axis) {
	i := slices.IndexFunc(s.Axes, func(b Axis) bool { return b.Key == a.Key })
	switch {
	case i >= 0:
		maps.Copy(s.Axes[i].Cells, a.Cells)
	case !ownColumn(a.Key):
		a.Cells = maps.Clone(a.Cells)
		s.Axes = append(s.Axes, a)
	}
}

// Head is the title of the column: the key, and its unit in parentheses.
func (a Axis) Head() string {
	if a.Unit == "" {
		return a.Key
	}
	return a.Key + " (" + a.Unit + ")"
}

// ParseAxis reads what Head wrote.
func ParseAxis(head string) Axis {
	key, unit, _ := strings.Cut(strings.TrimSuffix(head, ")"), " (")
	return Axis{Key: key, Unit: unit, Cells: map[string]string{}}
}

// Cell is the value at a point, "" where the key is not swept.
func (a Axis) Cell(p Point) string {
	text := p.Swept(a.Key)
	if cell, ok := a.Cells[text]; ok {
		return cell
	}
	return text
}

// Numeric reports whether each value of a column is a number.
func (s *Set) Numeric(a Axis) bool {
	return !slices.ContainsFunc(s.points, func(p Point) bool {
		cell := a.Cell(p)
		_, err := ParseValue(cell)
		return err != nil && cell != ""
	})
}

// Wish is a figure that an experiment asks for: which keys are its x axis, its lines or bars, and its panels, and what it
// shows. Title is the user's, also of other figures, "" for what a figure says by itself.
type Wish struct {
	X      string `json:"x,omitempty"`
	Series string `json:"series,omitempty"`
	Panel  string `json:"panel,omitempty"`
	Metric string `json:"metric,omitempty"` // the first one of the points, if it is left out
	Title  string `json:"title,omitempty"`
}

// Value returns the value of a key at a point: of a swept key, or of a column of records.
func (p Point) Value(key string) string {
	switch key {
	case "probe":
		return p.Name()
	case "experiment":
		return p.Experiment
	case "machine":
		return p.Machine
	case "isa", "kernel.isa":
		return p.ISA
	case "era", "kernel.era":
		return p.Era
	case "cpus", "kernel.cpus":
		return strconv.Itoa(p.CPUs)
	case "seed":
		return strconv.FormatUint(p.Seed, 10)
	}
	return p.Swept(key)
}

// SweptKeys returns the parameters that any point of the set sweeps, in the order of the names.
func SweptKeys(s *Set) []string {
	var keys []string
	for _, p := range s.points {
		for _, x := range p.Settings() {
			keys = distinct.Append(keys, x.Key)
		}
	}
	return keys
}

// Differ reports whether f tells some points apart.
func Differ(points []Point, f func(Point) string) bool {
	return slices.ContainsFunc(points, func(p Point) bool { return f(p) != f(points[0]) })
}
