package smp

import (
	"testing"

	"kprobesim/image"
	"kprobesim/internal/require"
)

// TestPlace finds the page of an address in its file.
func TestPlace(t *testing.T) {
	k := &Kernel{}
	k.spaces.list = []*Space{{}, {areas: []area{
		{vma: 0x10, start: 0x4000, end: 0x9000, offset: 0x2000, file: &File{Inode: 7}},
		{vma: 0x20, start: 0x9000, end: 0xa000},
	}}}
	for _, x := range []struct {
		vma, address, inode, offset uint64
		ok                          bool
	}{{0x10, 0x4000, 7, 0x2000, true}, {0x10, 0x6fff, 7, 0x4000, true}, {0x20, 0x9000, 0, 0, false}, {0x30, 0x4000, 0, 0, false}} {
		inode, offset, ok := k.Place(x.vma, x.address)
		require.That(t, inode == x.inode && offset == x.offset && ok == x.ok, "%#x of area %#x: %d, %#x, %v; want %+v", x.address, x.vma, inode, offset, ok, x)
	}
}

// TestUserSegments lists what user mode has, and no segment without memory.
func TestUserSegments(t *testing.T) {
	k := &Kernel{im: &image.Image{Segments: []image.Segment{{VA: 0x3000, MemSize: 1, User: true}, {VA: 0x1000, MemSize: 5}, {VA: 0x2000, User: true}, {VA: 0x1800, MemSize: 2, User: true}}}}
	got := k.userSegments()
	require.That(t, len(got) == 2 && got[0].VA == 0x1800 && got[1].VA == 0x3000, "%+v", got)
}
