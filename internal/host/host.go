// Package host is what packages that simulate may ask of the machine that they run on. Nothing here
// has an influence on what is simulated.
package host

import "runtime"

// FreeMemory returns the memory of what is not used any more, which can take some milliseconds. It is for
// whoever has just dropped a large part of the heap.
func FreeMemory() { runtime.GC() }
