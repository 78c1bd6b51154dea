package hostcode

import (
	"runtime"
	"unsafe"
)

// Room is memory for code, which is filled from its beginning on. The zero value has none.
type Room struct {
	all  []byte
	used int
}

// Off has NewRoom find no host code. Only tests change it.
var Off bool

// NewRoom returns a room of so many bytes, which goes back to the system when nobody refers to it; or nil where no
// code can be executed.
func NewRoom(size int) *Room {
	if Off {
		return nil
	}
	b := mapped(size)
	if b == nil {
		return nil
	}
	r := &Room{all: b}
	runtime.AddCleanup(r, unmap, b)
	return r
}

// rest is what is free.
func (r *Room) rest() []byte { return r.all[r.used:] }

// Keep takes n bytes of the rest, and returns where they begin, counted from the beginning of the room.
func (r *Room) Keep(n int) (place int) {
	place = r.used
	r.used += n
	return place
}

// Address is that of a place.
func (r *Room) Address(place int) uintptr { return uintptr(unsafe.Pointer(&r.all[place])) }

// Words are the two words of data at a place.
func (r *Room) Words(place int) *[2]uint64 { return (*[2]uint64)(unsafe.Pointer(&r.all[place])) }

// Used is the number of bytes that were kept.
func (r *Room) Used() int { return r.used }

// Empty forgets the code from a place on. Nobody may execute it any more.
func (r *Room) Empty(place int) { r.used = place }
