package state

import (
	"bytes"
	"reflect"
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

func TestRefused(t *testing.T) {
	circle := &inner{}
	circle.link = circle
	for want, v := range map[string]any{
		"a func cannot be kept":      &struct{ f func() }{},
		"a interface cannot be kept": &struct{ f any }{},
		"keys of type string":        &struct{ m map[string]int }{},
		"keys of type float32":       &struct{ m map[float32]int }{},
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
