package state

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

type inner struct {
	n    int16
	link *inner
}

// sample has a field of every kind that is kept.
type sample struct {
	flag   bool
	signed int64
	word   uint32
	text   string
	array  [3]uint16
	bytes  []byte
	list   []inner
	one    *inner
	none   *inner
	table  map[uint32]*[2]uint64
	wired  func() `state:"-"`
}

func full() *sample {
	return &sample{
		true, -5, 1 << 31, "text",
		[3]uint16{1, 2, 65535},
		[]byte{9, 8},
		[]inner{{1, nil}, {-2, &inner{3, nil}}},
		&inner{4, nil}, nil,
		map[uint32]*[2]uint64{7: {1, 2}, 3: {3, 1 << 63}},
		nil,
	}
}

func TestRoundTrip(t *testing.T) {
	b, err := Append(nil, full())
	require.NoError(t, err)
	other := &sample{none: &inner{}, list: make([]inner, 2), table: map[uint32]*[2]uint64{3: {}, 4: {}}}
	shared := other.list
	rest, err := Read(append(b, 1, 2), other)
	require.Need(t, err == nil && bytes.Equal(rest, []byte{1, 2}), "rest % x, %v", rest, err)
	require.That(t, reflect.DeepEqual(other, full()), "read %+v", other)
	require.That(t, shared[1].link != nil, "a slice of the same length has moved")
	again, err := Append(nil, other)
	require.That(t, err == nil && bytes.Equal(again, b), "written again it differs: %v", err)
}

// TestEveryValue reads each value of a type over each other one. What is cut off anywhere is an error.
func TestEveryValue(t *testing.T) {
	many := map[int8]bool{}
	for i := range int8(100) {
		many[i-50] = i%3 == 0
	}
	for _, values := range [][]any{
		{false, true},
		{int64(0), int64(-1), int64(1<<63 - 1), int64(-1 << 63)},
		{uintptr(0), uintptr(127), uintptr(128), ^uintptr(0)},
		{"", "x", strings.Repeat("text", 100)},
		{[]byte{}, []byte{200}, []byte{1, 2}},
		{[3]byte{}, [3]byte{1, 2, 3}},
		{[]int16{}, []int16{-200}, []int16{1, 2}},
		{map[int8]bool{}, map[int8]bool{-1: true}, many},
	} {
		for _, v := range values {
			of := reflect.TypeOf(v)
			from := reflect.New(of)
			from.Elem().Set(reflect.ValueOf(v))
			b := require.Must(Append(nil, from.Interface()))(t)
			for _, old := range values {
				to := reflect.New(of)
				to.Elem().Set(reflect.ValueOf(old))
				rest, err := Read(b, to.Interface())
				require.That(t, err == nil && len(rest) == 0 && fmt.Sprint(to.Elem()) == fmt.Sprint(v), "%v over %v is %v with % x left, %v", v, old, to.Elem(), rest, err)
				again, err := Append(nil, to.Interface())
				require.That(t, err == nil && bytes.Equal(again, b), "%v over %v, written again: % x, want % x", v, old, again, b)
			}
			for cut := range b {
				require.Error(t, require.Err(Read(b[:cut], reflect.New(of).Interface())), "cut off", "%d bytes of %v", cut, v)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	circle := &inner{}
	circle.link = circle
	deep := &inner{} // a pointer is one step, and what it leads to is the next
	for range maxDepth/2 - 1 {
		deep = &inner{link: deep}
	}
	_, err := Append(nil, deep)
	require.NoError(t, err)
	for want, v := range map[string]any{
		"a func cannot be kept":      &struct{ f func() }{},
		"a interface cannot be kept": &struct{ f any }{},
		"keys of type string":        &struct{ m map[string]int }{},
		"keys of type float32":       &struct{ m map[float32]int }{},
		"link.link: too deep":        &inner{link: deep},
		"too deep":                   circle,
		"is no pointer":              inner{},
	} {
		require.Error(t, require.Err(Append(nil, v)), want, "%T", v)
	}
}

// FuzzRead gives bytes that are damaged in any way.
func FuzzRead(f *testing.F) {
	b := require.Must(Append(nil, full()))(f)
	f.Add(b)
	f.Fuzz(func(_ *testing.T, b []byte) {
		_, _ = Read(b, &sample{}) // whatever comes, but no panic
	})
}
