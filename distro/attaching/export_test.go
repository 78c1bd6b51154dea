package attaching

import (
	"debug/elf"
	"strings"

	"github.com/cilium/ebpf"
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
