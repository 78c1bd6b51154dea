package results

import (
	"slices"
	"strings"
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

// SweptKeys returns the parameters that any point of the set sweeps, in the order of the names.
func SweptKeys(s *Set) []string {
	var keys []string
	for _, p := range s.Points() {
		for _, x := range p.Settings() {
			if !slices.Contains(keys, x.Key) {
				keys = append(keys, x.Key)
			}
		}
	}
	return keys
}

// Differ reports whether f tells some points apart.
func Differ(points []Point, f func(Point) string) bool {
	return slices.ContainsFunc(points, func(p Point) bool { return f(p) != f(points[0]) })
}
