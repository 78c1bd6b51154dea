// Package doc reads TOML documents into trees that remember where everything stood, so that a
// schema can report every mistake at once with file, line and column, and so that single keys can
// be replaced by dotted path (--set, sweeps) before the schema looks at them.
//
// Syntax and the rules about keys defined twice come from pelletier/go-toml v2, which checks
// every document first. Numbers keep the text they were written with: a schema that wants an exact
// 1.1 or 1/3 never sees a float. Dates and times are not accepted; no schema here has one.
package doc

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// MaxSize is the largest document that Parse accepts, in bytes.
const MaxSize = 1 << 20

// maxDepth bounds the nesting of values, so that hostile documents cannot exhaust the stack.
const maxDepth = 64

// maxKeys bounds the keys and tables of a document. The largest of this program has a few hundred.
const maxKeys = 20_000

// Kind says what a Node holds.
// The kinds follow TOML without dates and times.
type Kind uint8

// The kinds of nodes. The zero Kind is not one.
const (
	Table Kind = iota + 1
	Array
	String
	Integer
	Float
	Bool
)

// String returns the kind as error messages name it.
func (k Kind) String() string {
	names := [...]string{
		"nothing", "a table", "a list", "a string", "an integer", "a number",
		"a boolean",
	}
	return names[k]
}

// Pos is a place in a document. Line and Column count from 1; a Pos with Line 0 names a source
// without lines, such as a --set option.
// A column counts bytes, as that of go-toml does.
type Pos struct {
	File         string
	Line, Column int
}

// String returns file:line:column, or the file alone when there is no line.
func (p Pos) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Node is one value of a document.
// A number keeps its text, because a schema alone knows the unit and the precision that it wants.
type Node struct {
	Kind   Kind
	Pos    Pos
	Text   string  // scalars: a string's contents, any other scalar as written
	Fields []Field // tables, in the order of the document
	Items  []*Node // lists

	made *made // of a document that Describe makes up
}

// Field is one key of a table.
type Field struct {
	Key   string
	Pos   Pos // of the key
	Value *Node
}

// Get returns the value of key in table n, or nil.
// A search by hand is quick enough: tables have tens of keys, and their order matters to
// Reader.Keys.
func (n *Node) Get(key string) *Node {
	for _, f := range n.Fields {
		if f.Key == key {
			return f.Value
		}
	}
	return nil
}

// Clone returns a deep copy of n.
// Sweeps and --set change copies, as several points of an experiment begin with the same document.
func (n *Node) Clone() *Node {
	c := *n
	c.Fields = make([]Field, len(n.Fields))
	for i, f := range n.Fields {
		c.Fields[i] = Field{f.Key, f.Pos, f.Value.Clone()}
	}
	c.Items = make([]*Node, len(n.Items))
	for i, it := range n.Items {
		c.Items[i] = it.Clone()
	}
	return &c
}

// Parse reads a document. file is the name that positions and errors carry. The error is an Errors.
// The shape comes first, because go-toml itself reads nested values by recursion. Then go-toml
// reads all of the document, for its rules on what may be defined twice; the tree is built in a
// second pass over the same bytes.
func Parse(file string, b []byte) (*Node, error) {
	if len(b) > MaxSize {
		return nil, One(Pos{File: file},
			"document of %d bytes is larger than %d: is this a file of ours?", len(b), MaxSize)
	}
	b = bytes.TrimPrefix(b, []byte(byteOrderMark))
	if err := checkShape(file, b); err != nil {
		return nil, err
	}
	var all map[string]any
	if err := toml.Unmarshal(b, &all); err != nil {
		return nil, syntaxError(file, err)
	}
	return build(file, b)
}

// byteOrderMark stands before text that some editors wrote.
const byteOrderMark = "\ufeff"

// checkShape refuses documents nested too deeply for recursive readers, and documents of more keys and tables than
// go-toml, which compares each with all others of its table, reads in a second. Counting brackets and equal signs
// also counts those inside strings, which only makes the bounds stricter.
func checkShape(file string, b []byte) error {
	depth, keys := 0, 0
	for _, c := range b {
		switch c {
		case '[', '{':
			depth++
			keys++
		case ']', '}':
			depth--
		case '=':
			keys++
		}
		if depth > maxDepth {
			return One(Pos{File: file}, "values are nested more than %d deep", maxDepth)
		}
		if keys > maxKeys {
			return One(Pos{File: file}, "more than %d keys and tables: is this a file of ours?", maxKeys)
		}
	}
	return nil
}

// syntaxError gives an error of go-toml its place.
func syntaxError(file string, err error) error {
	pos := Pos{File: file}
	var de *toml.DecodeError
	if errors.As(err, &de) {
		pos.Line, pos.Column = de.Position()
	}
	return One(pos, "%s", strings.TrimPrefix(err.Error(), "toml: "))
}

// builder turns the expressions of go-toml's parser into a tree.
// The package unstable alone tells where a node stands. It promises no stable interface, so
// nothing else here uses it.
type builder struct {
	file  string
	p     unstable.Parser
	lines []int // offsets of the lines' first bytes
	root  *Node
	errs  Errors
}

// build relies on Parse: a document that go-toml refuses would come out wrong here.
func build(file string, b []byte) (*Node, error) {
	bl := builder{file: file, lines: lineStarts(b)}
	bl.root = &Node{Kind: Table, Pos: Pos{file, 1, 1}}
	bl.p.Reset(b)
	here := bl.root
	for bl.p.NextExpression() {
		switch e := bl.p.Expression(); e.Kind {
		case unstable.Table:
			here = bl.open(e, false)
		case unstable.ArrayTable:
			here = bl.open(e, true)
		case unstable.KeyValue:
			bl.keyValue(here, e)
		}
	}
	return bl.root, bl.errs.Err()
}

// pos returns where node e stands; composite values have no range of their own and take fallback.
func (bl *builder) pos(e *unstable.Node, fallback Pos) Pos {
	if e.Raw.Length == 0 {
		return fallback
	}
	at := int(e.Raw.Offset)
	line, found := slices.BinarySearch(bl.lines, at)
	if !found {
		line-- // of the last line that begins before
	}
	return Pos{bl.file, line + 1, at - bl.lines[line] + 1}
}

// lineStarts lists where lines begin. The parser's own way to a position counts from the start each time.
func lineStarts(b []byte) []int {
	starts := []int{0}
	for i, c := range b {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// open finds or makes the table that a [header] names, or appends one to the list of a [[header]].
// Only the last part of a [[header]] makes a list; those before it lead to tables that may exist.
func (bl *builder) open(e *unstable.Node, list bool) *Node {
	here := bl.root
	for it := e.Key(); it.Next(); {
		k := it.Node()
		pos := bl.pos(k, here.Pos)
		here = bl.descend(here, string(k.Data), pos, list && it.IsLast())
	}
	return here
}

// descend returns the table under key of here, the last one when it is a list of tables. With
// list it appends a new one.
func (bl *builder) descend(here *Node, key string, pos Pos, list bool) *Node {
	v := here.Get(key)
	if v == nil {
		v = &Node{Kind: Table, Pos: pos}
		if list {
			v.Kind = Array
		}
		here.Fields = append(here.Fields, Field{key, pos, v})
	}
	if v.Kind != Array {
		return v
	}
	if list || len(v.Items) == 0 {
		v.Items = append(v.Items, &Node{Kind: Table, Pos: pos})
	}
	return v.Items[len(v.Items)-1]
}

// keyValue adds the key (possibly dotted) and value of e to table here.
func (bl *builder) keyValue(here *Node, e *unstable.Node) {
	for it := e.Key(); it.Next(); {
		k := it.Node()
		pos := bl.pos(k, here.Pos)
		if !it.IsLast() {
			here = bl.descend(here, string(k.Data), pos, false)
			continue
		}
		here.Fields = append(here.Fields, Field{string(k.Data), pos, bl.value(e.Value(), pos)})
	}
}

// value converts a value; pos is the key's, for values without a range.
func (bl *builder) value(e *unstable.Node, pos Pos) *Node {
	n := &Node{Pos: bl.pos(e, pos), Text: string(e.Data)}
	switch e.Kind {
	case unstable.InlineTable:
		n.Kind = Table
		for it := e.Children(); it.Next(); {
			bl.keyValue(n, it.Node())
		}
	case unstable.Array:
		n.Kind = Array
		for it := e.Children(); it.Next(); {
			if c := it.Node(); c.Kind != unstable.Comment {
				n.Items = append(n.Items, bl.value(c, pos))
			}
		}
	case unstable.String:
		n.Kind = String
	case unstable.Integer:
		n.Kind = Integer
	case unstable.Float:
		n.Kind = Float
	case unstable.Bool:
		n.Kind = Bool
	default:
		n.Kind = String
		bl.errs.Add(n.Pos, "dates and times are not used here: write a string")
	}
	return n
}
