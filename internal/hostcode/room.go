package hostcode

import (
	"runtime"
	"unsafe"

	"kprobesim/internal/host"
)

// Room is memory for code, which is filled from its beginning on. The zero value has none. No page of it can be both
// written and executed: Go writes at one address, and the processor executes the same memory at another.
type Room struct {
	memory
	used, most int
}

// memory is one memory at two addresses. Pages that nothing may touch stand before, between and behind the two.
type memory struct {
	all, write, execute []byte
}

// guard is the number of bytes that nothing may touch, a multiple of any page's.
const guard = 1 << 16

// NewRoom returns a room of so many bytes, which goes back to the system when nothing refers to it. It returns nil where
// no code can be executed, or none may be (host.Code.Off).
func NewRoom(size int) *Room {
	if host.Code.Off {
		return nil
	}
	m := mapped(size)
	if m == nil {
		return nil
	}
	r := &Room{memory: *m}
	runtime.AddCleanup(r, unmap, m)
	return r
}

// rest returns the free bytes, where they are written.
func (r *Room) rest() []byte { return r.write[r.used:] }

// Keep takes n bytes of the rest, and returns where they begin, counted from the beginning of the room. Code that was
// written at another address than it is executed at, in the place of older code, wants a serializing instruction before
// (SDM vol. 3, 10.1.3).
func (r *Room) Keep(n int) (place int) {
	if r.used < r.most {
		serialize()
	}
	place = r.used
	r.used += n
	r.most = max(r.most, r.used)
	return place
}

// Address returns where a place is executed.
func (r *Room) Address(place int) uintptr { return uintptr(unsafe.Pointer(&r.execute[place])) }

// Used returns the number of bytes that were kept.
func (r *Room) Used() int { return r.used }

// Empty forgets the code from a place on. None of it may be executed afterwards.
func (r *Room) Empty(place int) { r.used = place }

// Put keeps code that was made elsewhere, and returns its place. The room must have space for it.
func (r *Room) Put(code []byte) (place int) {
	copy(r.rest()[:len(code)], code)
	return r.Keep(len(code))
}
