package experiments

import "kprobesim/cpus"

// NewLoader returns a loader that knows the instruction sets and guest images of this program.
func NewLoader() *Loader {
	return &Loader{ISAs: []*cpus.ISA{}}
}
