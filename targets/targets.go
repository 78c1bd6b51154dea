// Package targets has the one list of what this program simulates: an instruction set is a row of it, with
// its board, probe rules and guest images. Beside it stands the one way to boot a machine of a target with its
// kernel services and Kprobes, which experiments, the search for races and tests share.
package targets

import (
	"slices"

	"kprobesim/boards/pc"
	"kprobesim/boards/pseries"
	"kprobesim/boards/vexpress"
	"kprobesim/cpus"
	"kprobesim/cpus/arm"
	"kprobesim/cpus/ppc64"
	"kprobesim/cpus/x86"
	"kprobesim/kprobes"
	arms "kprobesim/kprobes/arm"
	power "kprobesim/kprobes/ppc64"
	rules "kprobesim/kprobes/x86"
	"kprobesim/sim"
	"kprobesim/workloads"
)

// Target is an instruction set with everything that a machine of it needs. It does not change.
type Target struct {
	Name   string // as experiments, machine descriptions and scenarios name it
	ISA    *cpus.ISA
	Board  sim.Board         // the hardware around its CPUs
	Probes *kprobes.Arch     // what the kernel knows of the instruction set
	Images []workloads.Image // guest kernels of this program, in the order of lists
	Usual  string            // the machine description that questions are answered for where none is named
}

// List returns the targets in the order of lists. Each call makes new values, so that nothing a caller does to them shows
// elsewhere.
func List() []Target {
	return []Target{
		{
			Name: "arm", ISA: arm.ISA(), Board: vexpress.Board{}, Probes: arms.Arch(),
			Images: imagesFor("arm"), Usual: "tc2-cortex-a15",
		},
		{
			Name: "i386", ISA: x86.ISA32(), Board: pc.Board{}, Probes: rules.Arch32(),
			Images: imagesFor("i386"), Usual: "pentium-m-1495",
		},
		{
			Name: "ppc64", ISA: ppc64.ISA(), Board: pseries.Board{}, Probes: power.Arch(),
			Images: imagesFor("ppc64"), Usual: "power5-1656",
		},
		{
			Name: "x86_64", ISA: x86.ISA64(), Board: pc.Board{}, Probes: rules.Arch64(),
			Images: imagesFor("x86_64"), Usual: "opteron-246",
		},
	}
}

// imagesFor returns the images of this program that are built for a target.
func imagesFor(name string) []workloads.Image {
	return slices.DeleteFunc(workloads.List(), func(im workloads.Image) bool { return im.ISA != name })
}

// Find returns the target of a name in a list, or nil. The list is an argument, so that tests can add an instruction set
// that exists nowhere else.
func Find(list []Target, name string) *Target {
	i := slices.IndexFunc(list, func(t Target) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// Names returns the names of the targets of a list.
func Names(list []Target) []string {
	var out []string
	for i := range list {
		out = append(out, list[i].Name)
	}
	return out
}

// Image returns the image of a name in a list of targets, and the target that it is built for;
// false when there is none.
func Image(list []Target, name string) (workloads.Image, *Target, bool) {
	for i := range list {
		for _, im := range list[i].Images {
			if im.Name == name {
				return im, &list[i], true
			}
		}
	}
	return workloads.Image{}, nil, false
}
