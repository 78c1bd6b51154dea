package doc

import (
	"fmt"
	"strconv"
	"strings"
)

// Setting is a value for one key, named by its dotted path.
type Setting struct {
	Path  []string
	Value *Node
}

// Key returns the dotted path.
func (s Setting) Key() string { return strings.Join(s.Path, ".") }

// ParseSetting reads the argument of --set: a dotted key, "=", and a TOML value; what is no TOML
// value is taken as a string, so that quotes can be left away.
// Its positions name the option in the place of a file, for a message that shows what was typed.
func ParseSetting(arg string) (Setting, error) {
	name := "--set " + arg
	key, val, ok := strings.Cut(arg, "=")
	key, val = strings.TrimSpace(key), strings.TrimSpace(val)
	if !ok || key == "" {
		return Setting{}, One(Pos{File: name}, "want key=value, for instance --set workload.hits=100")
	}
	path, err := ParsePath(key)
	if err != nil {
		return Setting{}, One(Pos{File: name}, "%v", err)
	}
	root, err := Parse(name, []byte("v = "+val))
	if err != nil || len(root.Fields) != 1 {
		root = &Node{Kind: Table, Fields: []Field{{Key: "v", Value: &Node{Kind: String, Text: val}}}}
	}
	v := root.Get("v")
	v.place(Pos{File: name})
	return Setting{path, v}, nil
}

// place gives n and everything in it one position.
func (n *Node) place(pos Pos) {
	n.Pos = pos
	for i := range n.Fields {
		n.Fields[i].Pos = pos
		n.Fields[i].Value.place(pos)
	}
	for _, it := range n.Items {
		it.place(pos)
	}
}

// ParsePath reads a dotted key as TOML does ("a.b", `a."b.c"`). Parts of a bare path that TOML
// would not take unquoted are taken as they are.
func ParsePath(key string) ([]string, error) {
	if n, err := Parse(key, []byte(key+" = 0")); err == nil {
		if path := leafPath(n); len(path) > 0 {
			return path, nil
		}
		return nil, fmt.Errorf("%q is no dotted key", key) // a comment, for instance
	}
	parts := strings.Split(key, ".")
	for _, p := range parts {
		if p == "" || strings.ContainsAny(p, "\"'\n") {
			return nil, fmt.Errorf("%q is no dotted key", key)
		}
	}
	return parts, nil
}

// leafPath returns the path of the only leaf of n.
// A document of one line has at most one, and only tables stand above it.
func leafPath(n *Node) []string {
	var path []string
	for len(n.Fields) > 0 {
		path = append(path, n.Fields[0].Key)
		n = n.Fields[0].Value
	}
	return path
}

// Apply puts a copy of the value in its place in the document. Tables on the way are made when they
// are missing (a schema then says whether it knows them); elements of a list are named by their
// name or their index and must exist.
func (s Setting) Apply(root *Node) error {
	here := root
	for i, key := range s.Path[:len(s.Path)-1] {
		next, err := step(here, key)
		if err != nil {
			return One(s.Value.Pos, "%s: %v", strings.Join(s.Path[:i+1], "."), err)
		}
		if next == nil {
			next = &Node{Kind: Table, Pos: s.Value.Pos}
			here.Fields = append(here.Fields, Field{key, s.Value.Pos, next})
		}
		here = next
	}
	if here.Kind != Table {
		return One(s.Value.Pos, "%s is %s and has no keys",
			strings.Join(s.Path[:len(s.Path)-1], "."), here.Kind)
	}
	here.put(s.Path[len(s.Path)-1], s.Value.Clone())
	return nil
}

// step goes one key down; nil means that a table has no such key yet.
// An element of a list goes by its name or its index. Names stay right when a description gains an
// element.
func step(here *Node, key string) (*Node, error) {
	switch here.Kind {
	case Table:
		return here.Get(key), nil
	case Array:
		var names []string
		for i, it := range here.Items {
			if elementName(it, i) == key || strconv.Itoa(i) == key {
				return it, nil
			}
			names = append(names, elementName(it, i))
		}
		return nil, fmt.Errorf("no such element: known are %s%s", strings.Join(names, ", "),
			Suggest(key, names))
	default:
		return nil, fmt.Errorf("the key above it is %s and has no keys", here.Kind)
	}
}

// put replaces or adds one key of table n.
func (n *Node) put(key string, v *Node) {
	for i := range n.Fields {
		if n.Fields[i].Key == key {
			n.Fields[i].Value = v
			return
		}
	}
	n.Fields = append(n.Fields, Field{key, v.Pos, v})
}

// Find returns the value at path, or the nearest one above it that is there.
// Messages about a value that is missing point there.
func (n *Node) Find(path ...string) *Node {
	for _, key := range path {
		next, err := step(n, key)
		if err != nil || next == nil {
			return n
		}
		n = next
	}
	return n
}
