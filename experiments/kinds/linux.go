package kinds

import (
	"kprobesim/distro"
	"kprobesim/experiments/schema"
)

// Linux measures the probes of the kernel of a distribution.
const Linux = "linux"

func linuxKind() Kind {
	return Kind{
		Name: Linux, Linux: distro.DefaultCommand, Workload: schema.ReadLinuxWorkload,
		Once: "a boot is the same each time",
	}
}
