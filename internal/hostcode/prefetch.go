//go:build amd64 || arm64

package hostcode

import "unsafe"

// Prefetch asks for the line of a byte that may soon be read. It waits for nothing, and any address will do.
//
//go:noescape
func Prefetch(p unsafe.Pointer)
