package attaching

import "github.com/cilium/ebpf"

// Argument is how a program finds an argument of a static probe.
func Argument(text string) ([]byte, error) { return argument(text) }

// Known tells why a map is not made.
func Known(m *ebpf.MapSpec) error { return known(m) }
