package image

import (
	"testing"

	"kprobesim/internal/require"
)

// TestEnumsThatClash: each unit declares the constants that it uses, and all must agree.
func TestEnumsThatClash(t *testing.T) {
	im := &Image{Name: "two.elf", types: typeTable{loaded: true, enums: map[string]enumerator{}}}
	for _, v := range []int64{8192, 8192} {
		im.types.declare("THREAD_SIZE", v)
	}
	require.Got(im.Enum("THREAD_SIZE"))(t, 8192, "")
	im.types.declare("THREAD_SIZE", 4096)
	im.types.declare("THREAD_SIZE", 8192)
	require.Error(t, require.Err(im.Enum("THREAD_SIZE")), "different values", "sizes that differ")
}
