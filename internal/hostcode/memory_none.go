//go:build !linux || !amd64

package hostcode

import "unsafe"

// mapped returns nothing: this host's code is not written here.
func mapped(int) *memory { return nil }

func unmap(*memory) {}

func serialize() {}

// Call is never reached: there is no Room.
func Call(uintptr, uintptr, unsafe.Pointer) uint64 { panic("hostcode: no code for this host") }
