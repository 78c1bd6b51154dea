package kprobes

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kprobesim/image"
)

// Era describes Kprobes of an architecture's kernels of some years outside of the path of a hit,
// which is the guest image's. Structures have the members of 2.6.33 in every era; what an era does not
// know of stays zero.
type Era struct {
	Year       int
	Boost      bool // later hits need no step, by Arch.Then
	BoostsFew  bool // only copies of branches and a few other instructions
	Optimize   bool // jump optimization
	Boundaries bool // an address that is not the start of an instruction is refused
	// GroupPost says that an aggregate has a post handler even where none of its children has one.
	GroupPost bool
	// Conditional says that a breakpoint keeps the condition of the instruction in whose place it stands.
	Conditional bool

	// Change sets the kernels of the era apart from the architecture's others in how an instruction is
	// copied and text is changed; nil for nothing. It gets a copy of the Arch.
	Change func(a *Arch)
	// Hooks says that return instances in use are on lists of their tasks and free ones in pools without locks.
	Hooks bool
	// EntryCall makes the call, from one address to another, that replaces the nop by which a function of
	// the image's table of such nops begins. It is nil for kernels without probes that rest on it.
	EntryCall func(from, to uint64) []byte
	Emulates  bool // instructions that depend on their place are emulated, though others are not
	// Freezer says that a preemptible kernel boosts where it can freeze tasks.
	Freezer bool
	// Tasks says that the optimizer waits for tasks, where kernel code is preempted.
	Tasks bool

	Protected       []string // functions outside of the section for them that cannot be probed
	ReturnProtected []string // functions that cannot have a return probe
}

// api describes the interface of the kernels of some years, on every architecture. Registering a
// structure twice, which kernels of 2005 answer with broken lists, is EINVAL in every era.
type api struct {
	year      int
	disabled  bool     // probes can be registered disabled, from 2.6.30
	entry     bool     // return probes have entry handlers and data, from 2.6.25
	many      bool     // as many return instances as a preemptible kernel's
	faultless bool     // there are no fault handlers
	protected []string // functions that cannot be probed
	lacks     []string // calls that came later: ENOSYS
	blacklist bool     // NOKPROBE_SYMBOL lists functions that refuse probes, and debugfs shows them, from 3.16
	ofModules bool     // so it does in modules, from 5.8; the release is from memory
	strict    bool     // debugfs kprobes/enabled refuses what it does not know, from memory
	missing   Errno    // of a symbol or module text that is not there; ENOENT from 3.1, from memory
	located   bool     // so is an address without a symbol, and flags say which probes are at a function's entry, from 5.18
	atEntry   bool     // return probes stand at the first instruction of a function alone, from 4.12
	mostData  uint64   // most bytes of data of a return instance, 0 for no limit; more is E2BIG, from 5.16
}

// apis lists what is known, by year.
func apis() []api {
	// Registering several probes in one call came in 2.6.26, disabling in 2.6.30.
	early := []string{
		"register_kprobes", "unregister_kprobes", "register_kretprobes", "unregister_kretprobes",
		"register_jprobes", "unregister_jprobes", "enable_kprobe", "disable_kprobe", "enable_kretprobe",
		"disable_kretprobe",
	}
	later := []string{"preempt_schedule"}
	// Jprobes went in 4.19, fault handlers in 5.14.
	gone := []string{"register_jprobe", "unregister_jprobe", "register_jprobes", "unregister_jprobes"}
	return []api{
		{year: 2005, lacks: early, missing: EINVAL},
		{year: 2006, lacks: early, missing: EINVAL},
		{year: 2010, disabled: true, entry: true, protected: later, missing: EINVAL},
		{year: 2011, disabled: true, entry: true, protected: later, missing: EINVAL},
		{year: 2014, disabled: true, entry: true, protected: later, blacklist: true, strict: true, missing: ENOENT},
		{year: 2017, disabled: true, entry: true, protected: later, blacklist: true, strict: true, missing: ENOENT},
		{
			year: 2020, disabled: true, entry: true, many: true, faultless: true, lacks: gone, blacklist: true, ofModules: true,
			strict: true, missing: ENOENT, located: true, atEntry: true, mostData: 4096,
		},
	}
}

// HasKind tells whether kernels of a year have a kind of probe. Of a year that Kprobes does not know they have.
func HasKind(kind Kind, year int) bool {
	i := slices.IndexFunc(apis(), func(a api) bool { return a.year == year })
	return i < 0 || kind != Jprobe || !slices.Contains(apis()[i].lacks, "register_jprobe")
}

// era joins the eras of a kernel: of its architecture and of its interface.
type era struct {
	Era
	api
}

// eraOf finds what the kernel of the image has.
// The image says it in a variable, so that no option can claim an era that the path of a hit does
// not have.
func eraOf(m *memory, im *image.Image, arch *Arch) (e era, err error) {
	sym, ok := im.Symbol("kernel_era")
	if !ok {
		return e, fmt.Errorf("image %s has no symbol kernel_era, the year of its kernel: build it "+
			"with the build.sh of this version", im.Name)
	}
	year := int(m.Load(sym.Addr, image.Field{Size: 4}))
	if err := m.take(); err != nil {
		return e, err
	}
	i := slices.IndexFunc(arch.Eras, func(e Era) bool { return e.Year == year })
	j := slices.IndexFunc(apis(), func(a api) bool { return a.year == year })
	if i < 0 || j < 0 {
		var known []string
		for _, e := range arch.Eras {
			known = append(known, strconv.Itoa(e.Year))
		}
		return e, fmt.Errorf("image %s is of the era %d, which Kprobes on %s does not know: build it for one of %s", im.Name, year,
			arch.Name, strings.Join(known, ", "))
	}
	return era{arch.Eras[i], apis()[j]}, nil
}

// limit takes from the options what the kernel does not have. The error says that a way of changing
// text was asked for which would never be used.
// Boosting and optimization go in silence: they are on by default, where a protocol was asked for
// by name.
func (k *Kprobes) limit(o Options) (Options, error) {
	switch {
	case k.jump == nil && o.Patching != "" && o.Patching != PatchStop:
		return o, fmt.Errorf("patching = %q: kernels of %d write breakpoints and no jumps, so nothing is "+
			"changed that way: leave patching out", o.Patching, k.era.Year)
	case k.jump != nil && o.Patching == "":
		o.Patching = k.jump.Patchings[0]
	case k.jump != nil && !slices.Contains(k.jump.Patchings, o.Patching):
		return o, fmt.Errorf("patching = %q: on %s it is one of %q", o.Patching, k.arch.Name, k.jump.Patchings)
	}
	// A task that is preempted in a slot could stay there longer than any grace period waits.
	frozen := k.era.Freezer && o.Quiesce == QuiesceFreeze
	o.Boost = o.Boost && k.boosts() && (!o.Preempt || k.arch.Then != Boosted || frozen)
	o.OptProbes = o.OptProbes && k.jump != nil
	return o, nil
}

// boosts reports whether the kernel is built with boosting. Where a probe's first hit finds out, a function of the guest does.
func (k *Kprobes) boosts() bool {
	_, finds := k.im.Func("boost")
	return k.era.Boost && (finds || k.arch.Then != Boosted || k.arch.Learned == "")
}
