package experiments

import (
	"kprobesim/cpus"
	"kprobesim/cpus/x86"
	"kprobesim/workloads"
)

// NewLoader returns a loader that knows the instruction sets and guest images of this program.
func NewLoader() *Loader {
	l := &Loader{ISAs: []*cpus.ISA{x86.ISA64(), x86.ISA32()}}
	for _, im := range workloads.List() {
		l.Images = append(l.Images, BuiltIn{
			Name: im.Name, ISA: im.ISA, Era: im.Era,
			Load: func() ([]byte, error) { return workloads.Open(im.Name) },
		})
	}
	return l
}
