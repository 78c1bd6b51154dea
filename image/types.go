package image

import (
	"debug/dwarf"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const (
	maxTypeDepth = 64      // nesting of types; deeper ones are circles in damaged files
	maxTypeSize  = 1 << 40 // bytes; larger objects are damage
)

// Struct is the layout of a struct or union of the guest, as its compiler laid it out. It is an
// offset into the table of types: members are looked up when they are asked for, since a kernel has
// thousands and the simulator wants a few.
type Struct struct {
	Name string
	Size int64 // bytes

	im  *Image
	typ dwarf.Offset
}

// Field is the place of a part of a structure.
type Field struct {
	Offset uint64 // bytes from the start of the structure
	Size   int    // bytes; 0 for a flexible array
}

// Struct finds a struct or union by its tag or by the name of a typedef for it. A header that
// several units include is found in each of them. Different sizes under one name mean that two
// structures share it, and none is guessed.
func (im *Image) Struct(name string) (*Struct, error) {
	if !im.types.loaded {
		return nil, fmt.Errorf("image %s has no debug information to find struct %s in: compile it "+
			"with -g and do not strip it", im.Name, name)
	}
	found := im.types.structs[name]
	if len(found) == 0 {
		found = im.types.typedefs[name]
	}
	var st *Struct
	for _, off := range found {
		s, err := im.structAt(name, off)
		switch {
		case err != nil:
			return nil, fmt.Errorf("image %s: struct %s: %w", im.Name, name, err)
		case st == nil:
			st = s
		case st.Size != s.Size:
			return nil, fmt.Errorf("image %s: struct %s is declared with %d and with %d bytes: rename "+
				"one of them", im.Name, name, st.Size, s.Size)
		}
	}
	if st == nil {
		return nil, fmt.Errorf("image %s declares no struct %s: check its headers against this version "+
			"of the simulator", im.Name, name)
	}
	return st, nil
}

// Enum gives the value of an enumerator, which is how the guest tells its constants: macros are in no debug
// information. Sizes of stacks, states of tasks and flags come from here: the guest's headers are
// the one place where they are written.
func (im *Image) Enum(name string) (int64, error) {
	e, ok := im.types.enums[name]
	switch {
	case !im.types.loaded:
		return 0, fmt.Errorf("image %s has no debug information to find enumerator %s in: compile it "+
			"with -g and do not strip it", im.Name, name)
	case !ok:
		return 0, fmt.Errorf("image %s declares no enumerator %s, or its code uses none of that enumeration: check its "+
			"headers against this version of the simulator", im.Name, name)
	case e.clash:
		return 0, fmt.Errorf("image %s declares enumerator %s with different values: rename one of them", im.Name, name)
	}
	return e.value, nil
}

// structAt checks that a type can be laid out. A typedef may lead to a number, and a forward
// declaration has no size.
func (im *Image) structAt(name string, off dwarf.Offset) (*Struct, error) {
	n, off := im.types.strip(off)
	if n == nil || !n.record() {
		return nil, errors.New("is no struct or union")
	}
	if n.size < 0 {
		return nil, errors.New("has no size: include the header that defines it")
	}
	return &Struct{Name: name, Size: n.size, im: im, typ: off}, nil
}

// Field finds a part of the structure by its path as written in C: "a", "a.b", "a[2].b". Members
// of anonymous structs and unions are found by their own names. Bit-fields have no address and are
// refused.
func (s *Struct) Field(path string) (Field, error) {
	offset, size, err := s.im.types.walk(s.typ, path)
	if err == nil && offset+size > s.Size {
		err = fmt.Errorf("ends at byte %d of %d: damaged debug information", offset+size, s.Size)
	}
	if err != nil {
		return Field{}, fmt.Errorf("image %s: struct %s, field %q: %w", s.im.Name, s.Name, path, err)
	}
	return Field{uint64(offset), int(size)}, nil
}

// strip follows typedefs and qualifiers to the type that has a layout; nil when there is none.
// Qualifiers say nothing about layout (DWARF 5, section 5.3).
func (t *typeTable) strip(off dwarf.Offset) (*typeNode, dwarf.Offset) {
	for range maxTypeDepth {
		n := t.nodes[off]
		if n == nil {
			return nil, off
		}
		switch n.tag {
		case dwarf.TagTypedef, dwarf.TagConstType, dwarf.TagVolatileType, dwarf.TagRestrictType,
			dwarf.TagAtomicType:
			off = n.typ
		default:
			return n, off
		}
	}
	return nil, off
}

// walk follows a path from a structure to one of its parts.
func (t *typeTable) walk(off dwarf.Offset, path string) (offset, size int64, err error) {
	var dims []int64
	for part := range strings.SplitSeq(path, ".") {
		name, index, err := splitIndex(part)
		if err != nil {
			return 0, 0, err
		}
		if len(dims) > 0 {
			return 0, 0, fmt.Errorf("%q is wanted of an array: name its element with [n]", name)
		}
		m, err := t.member(off, name)
		if err != nil {
			return 0, 0, err
		}
		offset, off = offset+m.offset, m.typ
		var skip int64
		if skip, off, dims, err = t.element(off, name, index); err != nil {
			return 0, 0, err
		}
		offset += skip
	}
	size, err = t.sizeOf(off, dims)
	return offset, size, err
}

// splitIndex parts "a[1][2]" into "a" and its indices.
func splitIndex(part string) (name string, index []int64, err error) {
	name, rest, more := strings.Cut(part, "[")
	for more {
		var num string
		var closed bool
		if num, rest, closed = strings.Cut(rest, "]"); !closed {
			return "", nil, fmt.Errorf("%q: missing ]", part)
		}
		n, err := strconv.ParseInt(num, 10, 32)
		if err != nil || n < 0 {
			return "", nil, fmt.Errorf("%q: %q is no index: write a number from 0", part, num)
		}
		index = append(index, n)
		if rest != "" && rest[0] != '[' {
			return "", nil, fmt.Errorf("%q: %q is unexpected after ]", part, rest)
		}
		rest, more = strings.CutPrefix(rest, "[")
	}
	return name, index, nil
}

// member finds a field of a structure, also inside its anonymous members.
func (t *typeTable) member(off dwarf.Offset, name string) (member, error) {
	n, _ := t.strip(off)
	if n == nil || !n.record() {
		return member{}, fmt.Errorf("%q is wanted of something that is no struct or union", name)
	}
	budget := 10000 // visits; circles of anonymous members exist in damaged files only
	m, ok := t.search(n, name, &budget, 0)
	switch {
	case !ok:
		return m, fmt.Errorf("there is no member %q; there are %s", name, memberNames(n))
	case m.bits:
		return m, fmt.Errorf("%q is a bit-field, which has no address: make it an integer", name)
	case m.broken:
		return m, fmt.Errorf("the place of %q is given in an unknown form: compile with -gdwarf-5", name)
	}
	return m, nil
}

// search looks at the direct members first, as C does: an inner name cannot equal an outer one. The
// budget bounds work where depth alone would allow exponentially many visits.
func (t *typeTable) search(n *typeNode, name string, budget *int, depth int) (member, bool) {
	if *budget -= len(n.members); name == "" || *budget < 0 || depth > maxTypeDepth {
		return member{}, false
	}
	for _, m := range n.members {
		if m.name == name {
			return m, true
		}
	}
	for _, m := range n.members {
		inner, _ := t.strip(m.typ)
		if m.name != "" || inner == nil || !inner.record() {
			continue
		}
		if found, ok := t.search(inner, name, budget, depth+1); ok {
			found.offset += m.offset
			found.broken = found.broken || m.broken
			return found, true
		}
	}
	return member{}, false
}

// memberNames lists the fields of a structure for a message.
func memberNames(n *typeNode) string {
	var names []string
	for _, m := range n.members {
		if m.name != "" {
			names = append(names, m.name)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// element applies indices to a field: how many bytes to skip, the type found there and, when that
// is still an array, the dimensions left.
func (t *typeTable) element(off dwarf.Offset, name string, index []int64) (
	skip int64, typ dwarf.Offset, dims []int64, err error,
) {
	n, at := t.strip(off)
	if n == nil || n.tag != dwarf.TagArrayType {
		if len(index) > 0 {
			return 0, 0, nil, fmt.Errorf("%q is no array: drop the index", name)
		}
		return 0, at, nil, nil
	}
	if len(index) > len(n.dims) {
		return 0, 0, nil, fmt.Errorf("%q has %d dimensions, not %d", name, len(n.dims), len(index))
	}
	for i, x := range index {
		if n.dims[i] >= 0 && x >= n.dims[i] {
			return 0, 0, nil, fmt.Errorf("%q has %d elements: [%d] is none", name, n.dims[i], x)
		}
		stride, err := t.sizeOf(n.typ, n.dims[i+1:])
		if err != nil {
			return 0, 0, nil, err
		}
		if stride > 0 && x > maxTypeSize/stride {
			return 0, 0, nil, fmt.Errorf("%q[%d] lies behind every memory", name, x)
		}
		skip += x * stride
	}
	_, elem := t.strip(n.typ)
	return skip, elem, n.dims[len(index):], nil
}

// sizeOf is the size of a type, or of an array of it with the given dimensions.
func (t *typeTable) sizeOf(off dwarf.Offset, dims []int64) (int64, error) {
	size, err := t.plainSize(off)
	if err != nil {
		return 0, err
	}
	return times(size, dims)
}

// times multiplies a size by dimensions. One that is not known has no elements.
func times(size int64, dims []int64) (int64, error) {
	for _, d := range dims {
		d = max(d, 0)
		if size > 0 && d > maxTypeSize/size {
			return 0, errors.New("is larger than any memory: damaged debug information")
		}
		size *= d
	}
	return size, nil
}

// plainSize takes the size that the entry gives, or multiplies dimensions by the size of an element.
// Entries of arrays seldom have a size of their own (section 5.5).
func (t *typeTable) plainSize(off dwarf.Offset) (int64, error) {
	size := int64(1)
	for range maxTypeDepth {
		n, _ := t.strip(off)
		switch {
		case n == nil:
			return 0, errors.New("has a type without a layout")
		case n.size >= 0 && n.size <= maxTypeSize/max(size, 1):
			return size * n.size, nil
		case n.tag != dwarf.TagArrayType:
			return 0, errors.New("has a type without a size: include the header that defines it")
		}
		var err error
		if size, err = times(size, n.dims); err != nil {
			return 0, err
		}
		off = n.typ
	}
	return 0, errors.New("has a type that contains itself: damaged debug information")
}
