package image

import (
	"fmt"
	"strings"
)

// Phase is the step of a probe hit, or else the part of a kernel, that a piece of guest code does. CPUs
// count time by the number of it. Which section a function is in decides its phase, so the guest's
// sources say it with an attribute and no list of names is kept here.
type Phase uint8

// Phases, in the order of tables.
const (
	PhaseKernel    Phase = iota // everything that is in no section of a phase
	PhaseWorkload               // the functions that are probed and the loops that call them
	PhaseEntry                  // from an exception's first instruction to its handler in C
	PhaseDispatch               // the notifier chain and the look-up of the probe
	PhaseHandler                // the handlers of probes
	PhaseStep                   // out-of-line slots, and everything between a single-step exception and its return
	PhaseReturn                 // the way back from an exception
	PhaseKretprobe              // the trampoline of return probes and what it calls
	PhaseDetour                 // detour buffers of optimized probes
	PhaseIRQ                    // interrupts
	PhaseIdle                   // the idle loop
	PhaseStop                   // the loop in which CPUs stand still while another one changes code
	PhaseUser                   // code that runs in user mode
	PhaseCount                  // how many there are
)

// Phases of a probe hit in kernels of distributions, beside those above. CPUs do not count them: observers do.
const (
	PhaseRethook Phase = PhaseCount + iota // the trampoline of hooked returns and what it calls
	PhaseEvent                             // the record of a trace event
	PhaseOther                             // what is in no list
	phaseEnd
)

// String is the phase as tables and section names write it.
func (p Phase) String() string {
	names := [phaseEnd]string{
		"kernel", "workload", "entry", "dispatch", "handler", "step", "return", "kretprobe", "detour", "irq", "idle",
		"stop", "user", PhaseRethook: "rethook", PhaseEvent: "event", PhaseOther: "other",
	}
	if p >= phaseEnd {
		return fmt.Sprintf("phase %d", uint8(p))
	}
	return names[p]
}

// Probing tells whether only probes execute code of the phase. The ways into and out of exceptions serve
// others, too. Accounts of CPU time ask it; what it does not decide they decide by the exception
// context.
func (p Phase) Probing() bool {
	switch p {
	case PhaseDispatch, PhaseHandler, PhaseStep, PhaseKretprobe, PhaseDetour, PhaseRethook, PhaseEvent:
		return true
	}
	return false
}

// PhaseNamed is the phase of a name.
func PhaseNamed(name string) (Phase, bool) {
	for p := range phaseEnd {
		if p.String() == name {
			return p, true
		}
	}
	return 0, false
}

// phaseOf gives the phase of a section's code. Sections .phase.X and .phase.X.Y are of phase X. An
// unknown name is an error and not the kernel's phase: its time would silently count as something
// else.
func phaseOf(section string) (Phase, error) {
	name, named := strings.CutPrefix(section, ".phase.")
	switch {
	case named:
		name, _, _ = strings.Cut(name, ".")
		if p, ok := PhaseNamed(name); ok && p < PhaseCount {
			return p, nil
		}
		return 0, fmt.Errorf("section %s: there is no phase %q: use that of a section in the guest's linker script",
			section, name)
	case section == ".slots":
		return PhaseStep, nil
	case section == ".detours":
		return PhaseDetour, nil
	case section == ".workload" || strings.HasPrefix(section, ".workload."):
		return PhaseWorkload, nil
	case strings.HasPrefix(section, userPrefix):
		return PhaseUser, nil
	}
	return PhaseKernel, nil
}

// Phase gives the phase of the code at an address. CPUs ask once for every block of decoded code,
// and not for every instruction.
func (im *Image) Phase(addr uint64) Phase {
	if s := im.sectionAt(addr); s != nil {
		return s.phase
	}
	return PhaseKernel
}
