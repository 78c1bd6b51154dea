package kprobes

import (
	"fmt"

	"kprobesim/image"
)

// Era is what the kernels of some years have of Kprobes outside of the path of a hit, which is the
// guest image's. Structures have the members of 2.6.33 in every era; what an era does not know of
// stays zero. Registering a structure twice, which kernels of 2005 answer with broken lists, is
// EINVAL in every era.
type Era struct {
	Year       int
	Boost      bool // copies may jump back, from 2.6.16
	Optimize   bool // jump optimization, from 2.6.34
	Boundaries bool // an address that is not the start of an instruction is refused
	Disabled   bool // probes can be registered disabled, from 2.6.30
	Entry      bool // return probes have entry handlers and data, from 2.6.25

	Protected       []string // functions outside of the section for them that cannot be probed
	ReturnProtected bool     // the architecture's list for return probes exists, from 2.6.24
	Lacks           []string // calls of the API that came later: ENOSYS
}

// eras lists what is known, by year.
func eras() []Era {
	return []Era{
		{
			Year: 2005,
			Lacks: []string{
				"register_kprobes", "unregister_kprobes", "register_kretprobes",
				"unregister_kretprobes", "register_jprobes", "unregister_jprobes", "enable_kprobe",
				"disable_kprobe", "enable_kretprobe", "disable_kretprobe",
			},
		},
		{
			Year: 2010, Boost: true, Optimize: true, Boundaries: true, Disabled: true, Entry: true,
			Protected: []string{
				"preempt_schedule", "native_get_debugreg", "irq_entries_start", "common_interrupt",
			},
			ReturnProtected: true,
		},
	}
}

// eraOf finds the era that the image was built for.
func eraOf(m *memory, im *image.Image) (Era, error) {
	sym, ok := im.Symbol("kernel_era")
	if !ok {
		return Era{}, fmt.Errorf("image %s has no symbol kernel_era, the year of its kernel: build it "+
			"with the build.sh of this version", im.Name)
	}
	year := int(m.load(sym.Addr, field{0, 4}))
	for _, e := range eras() {
		if e.Year == year {
			return e, m.take()
		}
	}
	return Era{}, fmt.Errorf("image %s is of the era %d, which Kprobes does not know", im.Name, year)
}

// limit takes from the options what the era does not have. The error says that a way of changing
// text was asked for which would never be used.
func (e Era) limit(o Options) (Options, error) {
	if o.Patching != PatchStop && !e.Optimize {
		return o, fmt.Errorf("patching = %q: kernels of %d write breakpoints and no jumps, so nothing is "+
			"changed that way: leave patching out", o.Patching, e.Year)
	}
	o.Boost = o.Boost && e.Boost
	o.OptProbes = o.OptProbes && e.Optimize
	return o, nil
}
