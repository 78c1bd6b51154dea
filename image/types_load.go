package image

import (
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
)

// typeNode is one DWARF entry that says something about the layout of data. Nodes refer to each
// other by offset; damaged files may build circles, so every walk carries a depth.
type typeNode struct {
	tag     dwarf.Tag
	name    string
	size    int64        // bytes, -1 when the entry does not say
	typ     dwarf.Offset // type of a member, element or typedef, 0 when none
	members []member
	dims    []int64 // of an array; -1 for a dimension without bounds
	decl    bool    // "struct x;" without a body
}

// member is one field of a structure or union.
type member struct {
	name   string // "" for an anonymous struct or union
	offset int64
	typ    dwarf.Offset
	bits   bool // a bit-field
	broken bool // its place is given in a form that is not understood
}

// typeTable holds the types of all compilation units.
type typeTable struct {
	loaded   bool
	nodes    map[dwarf.Offset]*typeNode
	structs  map[string][]dwarf.Offset // struct and union tags with a body, in file order
	typedefs map[string][]dwarf.Offset
	enums    map[string]enumerator
}

// newTypeTable is called only when there is debug information; the zero table answers that there is
// none.
func newTypeTable() typeTable {
	return typeTable{
		loaded: true, nodes: map[dwarf.Offset]*typeNode{}, enums: map[string]enumerator{},
		structs: map[string][]dwarf.Offset{}, typedefs: map[string][]dwarf.Offset{},
	}
}

// enumerator is a constant of an enumeration.
type enumerator struct {
	value int64
	clash bool // declared elsewhere with another value
}

// loadDebug reads the DWARF sections. An image without any loads: only Line and Struct miss it.
// Compressed sections are package debug/elf's matter. Only .debug_info and .debug_line with what
// they refer to are used: locations of variables and call frames are not.
func (im *Image) loadDebug(f *elf.File) error {
	info := f.Section(".debug_info")
	if info == nil {
		return nil
	}
	d, err := f.DWARF()
	if err != nil {
		return fmt.Errorf("damaged debug information (%w): build the image again", err)
	}
	tl := typeLoader{table: newTypeTable()}
	// An entry takes at least a byte: more than the section has come from damaged unit lengths.
	if err := tl.read(d.Reader(), int(info.Size)); err != nil {
		return fmt.Errorf("damaged debug information (%w): build the image again", err)
	}
	im.types = tl.table
	return im.loadLines(d, tl.units)
}

// typeLoader walks all entries once; open holds the chain of parents. Entries refer to
// types further on, also in other units, so all are read before anything is resolved.
type typeLoader struct {
	table   typeTable
	open    []*typeNode
	units   []*dwarf.Entry
	address int64 // size of one in the unit, in bytes
}

// read visits the entries, at most limit of them. An entry of tag 0 ends the children of one parent
// (DWARF 5, section 2.3).
func (tl *typeLoader) read(r *dwarf.Reader, limit int) error {
	for ; ; limit-- {
		e, err := r.Next()
		switch {
		case err != nil || e == nil:
			return err
		case limit == 0:
			return errors.New("its units overlap")
		}
		tl.address = int64(r.AddressSize())
		if e.Tag == 0 { // end of a list of children
			if n := len(tl.open); n > 0 {
				tl.open = tl.open[:n-1]
			}
			continue
		}
		n := tl.entry(e)
		if e.Children {
			tl.open = append(tl.open, n)
		}
	}
}

// entry notes one entry and returns its node when it can have children that matter. Functions and
// variables are passed over, though types that are declared inside of them are read.
func (tl *typeLoader) entry(e *dwarf.Entry) *typeNode {
	switch e.Tag {
	case dwarf.TagCompileUnit:
		tl.units = append(tl.units, e)
		tl.open = tl.open[:0]
	case dwarf.TagMember:
		if p := tl.parent(); p != nil {
			p.members = append(p.members, memberOf(e))
		}
	case dwarf.TagEnumerator:
		tl.table.addEnumerator(e)
	case dwarf.TagSubrangeType:
		if p := tl.parent(); p != nil {
			p.dims = append(p.dims, countOf(e))
		}
	case dwarf.TagStructType, dwarf.TagUnionType, dwarf.TagClassType, dwarf.TagTypedef,
		dwarf.TagArrayType, dwarf.TagBaseType, dwarf.TagPointerType, dwarf.TagEnumerationType,
		dwarf.TagConstType, dwarf.TagVolatileType, dwarf.TagRestrictType, dwarf.TagAtomicType:
		return tl.add(e)
	}
	return nil
}

// parent is the node that the current entry lies in, or nil. It is nil inside of functions and of
// other entries that lay out no data.
func (tl *typeLoader) parent() *typeNode {
	if len(tl.open) == 0 {
		return nil
	}
	return tl.open[len(tl.open)-1]
}

// add notes a type and its name. An anonymous type has no name to be found by, but members refer to
// it. Pointers may leave out their size, which is that of an address then.
func (tl *typeLoader) add(e *dwarf.Entry) *typeNode {
	n := &typeNode{tag: e.Tag, size: -1}
	n.name, _ = e.Val(dwarf.AttrName).(string)
	n.typ, _ = e.Val(dwarf.AttrType).(dwarf.Offset)
	n.decl, _ = e.Val(dwarf.AttrDeclaration).(bool)
	if size, ok := e.Val(dwarf.AttrByteSize).(int64); ok && size >= 0 {
		n.size = size
	} else if n.tag == dwarf.TagPointerType {
		n.size = tl.address
	}
	t := &tl.table
	t.nodes[e.Offset] = n
	switch {
	case n.name == "" || n.decl:
	case n.tag == dwarf.TagTypedef:
		t.typedefs[n.name] = append(t.typedefs[n.name], e.Offset)
	case n.record():
		t.structs[n.name] = append(t.structs[n.name], e.Offset)
	}
	return n
}

// addEnumerator notes a constant.
func (t *typeTable) addEnumerator(e *dwarf.Entry) {
	name, _ := e.Val(dwarf.AttrName).(string)
	if v, ok := e.Val(dwarf.AttrConstValue).(int64); ok && name != "" {
		t.declare(name, v)
	}
}

// declare gives a constant its value. Each unit that uses it declares it again. Two values under one
// name are noted and refused only when somebody asks for the name.
func (t *typeTable) declare(name string, v int64) {
	if old, known := t.enums[name]; known {
		t.enums[name] = enumerator{old.value, old.clash || old.value != v}
		return
	}
	t.enums[name] = enumerator{value: v}
}

// record tells whether the type has members.
func (n *typeNode) record() bool {
	return n.tag == dwarf.TagStructType || n.tag == dwarf.TagUnionType || n.tag == dwarf.TagClassType
}

// memberOf reads a field. Members of unions have no offset: it is 0. DWARF 2 gives the offset as an
// expression, later versions as a number (version 5, section 5.7.6).
func memberOf(e *dwarf.Entry) member {
	m := member{}
	m.name, _ = e.Val(dwarf.AttrName).(string)
	m.typ, _ = e.Val(dwarf.AttrType).(dwarf.Offset)
	m.bits = e.Val(dwarf.AttrBitSize) != nil
	switch loc := e.Val(dwarf.AttrDataMemberLoc).(type) {
	case nil:
	case int64:
		m.offset, m.broken = loc, loc < 0 || loc > maxTypeSize
	case []byte: // an expression, in DWARF 2 always DW_OP_plus_uconst
		off, n := binary.Uvarint(loc[min(1, len(loc)):])
		m.offset = int64(off)
		m.broken = n <= 0 || n+1 != len(loc) || loc[0] != opPlusUconst || off > maxTypeSize
	default:
		m.broken = true
	}
	return m
}

// opPlusUconst is DW_OP_plus_uconst: add the unsigned LEB128 number that follows. Its number is in
// section 7.7.1 of DWARF 5.
const opPlusUconst = 0x23

// countOf reads one dimension of an array, -1 for a flexible one. Compilers give a count or the last
// index, which is -1 for an array without elements (section 5.13).
func countOf(e *dwarf.Entry) int64 {
	if n, ok := e.Val(dwarf.AttrCount).(int64); ok && n >= 0 {
		return n
	}
	if n, ok := e.Val(dwarf.AttrUpperBound).(int64); ok && n >= -1 {
		return n + 1
	}
	return -1
}
