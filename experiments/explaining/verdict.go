package explaining

import (
	"fmt"

	"kprobesim/distro/costing"
	"kprobesim/kprobes"
)

// Verdict tells in words whether a kernel takes a probe at an address, and how a hit runs there.
type Verdict struct {
	Addr        uint64 `json:"address"`
	Place       string `json:"place"` // function+offset
	Instruction string `json:"instruction,omitempty"`
	// Probe says that a probe may stand there. If not, Rule and Why say which rule forbids it, and Errno what
	// register_kprobe returns, as a positive number.
	Probe bool         `json:"probe"`
	Rule  kprobes.Rule `json:"rule,omitempty"`
	Errno int          `json:"errno,omitempty"`
	Why   string       `json:"why,omitempty"`
	// First is how the first hit runs, and Kind how later ones do: "stepped", "boosted", "emulated" or "ftrace". Exceptions
	// is how many exceptions a later hit takes unless it is optimized.
	First      string `json:"first,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Exceptions int    `json:"exceptions"`
	// Optimized says that a probe without a post handler is replaced by a jump. If not, Kept and KeptWhy say which rule
	// keeps its breakpoint.
	Optimized bool         `json:"optimized"`
	Kept      kprobes.Rule `json:"not_optimized,omitempty"`
	KeptWhy   string       `json:"not_optimized_why,omitempty"`
	// Retried says that the place is in a pair of a load that reserves and a store on that condition.
	Retried bool `json:"retried,omitempty"`
	// Cost is the cost of a hit of its kind on the machine, nil where it was not measured.
	Cost *costing.Cost `json:"cost,omitempty"`

	first, then kprobes.Mode
}

// fill takes over what the rules say.
func (v *Verdict) fill(j kprobes.Verdict) {
	if d := j.Denied; d != nil {
		v.Rule, v.Why, v.Errno = d.Rule, d.Text, int(d.Errno)
		return
	}
	v.Probe, v.Retried = true, j.Retried
	v.first, v.then = j.First, j.Then
	v.First, v.Kind, v.Exceptions = j.First.String(), j.Then.String(), j.Then.Exceptions()
	if v.Optimized = j.Kept == nil; !v.Optimized {
		v.Kept, v.KeptWhy = j.Kept.Rule, j.Kept.Text
	}
}

// Mode is how a hit runs once the kernel has done what it does behind a registration and the first hit.
func (v *Verdict) Mode() kprobes.Mode {
	if v.Optimized {
		return kprobes.Optimized
	}
	return v.then
}

// Sentences say what the verdict is, but for its cost.
func (v *Verdict) Sentences() []string {
	if !v.Probe {
		return []string{fmt.Sprintf("no probe (%s, error %d): %s", v.Rule, v.Errno, v.Why)}
	}
	out := []string{map[kprobes.Mode]string{
		kprobes.Ftrace:   "a probe rests on ftrace: the function calls the handlers at its start",
		kprobes.Emulated: "a probe is a breakpoint, and the kernel does what the instruction would do",
		kprobes.Boosted:  "a probe is a breakpoint, and a copy of the instruction is followed by a jump back",
		kprobes.Stepped:  "a probe is a breakpoint, and a copy of the instruction is stepped",
	}[v.then] + ": " + counted(v.Exceptions)}
	if v.first != v.then {
		out = append(out, "the first hit is "+v.First)
	}
	switch {
	case v.Optimized:
		out = append(out, "a moment later it is a jump without an exception, unless it has a post handler")
	case v.then != kprobes.Ftrace:
		out = append(out, fmt.Sprintf("it stays a breakpoint (%s): %s", v.Kept, v.KeptWhy))
	}
	if v.Retried {
		out = append(out, "a hit by a breakpoint takes away the reservation that the store behind needs, so a loop around it never ends")
	}
	return out
}

// counted says how many exceptions a hit takes.
func counted(n int) string {
	switch n {
	case 0:
		return "no exception"
	case 1:
		return "one exception"
	}
	return fmt.Sprintf("%d exceptions", n)
}
