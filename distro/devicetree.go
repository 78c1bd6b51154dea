package distro

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
)

// treeNode is a node of a device tree.
type treeNode struct {
	name     string
	props    []treeProperty
	children []*treeNode
}

type treeProperty struct {
	name  string
	value []byte
}

// The flattened format (Devicetree Specification 0.4, chapter 5): a header of ten words, reserved ranges of memory, a
// structure of tokens, and the names of properties.
const (
	treeMagic   = 0xd00dfeed
	treeHead    = 40
	treeVersion = 17
	treeOldest  = 16 // that a reader of the version can be of

	treeBegin    = 1 // a node, with its name
	treeEnd      = 2
	treeProp     = 3 // the size of its value, where its name is, and the value
	treeNothing  = 4
	treeFinished = 9

	deepestTree = 64
)

var errTree = errors.New("device tree: damaged, or none: name the .dtb file of the board that comes with the kernel")

// readTree reads a flattened tree. Reserved ranges are left out, as boards have nodes for them.
func readTree(b []byte) (*treeNode, error) {
	if len(b) < treeHead || binary.BigEndian.Uint32(b) != treeMagic {
		return nil, errTree
	}
	from, names := int64(binary.BigEndian.Uint32(b[8:])), int64(binary.BigEndian.Uint32(b[12:]))
	if from > int64(len(b)) || names > int64(len(b)) {
		return nil, errTree
	}
	r := treeReader{rest: b[from:], names: b[names:]}
	if r.token() != treeBegin {
		return nil, errTree
	}
	root := r.node(deepestTree)
	if r.bad || r.token() != treeFinished {
		return nil, errTree
	}
	return root, nil
}

// treeReader reads tokens. It is bad once something was missing.
type treeReader struct {
	rest, names []byte
	bad         bool
}

func (r *treeReader) take(n int64) []byte {
	padded := (n + 3) &^ 3
	if padded > int64(len(r.rest)) {
		r.bad = true
		return make([]byte, min(n, 4))
	}
	out := r.rest[:n:n]
	r.rest = r.rest[padded:]
	return out
}

func (r *treeReader) word() uint32 { return binary.BigEndian.Uint32(r.take(4)) }

// token is the next one that says something.
func (r *treeReader) token() uint32 {
	for !r.bad {
		if t := r.word(); t != treeNothing {
			return t
		}
	}
	return 0
}

// text reads a string with a zero behind it.
func (r *treeReader) text(b []byte) string {
	n := bytes.IndexByte(b, 0)
	if n < 0 {
		r.bad = true
		return ""
	}
	return string(b[:n])
}

// node reads what is behind the beginning of a node.
func (r *treeReader) node(depth int) *treeNode {
	n := &treeNode{name: r.text(r.rest)}
	r.take(int64(len(n.name)) + 1)
	for {
		switch t := r.token(); {
		case t == treeBegin && depth > 0:
			n.children = append(n.children, r.node(depth-1))
		case t == treeProp:
			size, name := r.word(), r.word()
			if int64(name) >= int64(len(r.names)) {
				r.bad = true
				return n
			}
			n.set(r.text(r.names[name:]), r.take(int64(size)))
		default:
			r.bad = r.bad || t != treeEnd
			return n
		}
	}
}

// set gives a property of a node a value.
func (n *treeNode) set(name string, value []byte) {
	for i := range n.props {
		if n.props[i].name == name {
			n.props[i].value = value
			return
		}
	}
	n.props = append(n.props, treeProperty{name, value})
}

// get is the value of a property; nil where the node has it not.
func (n *treeNode) get(name string) []byte {
	for _, p := range n.props {
		if p.name == name {
			return p.value
		}
	}
	return nil
}

// child finds a child by its name, without the address behind an at sign; it makes one where there is none.
func (n *treeNode) child(name string) *treeNode {
	i := slices.IndexFunc(n.children, func(c *treeNode) bool {
		plain, _, _ := strings.Cut(c.name, "@")
		return plain == name
	})
	if i < 0 {
		n.children = append(n.children, &treeNode{name: name})
		i = len(n.children) - 1
	}
	return n.children[i]
}

// disable marks what a board lacks (Devicetree Specification, 2.3.4).
func (n *treeNode) disable(board Described) {
	for _, c := range n.children {
		if kinds := c.get("compatible"); kinds != nil && board.Lacks(c.name, strings.Split(string(kinds), "\x00")) {
			c.set("status", []byte("disabled\x00"))
		}
		c.disable(board)
	}
}

// words is a value of numbers of 32 bits.
func words(v ...uint32) (out []byte) {
	for _, w := range v {
		out = binary.BigEndian.AppendUint32(out, w)
	}
	return out
}

// flatten writes a tree.
func flatten(root *treeNode) []byte {
	w := treeWriter{places: map[string]uint32{}}
	w.node(root)
	w.put(treeFinished)
	const ranges = 16 // one of reserved memory, which is empty
	at := uint32(treeHead + ranges)
	names := at + uint32(len(w.tokens))
	out := words(treeMagic, names+uint32(len(w.names)), at, names, treeHead, treeVersion, treeOldest, 0, uint32(len(w.names)), uint32(len(w.tokens)))
	return slices.Concat(out, make([]byte, ranges), w.tokens, w.names)
}

type treeWriter struct {
	tokens, names []byte
	places        map[string]uint32 // of the names
}

func (w *treeWriter) put(v ...uint32) { w.tokens = append(w.tokens, words(v...)...) }

func (w *treeWriter) bytes(b ...byte) {
	w.tokens = append(w.tokens, b...)
	w.tokens = append(w.tokens, make([]byte, -len(b)&3)...)
}

func (w *treeWriter) node(n *treeNode) {
	w.put(treeBegin)
	w.bytes(append([]byte(n.name), 0)...)
	for _, p := range n.props {
		if _, ok := w.places[p.name]; !ok {
			w.places[p.name] = uint32(len(w.names))
			w.names = append(append(w.names, p.name...), 0)
		}
		w.put(treeProp, uint32(len(p.value)), w.places[p.name])
		w.bytes(p.value...)
	}
	for _, c := range n.children {
		w.node(c)
	}
	w.put(treeEnd)
}
