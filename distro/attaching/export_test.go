package attaching

import (
	"debug/elf"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// Sentinel replaces instructions that read a field that is not there.
const Sentinel = btf.COREBadRelocationSentinel

// Option returns the value of an option of a kernel.
func Option(g Guest, name string) (uint64, error) { return (&loader{Guest: g}).option(name) }

// Processors returns how many there may be.
func Processors(g Guest) (int, error) { return processors(g) }

// Explain says whether the verifier refuses a program for fields that are not there.
func Explain(lacks string, err error) error { return lacking(strings.Fields(lacks)).explain(err) }

// Argument is how a program finds an argument of a static probe.
func Argument(machine elf.Machine, text string) ([]byte, error) { return argument(machine, text) }

// Split parts the arguments of a static probe.
func Split(arguments string) []string { return split(arguments) }

// Known tells why a map is not made.
func Known(m *ebpf.MapSpec) error { return known(m) }

// Relocate puts places of the kernel's fields into instructions, and returns what fields it has not.
func Relocate(types []byte, code asm.Instructions) ([]string, error) {
	own, err := btf.NewBuilder(nil, nil)
	if err != nil {
		return nil, err
	}
	return (&loader{types: &kernelTypes{raw: types}}).relocate(code, own)
}

// Find returns the name of a program of the kernel, and where its functions begin and end.
func Find(g Guest) (name string, code [][2]uint64, err error) { return find(g, 7) }
