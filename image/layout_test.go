package image

import (
	"debug/dwarf"
	"errors"
	"fmt"
	"strings"
	"testing"

	"kprobesim/image/imagetest"
	"kprobesim/internal/require"
)

// TestImpossibleLines keeps lines that files can have: records of code are as long as the numbers allow, and no others.
func TestImpossibleLines(t *testing.T) {
	lr := &lineReader{im: loadGood(t), files: map[string]int32{}}
	for line, want := range map[int]int{-1: 0, 0: 1, 1 << 30: 1, 1<<30 + 1: 0} {
		lr.table.ranges = nil
		lr.add(&dwarf.LineEntry{Address: imagetest.Base, File: &dwarf.LineFile{Name: "a.c"}, Line: line}, imagetest.Base+1, "/")
		require.That(t, len(lr.table.ranges) == want, "line %d: %d ranges of code, want %d", line, len(lr.table.ranges), want)
	}
}

func TestLayout(t *testing.T) {
	im := require.Must(Load("guest.elf", gccImage(t, "-gdwarf-5")))(t)
	var missed, grid Field
	size, err := im.Layout("probe", Parts{"nmissed": &missed, "grid[1][2]": &grid})
	require.That(t, err == nil && size == 152 && missed == (Field{16, 8}) && grid == (Field{120, 4}), "size %d, %v, %v, %v", size, missed, grid, err)
	require.Error(t, require.Err(im.Layout("probe", Parts{"nmissed": &missed, "gone": &grid})), `"gone"`, "gone")
	require.That(t, require.Err(im.Layout("gone", nil)) != nil, "a structure that does not exist has a layout")
}

// cells is a memory of numbered cells that fails at address 0.
type cells map[uint64]uint64

var errNull = errors.New("nothing is there")

func (c cells) Load(va uint64, size int) (uint64, error) {
	if va == 0 {
		return 1, errNull
	}
	return c[va] & (1<<(8*size) - 1), nil
}

func (c cells) Store(va uint64, _ int, v uint64) error {
	if va == 0 {
		return errNull
	}
	c[va] = v
	return nil
}

// TestAccess has the first failure stay, and nothing be read or written behind it.
func TestAccess(t *testing.T) {
	f := Field{8, 4}
	for name, fail := range map[string]func(*Access){
		"load":  func(a *Access) { a.Load(0, Field{0, 8}) },
		"store": func(a *Access) { a.Store(0, Field{0, 8}, 1) },
	} {
		c := cells{}
		a := Access{Memory: c}
		a.Store(16, f, 0x1_0000_0007)
		v := a.Load(16, f)
		require.That(t, v == 7 && a.Err == nil, "read %#x, %v", v, a.Err)
		fail(&a)
		a.Fail(fmt.Errorf("a second failure"), "more", 1)
		a.Store(16, f, 5)
		if v := a.Load(16, f); v != 0 || c[24] == 5 || !errors.Is(a.Err, errNull) || !strings.Contains(a.Err.Error(), "at 0x0") {
			t.Errorf("%s: behind the failure %d is read, %d written, error %v", name, v, c[24], a.Err)
		}
	}
}

// TestElements indexes arrays of no elements, of some, and without bounds.
func TestElements(t *testing.T) {
	table := newTypeTable()
	table.nodes[1] = &typeNode{tag: dwarf.TagBaseType, size: 4}
	for i, x := range []struct {
		dims, index []int64
		skip        int64
		says        string
	}{
		{[]int64{0}, []int64{0}, 0, `"a" has 0 elements: [0] is none`},
		{[]int64{3}, []int64{2}, 8, ""},
		{[]int64{3}, []int64{3}, 0, `"a" has 3 elements: [3] is none`},
		{[]int64{-1}, []int64{70}, 280, ""},
		{[]int64{-1, 5}, []int64{2, 4}, 56, ""},
		{[]int64{2, 5}, []int64{1}, 20, ""},
		{[]int64{2}, []int64{1, 0}, 0, `"a" has 1 dimensions, not 2`},
		{[]int64{-1}, []int64{1 << 40}, 0, `"a"[1099511627776] lies behind every memory`},
	} {
		at := dwarf.Offset(2 + i)
		table.nodes[at] = &typeNode{tag: dwarf.TagArrayType, typ: 1, dims: x.dims}
		skip, of, dims, err := table.element(at, "a", x.index)
		if x.says != "" {
			require.Error(t, err, x.says, "%v of %v", x.index, x.dims)
			continue
		}
		require.That(t, err == nil && skip == x.skip && of == 1 && len(dims) == len(x.dims)-len(x.index), "%v of %v: %d bytes on, %v left, %v", x.index, x.dims, skip, dims, err)
	}
}
