package image

import (
	"debug/dwarf"
	"encoding/binary"
	"testing"

	"kprobesim/internal/require"
)

// nestedDWARF is a structure with a structure declared inside it, as compilers for C++ write them, in
// DWARF 4: struct outer { char a; struct inner { char x; }; char b; void *p; }. The size of a pointer is left out.
func nestedDWARF(t *testing.T) *dwarf.Data {
	t.Helper()
	const (
		name, size, place, kind               = 0x03, 0x0b, 0x38, 0x49 // DW_AT_name, byte_size, data_member_location, type
		text, data1, ref4                     = 0x08, 0x0b, 0x13       // DW_FORM_string, data1, ref4
		unit, structure, field, base, pointer = 1, 2, 3, 4, 5          // abbreviations
		charAt, pointerAt                     = 12, 19                 // offsets of types
	)
	abbrev := []byte{
		unit, 0x11, 1, 0, 0,
		structure, 0x13, 1, name, text, size, data1, 0, 0,
		field, 0x0d, 0, name, text, place, data1, kind, ref4, 0, 0,
		base, 0x24, 0, name, text, size, data1, 0, 0,
		pointer, 15, 0, 0, 0,
		0,
	}
	member := func(name string, at, kind byte) []byte { return append([]byte{field, name[0], 0, at}, kind, 0, 0, 0) }
	body := []byte{unit, base, 'c', 'h', 'a', 'r', 0, 1, pointer, structure, 'o', 'u', 't', 'e', 'r', 0, 10}
	body = append(body, member("a", 0, charAt)...)
	body = append(body, structure, 'i', 'n', 'n', 'e', 'r', 0, 1)
	body = append(body, member("x", 0, charAt)...)
	body = append(body, 0) // of inner
	body = append(body, member("b", 1, charAt)...)
	body = append(body, member("p", 2, pointerAt)...)
	body = append(body, 0, 0)                      // of outer and of the unit
	body = append(body, member("u", 0, charAt)...) // of nothing, as in damaged files
	info := binary.LittleEndian.AppendUint32(nil, uint32(len(body)+7))
	info = append(append(info, 4, 0, 0, 0, 0, 0, 8), body...)
	d := require.Must(dwarf.New(abbrev, nil, nil, info, nil, nil, nil, nil))(t)
	return d
}

// TestMemberBehindNestedType: what follows a type that is declared inside a structure is a member of the
// outer structure again.
func TestMemberBehindNestedType(t *testing.T) {
	tl := typeLoader{table: newTypeTable()}
	require.NoError(t, tl.read(nestedDWARF(t).Reader(), 1000))
	im := &Image{Name: "nested.elf", types: tl.table}
	for _, c := range []struct {
		typ, path string
		offset    uint64
		ok        bool
	}{
		{"outer", "a", 0, true},
		{"outer", "b", 1, true},
		{"outer", "x", 0, false},
		{"outer", "p", 2, true},
		{"inner", "x", 0, true},
		{"inner", "b", 0, false},
	} {
		f, err := field(im, c.typ, c.path)
		require.That(t, c.ok == (err == nil) && f.Offset == c.offset && (!c.ok || f.Size == map[bool]int{true: 8, false: 1}[c.path == "p"]), "%s.%s is %+v, %v", c.typ, c.path, f, err)
	}
}

// TestArraySizes multiplies up to the largest size that is taken.
func TestArraySizes(t *testing.T) {
	for _, x := range []struct {
		size int64
		dims []int64
		want int64
	}{
		{8, nil, 8},
		{8, []int64{3, 5}, 120},
		{8, []int64{3, -1}, 0},
		{0, []int64{maxTypeSize, maxTypeSize}, 0},
		{8, []int64{maxTypeSize / 8}, maxTypeSize},
		{8, []int64{maxTypeSize/8 + 1}, 0},
		{3, []int64{maxTypeSize / 3}, maxTypeSize / 3 * 3},
	} {
		got, err := times(x.size, x.dims)
		require.That(t, got == x.want && (err != nil) == (x.want == 0 && x.dims[0] > maxTypeSize/8 && x.size != 0), "%d times %d is %d, %v", x.size, x.dims, got, err)
	}
}

// TestPlacesOfMembers reads the place of a member as each version of DWARF says it.
func TestPlacesOfMembers(t *testing.T) {
	for _, x := range []struct {
		place  any
		offset int64
		broken bool
	}{
		{nil, 0, false},
		{int64(7), 7, false},
		{int64(-1), -1, true},
		{int64(maxTypeSize), maxTypeSize, false},
		{int64(maxTypeSize + 1), maxTypeSize + 1, true},
		{"x", 0, true},
		{[]byte{opPlusUconst, 5}, 5, false},
		{[]byte{opPlusUconst, 0x80, 1}, 128, false},
		{[]byte{opPlusUconst, 5, 0}, 5, true},
		{[]byte{opPlusUconst + 1, 5}, 5, true},
		{[]byte{opPlusUconst}, 0, true},
		{[]byte{opPlusUconst, 0x80}, 0, true},
		{[]byte{}, 0, true},
		{binary.AppendUvarint([]byte{opPlusUconst}, maxTypeSize+1), maxTypeSize + 1, true},
	} {
		m := memberOf(&dwarf.Entry{Field: []dwarf.Field{{Attr: dwarf.AttrDataMemberLoc, Val: x.place}}})
		require.That(t, m.offset == x.offset && m.broken == x.broken, "%v is offset %d, damaged %v", x.place, m.offset, m.broken)
	}
}
