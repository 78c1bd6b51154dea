package image

import (
	"strings"
	"testing"
)

// TestEnumsThatClash: each unit declares the constants that it uses, and all must agree.
func TestEnumsThatClash(t *testing.T) {
	im := &Image{Name: "two.elf", types: typeTable{loaded: true, enums: map[string]enumerator{}}}
	for _, v := range []int64{8192, 8192} {
		im.types.declare("THREAD_SIZE", v)
	}
	if v, err := im.Enum("THREAD_SIZE"); err != nil || v != 8192 {
		t.Errorf("%d, %v", v, err)
	}
	im.types.declare("THREAD_SIZE", 4096)
	im.types.declare("THREAD_SIZE", 8192)
	if _, err := im.Enum("THREAD_SIZE"); err == nil || !strings.Contains(err.Error(), "different values") {
		t.Errorf("sizes that differ: %v", err)
	}
}
