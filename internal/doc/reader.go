package doc

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"kprobesim/internal/distinct"
)

// Reader reads one table of a document by a schema and collects every mistake into errs. Keys that
// were never asked for are reported by Done.
// A schema asks for its keys in any order and calls Done at the end.
type Reader struct {
	node  *Node
	path  string
	errs  *Errors
	known []string
	// absent says that the table itself is missing, which was reported once for all its keys.
	absent bool
}

// NewReader returns a reader of table n. Mistakes are added to errs.
func NewReader(n *Node, errs *Errors) *Reader { return newReader(n, "", errs) }

// newReader goes on with an empty table where there is none, so that callers need no check of
// their own.
func newReader(n *Node, path string, errs *Errors) *Reader {
	if n.describe("object") {
		n = &Node{Kind: Table, Pos: n.Pos, made: n.made}
	}
	if n.Kind != Table {
		errs.Add(n.Pos, "%s must be a table, not %s", path, n.Kind)
		n = &Node{Kind: Table, Pos: n.Pos}
	}
	return &Reader{node: n, path: path, errs: errs}
}

// Pos returns where the table stands.
func (r *Reader) Pos() Pos { return r.node.Pos }

// Path returns the dotted path of key in the document.
func (r *Reader) Path(key string) string {
	if r.path == "" {
		return key
	}
	return r.path + "." + key
}

// Errorf records a mistake at the value of key, or at the table when the key is missing.
func (r *Reader) Errorf(key, format string, args ...any) {
	pos := r.node.Pos
	if v := r.node.Get(key); v != nil {
		pos = v.Pos
	}
	r.errs.Add(pos, "%s: %s", r.Path(key), fmt.Sprintf(format, args...))
}

// Has reports whether key is present, and makes it a known key.
func (r *Reader) Has(key string) bool {
	n := r.take(key)
	return n != nil && (n.made == nil || n.made.coin())
}

// Is reports whether the value of key is a word that stands beside what a parser takes, and makes it a known key then.
func (r *Reader) Is(key, word string) bool {
	if r.node.made != nil {
		n := r.take(key)
		n.word([]string{word})
		return n.made.coin()
	}
	return r.Text(key) == word && r.Has(key)
}

// Keys returns the keys of the table in the order of the document.
func (r *Reader) Keys() []string {
	if r.node.made != nil {
		return []string{anyKey}
	}
	keys := make([]string, len(r.node.Fields))
	for i, f := range r.node.Fields {
		keys[i] = f.Key
	}
	return keys
}

// take makes a key known even when it is missing, so that hint can propose it.
func (r *Reader) take(key string) *Node {
	if r.node.made != nil {
		return r.node.property(key)
	}
	r.known = distinct.Append(r.known, key)
	return r.node.Get(key)
}

// Sub returns a reader of the table under key. A missing table is a mistake when need is set, and
// otherwise reads as empty.
func (r *Reader) Sub(key string, need bool) *Reader {
	n := r.take(key)
	if n == nil {
		if need {
			r.missing("table [%s] is missing", key)
		}
		sub := newReader(&Node{Kind: Table, Pos: r.node.Pos}, r.Path(key), r.errs)
		sub.absent = need
		return sub
	}
	return newReader(n, r.Path(key), r.errs)
}

// Part is Sub for a table that may be missing: nil, then.
func (r *Reader) Part(key string) *Reader {
	if !r.Has(key) {
		return nil
	}
	return newReader(r.take(key), r.Path(key), r.errs)
}

// missing reports that key is not there, unless its whole table is not.
func (r *Reader) missing(format, key string) {
	if !r.absent {
		r.errs.Add(r.node.Pos, format, r.Path(key))
	}
}

// List returns a reader for each table of the list under key, nil where there is no such list. An element that has a name is named
// by it in messages.
func (r *Reader) List(key string) []*Reader {
	n := r.take(key)
	if n == nil {
		return nil
	}
	if n.made != nil {
		return []*Reader{newReader(n.item(), r.Path(key), r.errs)}
	}
	if n.Kind != Array {
		r.errs.Add(n.Pos, "%s must be a list of tables ([[%s]]), not %s", r.Path(key), r.Path(key),
			n.Kind)
		return nil
	}
	out := []*Reader{}
	for i, it := range n.Items {
		out = append(out, newReader(it, r.Path(key)+"."+elementName(it, i), r.errs))
	}
	return out
}

// elementName is how paths name element i of a list of tables.
func elementName(n *Node, i int) string {
	if name := n.Get("name"); n.Kind == Table && name != nil && name.Kind == String {
		return name.Text
	}
	return strconv.Itoa(i)
}

// Done reports every key that the schema did not ask for.
// It comes after the last question, as a key is unknown only when no question was about it.
func (r *Reader) Done() {
	for _, f := range r.node.Fields {
		if !slices.Contains(r.known, f.Key) {
			r.errs.Add(f.Pos, "unknown key %q%s", r.Path(f.Key), hint(f.Key, r.known))
		}
	}
}

// hint proposes the nearest known key, or lists them all.
func hint(key string, known []string) string {
	if s := Suggest(key, known); s != "" {
		return s
	}
	if len(known) == 0 || len(known) > 30 {
		return ""
	}
	k := slices.Clone(known)
	slices.Sort(k)
	return ": known are " + strings.Join(k, ", ")
}

// Need reads a required value. On a mistake it returns the zero T.
func Need[T any](r *Reader, key string, parse func(*Node) (T, error)) T {
	var zero T
	if r.take(key) == nil {
		r.missing("%s is missing", key)
		return zero
	}
	return Opt(r, key, zero, parse)
}

// Opt reads an optional value; def stands for a missing one. On a mistake it returns def.
func Opt[T any](r *Reader, key string, def T, parse func(*Node) (T, error)) T {
	n := r.take(key)
	if n == nil {
		return def
	}
	v, err := parse(n)
	if err != nil {
		r.errs.Add(n.Pos, "%s: %v", r.Path(key), err)
		return def
	}
	return v
}

// Text parses a string that is not empty.
func Text(n *Node) (string, error) {
	if n.describe("string") {
		n.made.schema.free = true
		return "x", nil
	}
	if n.Kind != String {
		return "", fmt.Errorf("want a string, not %s", n.Kind)
	}
	if strings.TrimSpace(n.Text) == "" {
		return "", fmt.Errorf("must not be empty")
	}
	if i := strings.IndexFunc(n.Text, unprintable); i >= 0 {
		return "", fmt.Errorf("%q has a control character, which would reach terminals and figures: leave it out", n.Text)
	}
	return n.Text, nil
}

// unprintable tells characters that are commands to a terminal. Longer texts may have lines and tabs.
func unprintable(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

// Flag parses a boolean.
func Flag(n *Node) (bool, error) {
	if n.describe("boolean") {
		return n.made.coin(), nil
	}
	if n.Kind != Bool {
		return false, fmt.Errorf("want true or false, not %s", n.Kind)
	}
	return n.Text == "true", nil
}

// Int returns a parser of integers from lo to hi.
// TOML allows underscores, and the prefixes 0x, 0o and 0b, which the base 0 of ParseInt takes as
// they are.
func Int(lo, hi int64) func(*Node) (int64, error) {
	return func(n *Node) (int64, error) {
		if n.describe("integer") {
			n.made.schema.between(lo, hi)
			return lo, nil
		}
		if n.Kind != Integer {
			return 0, fmt.Errorf("want an integer from %d to %d, not %s", lo, hi, n.Kind)
		}
		v, err := strconv.ParseInt(strings.ReplaceAll(n.Text, "_", ""), 0, 64)
		if err != nil || v < lo || v > hi {
			return 0, fmt.Errorf("%s is outside %d to %d", n.Text, lo, hi)
		}
		return v, nil
	}
}

// OneOf returns a parser of strings that are one of known.
func OneOf(known ...string) func(*Node) (string, error) {
	return func(n *Node) (string, error) {
		if n.made != nil {
			return n.word(known), nil
		}
		s, err := Text(n)
		if err != nil {
			return "", err
		}
		if !slices.Contains(known, s) {
			return "", fmt.Errorf("unknown value %q: known are %s%s", s, strings.Join(known, ", "),
				Suggest(s, known))
		}
		return s, nil
	}
}

// ListOf returns a parser of lists whose elements parse reads.
func ListOf[T any](parse func(*Node) (T, error)) func(*Node) ([]T, error) {
	return func(n *Node) ([]T, error) {
		if n.made != nil {
			v, err := parse(n.item())
			return []T{v}, err
		}
		if n.Kind != Array {
			return nil, fmt.Errorf("want a list, not %s", n.Kind)
		}
		var out []T
		for i, it := range n.Items {
			v, err := parse(it)
			if err != nil {
				return nil, fmt.Errorf("element %d: %w", i, err)
			}
			out = append(out, v)
		}
		return out, nil
	}
}

// Text returns the value of key as written, or "".
func (r *Reader) Text(key string) string {
	if v := r.node.Get(key); v != nil {
		return v.Text
	}
	return ""
}

// At returns where the value of key stands.
func (r *Reader) At(key string) Pos {
	if v := r.node.Get(key); v != nil {
		return v.Pos
	}
	return r.node.Pos
}
