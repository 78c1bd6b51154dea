package cpustest

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// fields is a walk over a structure, which appends the path and the value of each plain field that is not zero.
type fields struct {
	out, path []byte
	seen      map[uintptr]bool
}

// appendFields appends what a pointer leads to: each number, truth and text that is not zero, with its path. Fields that package state
// does not keep are left out, and a new one changes nothing where it is zero.
func appendFields(to []byte, pointer any) []byte {
	f := fields{out: to, seen: map[uintptr]bool{}}
	f.value(reflect.ValueOf(pointer))
	return f.out
}

func (f *fields) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || f.seen[v.Pointer()] {
			return
		}
		f.seen[v.Pointer()] = true
		f.value(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if t := v.Type().Field(i); t.Tag.Get("state") != "-" {
				f.at('.', t.Name, v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if e := v.Index(i); !e.IsZero() {
				f.at('[', strconv.Itoa(i), e)
			}
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		for _, k := range keys {
			f.at('[', fmt.Sprint(k), v.MapIndex(k))
		}
	case reflect.Bool:
		f.plain(!v.IsZero(), 1)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		f.plain(!v.IsZero(), uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		f.plain(!v.IsZero(), v.Uint())
	case reflect.Float32, reflect.Float64:
		f.plain(!v.IsZero(), math.Float64bits(v.Float()))
	case reflect.String:
		f.plain(v.Len() > 0, uint64(v.Len()))
		f.out = append(f.out, v.String()...)
	}
}

// at goes on with a part.
func (f *fields) at(sign byte, name string, v reflect.Value) {
	n := len(f.path)
	f.path = append(append(f.path, sign), name...)
	f.value(v)
	f.path = f.path[:n]
}

func (f *fields) plain(set bool, n uint64) {
	if set {
		f.out = binary.BigEndian.AppendUint64(append(f.out, f.path...), n)
	}
}
