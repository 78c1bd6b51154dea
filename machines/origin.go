package machines

import "strings"

// Origin is where a number of a description comes from.
type Origin int

// Origins, in the order of tables.
const (
	Sourced  Origin = iota // published: its source names a work of [sources] that was read
	Measured               // its source names a measurement on a host, whose text begins with "measured here"
	Prior                  // its source says that it is a prior, or names a work that is quoted from memory
	Fitted                 // fitted on a published figure
	origins
)

// String names an origin.
func (o Origin) String() string {
	return [origins]string{"sourced", "measured", "prior", "fitted"}[o]
}

// Origin tells where a number of the machine comes from. An overridden one has no source and counts as a prior.
func (m *Machine) Origin(p Param) Origin {
	name, _, _ := strings.Cut(p.Source, ":")
	work, known := m.Sources[name]
	switch {
	case len(p.Fitted) > 0:
		return Fitted
	case strings.HasPrefix(work, "measured here"):
		return Measured
	case !known, strings.Contains(p.Source, "prior"), strings.Contains(work, "from memory"):
		return Prior
	}
	return Sourced
}

// Origins counts the numbers of the machine by origin.
func (m *Machine) Origins() (n [origins]int) {
	for _, p := range m.Params {
		n[m.Origin(p)]++
	}
	return n
}
