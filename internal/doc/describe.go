package doc

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"

	"kprobesim/internal/distinct"
)

// Schema describes a value as JSON Schema does: what a reader asks for, with the alternatives of all kinds of a file together.
type Schema struct {
	types       []string
	text        string // in words
	words       []string
	free        bool // a string is not one of words alone
	items       *Schema
	properties  map[string]*Schema
	least, most *int64
	whole       bool // it is of a document, and not of a part
}

// anyKey stands for a key that a document chooses itself, such as the name of a port. It is a number because some tables
// have numbers as keys.
const anyKey = "0"

// made is the value of a document that is made up as it is read, to learn what a reader asks for.
type made struct {
	schema *Schema
	choose func(n int) int
}

// coin is true for half of the answers.
func (m *made) coin() bool { return m.choose(2) == 1 }

// Describe has read read documents that are made up, in each of them other keys and other words, and returns what it asked for.
// It follows from read alone.
func Describe(documents int, read func(root *Node, errs *Errors)) *Schema {
	s, choose := &Schema{whole: true}, rand.New(rand.NewPCG(1, 2)).IntN
	for range documents {
		var errs Errors
		read(&Node{Kind: Table, made: &made{s, choose}}, &errs)
	}
	return s
}

// describe notes for a made-up value of which type it has to be, and reports whether it is one.
func (n *Node) describe(types ...string) bool {
	if n.made == nil {
		return false
	}
	s := n.made.schema
	s.types = distinct.Append(s.types, types...)
	return true
}

// property makes up the value of a key.
func (n *Node) property(key string) *Node {
	n.describe("object")
	s := n.made.schema
	if s.properties == nil {
		s.properties = map[string]*Schema{}
	}
	if s.properties[key] == nil {
		s.properties[key] = &Schema{}
	}
	return &Node{Pos: n.Pos, made: &made{s.properties[key], n.made.choose}}
}

// item makes up an element of a list.
func (n *Node) item() *Node {
	n.describe("array")
	s := n.made.schema
	if s.items == nil {
		s.items = &Schema{}
	}
	return &Node{Pos: n.Pos, made: &made{s.items, n.made.choose}}
}

// word makes up one of some words.
func (n *Node) word(known []string) string {
	n.describe("string")
	s := n.made.schema
	for _, w := range known {
		s.free = s.free || w == anyKey // it is a name that the document chooses
		if w != anyKey {
			s.words = distinct.Append(s.words, w)
		}
	}
	if len(known) == 0 {
		return ""
	}
	return known[n.made.choose(len(known))]
}

// between notes the bounds of an integer. Where readers differ, the wider ones hold.
func (s *Schema) between(lo, hi int64) {
	if s.least == nil || lo < *s.least {
		s.least = &lo
	}
	if s.most == nil || hi > *s.most {
		s.most = &hi
	}
}

// MarshalJSON writes the schema. An object has no other keys than those that a reader asks for.
func (s *Schema) MarshalJSON() ([]byte, error) {
	out := map[string]any{}
	if s.whole {
		out["$schema"] = "http://json-schema.org/draft-07/schema#"
	}
	if len(s.types) > 0 {
		out["type"] = slices.Sorted(slices.Values(s.types))
	}
	if s.text != "" {
		out["description"] = s.text
	}
	if len(s.words) > 0 && !s.free && len(s.types) == 1 {
		out["enum"] = slices.Sorted(slices.Values(s.words))
	} else if len(s.words) > 0 {
		out["examples"] = slices.Sorted(slices.Values(s.words))
	}
	if s.least != nil {
		out["minimum"], out["maximum"] = *s.least, *s.most
	}
	if s.items != nil {
		out["items"] = s.items
	}
	if s.properties != nil {
		named := maps.Clone(s.properties)
		delete(named, anyKey)
		out["properties"], out["additionalProperties"] = named, false
		if other := s.properties[anyKey]; other != nil {
			out["additionalProperties"] = other
		}
	}
	return json.Marshal(out)
}
