// Package host gives packages that simulate the few services that they need of the machine they run on: memory, and bounds
// of what is kept for speed. Nothing here influences a result.
package host

import "runtime"

// FreeMemory collects garbage, which can take some milliseconds. It is called where a large part of the heap has just
// become free.
func FreeMemory() { runtime.GC() }
