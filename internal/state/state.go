// Package state writes the fields of a structure and reads them into another one of the same type, for a
// machine that is to go on in another process. Fields that nobody names are kept too, so that a new one is not
// forgotten: what is not to be kept has the tag `state:"-"`. Such a field is how a structure is connected with
// others, or follows from the rest.
//
// Numbers, strings, arrays, slices, structures, maps with numbers as keys, and what pointers lead to are kept.
// A function, an interface or a channel without the tag is an error that names the field.
package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"unsafe"
)

// Append appends the fields of what a pointer leads to.
func Append(to []byte, pointer any) ([]byte, error) {
	c := coder{b: to}
	c.begin(pointer)
	return c.b, c.err
}

// Read sets the fields of what a pointer leads to from the beginning of bytes that Append made, and returns the rest.
// A slice of the same length keeps its place in memory, which others may share. Damage is an error.
func Read(from []byte, pointer any) ([]byte, error) {
	c := coder{b: from, reading: true}
	c.begin(pointer)
	return c.b, c.err
}

// coder is on its way through a structure.
type coder struct {
	b       []byte
	reading bool
	depth   int
	err     error
}

// maxDepth is far more than any structure has: pointers that go round in a circle end there.
const maxDepth = 64

func (c *coder) begin(pointer any) {
	v := reflect.ValueOf(pointer)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		c.fail("%T is no pointer to what is kept", pointer)
		return
	}
	c.value(v.Elem(), v.Type().Elem().Name())
}

func (c *coder) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

// number writes n, or reads and returns one.
func (c *coder) number(n uint64) uint64 {
	if !c.reading {
		c.b = binary.AppendUvarint(c.b, n)
		return n
	}
	n, used := binary.Uvarint(c.b) // 0 where there is none
	if used <= 0 {
		c.fail("%w", errShort)
	}
	c.b = c.b[max(used, 0):]
	return n
}

var errShort = errors.New("damaged or cut off: write it again")

// flag writes a truth, or reads and returns one.
func (c *coder) flag(b bool) bool {
	n := uint64(0)
	if b {
		n = 1
	}
	return c.number(n) != 0
}

// length is a number of things of which each takes a byte or more.
func (c *coder) length(n int) int {
	if m := c.number(uint64(n)); !c.reading || m <= uint64(len(c.b)) {
		return int(m)
	}
	c.fail("%w", errShort)
	return 0
}

// bytes writes or reads as many bytes as b has.
func (c *coder) bytes(b []byte) {
	if !c.reading {
		c.b = append(c.b, b...)
		return
	}
	if len(b) > len(c.b) {
		c.fail("%w", errShort)
		return
	}
	copy(b, c.b)
	c.b = c.b[len(b):]
}

// value writes or reads one value, which has an address.
func (c *coder) value(v reflect.Value, path string) {
	if c.depth++; c.depth > maxDepth {
		c.fail("%s: too deep", path)
	}
	defer func() { c.depth-- }()
	if c.err != nil {
		return
	}
	// Fields of other packages may be set by their address alone.
	v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(c.flag(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n := v.Int()
		u := c.number(uint64(n)<<1 ^ uint64(n>>63))
		v.SetInt(int64(u>>1) ^ -int64(u&1))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		v.SetUint(c.number(v.Uint()))
	case reflect.String:
		b := []byte(v.String())
		if n := c.length(len(b)); c.reading {
			b = make([]byte, n)
		}
		c.bytes(b)
		v.SetString(string(b))
	default:
		c.compound(v, path)
	}
}

// compound writes or reads a value of several.
func (c *coder) compound(v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Tag.Get("state") != "-" {
				c.value(v.Field(i), path+"."+f.Name)
			}
		}
	case reflect.Slice:
		if n := c.length(v.Len()); n != v.Len() {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
		}
		c.elements(v, path)
	case reflect.Array:
		c.elements(v, path)
	case reflect.Pointer:
		c.pointer(v, path)
	case reflect.Map:
		c.table(v, path)
	default:
		c.fail("%s: a %s cannot be kept: connect it again behind the reading, and give the field the tag", path, v.Kind())
	}
}

// elements writes or reads the elements of an array or a slice.
func (c *coder) elements(v reflect.Value, path string) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		c.bytes(v.Bytes())
		return
	}
	for i := 0; i < v.Len() && c.err == nil; i++ {
		c.value(v.Index(i), path+"[]")
	}
}

// pointer writes or reads whether there is something, and it.
func (c *coder) pointer(v reflect.Value, path string) {
	switch there := c.flag(!v.IsNil()); {
	case !there:
		v.SetZero()
		return
	case v.IsNil():
		v.Set(reflect.New(v.Type().Elem()))
	}
	c.value(v.Elem(), path)
}

// table writes or reads a map, in the order of its keys.
func (c *coder) table(v reflect.Value, path string) {
	if k := v.Type().Key(); !k.ConvertibleTo(reflect.TypeFor[uint64]()) || k.Kind() == reflect.Float32 || k.Kind() == reflect.Float64 {
		c.fail("%s: a map with keys of type %s cannot be kept", path, v.Type().Key())
		return
	}
	var keys []uint64
	for _, k := range v.MapKeys() {
		keys = append(keys, k.Convert(reflect.TypeFor[uint64]()).Uint())
	}
	slices.Sort(keys)
	n := c.length(len(keys))
	if c.reading {
		v.Set(reflect.MakeMapWithSize(v.Type(), n))
		keys = make([]uint64, n)
	}
	for _, k := range keys {
		key := reflect.ValueOf(c.number(k)).Convert(v.Type().Key())
		at := reflect.New(v.Type().Elem())
		if old := v.MapIndex(key); old.IsValid() {
			at.Elem().Set(old)
		}
		c.value(at.Elem(), path+"[]")
		if c.reading {
			v.SetMapIndex(key, at.Elem())
		}
	}
}
