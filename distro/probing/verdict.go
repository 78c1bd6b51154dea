package probing

import (
	"fmt"
	"slices"
	"strings"

	"kprobesim/kprobes"
)

// Rule names why a probe may not stand at an address. Rules of jump optimization are kprobes.Rule.
type Rule string

// The rules in the order in which a kernel looks at them.
const (
	ruleText        Rule = "no-kernel-text"
	ruleKprobesText Rule = "kprobes-text"
	ruleNoinstr     Rule = "noinstr"
	ruleEntry       Rule = "entry-text"
	ruleBlacklist   Rule = "blacklist"
	ruleJumpLabel   Rule = "jump-label"
	ruleStaticCall  Rule = "static-call"
	ruleBug         Rule = "bug"
	ruleFtrace      Rule = "ftrace-call"
	ruleBoundary    Rule = "no-instruction-start"
	ruleNotCopied   Rule = "neither-copied-nor-emulated"
)

// Verdict says how a kernel would answer a probe at an address.
type Verdict struct {
	Addr        uint64 `json:"address"`
	Place       string `json:"place"` // function+offset
	Instruction string `json:"instruction,omitempty"`
	// Probe says that a probe may stand there. If not, Rule and Why say which rule forbids it, and Errno what
	// register_kprobe returns, as a positive number.
	Probe bool   `json:"probe"`
	Rule  Rule   `json:"rule,omitempty"`
	Errno int    `json:"errno,omitempty"`
	Why   string `json:"why,omitempty"`
	// Event says that a trace event may be put there (kprobe_events): not in functions that ftrace does not know.
	Event bool `json:"trace_event"`
	// Kind is how a hit runs: "ftrace", "emulated" or "stepped", by which a copy of the instruction with a breakpoint
	// behind it is meant. Exceptions is how many exceptions a hit takes unless it is optimized.
	Kind       string `json:"kind,omitempty"`
	Exceptions int    `json:"exceptions"`
	// Optimized says that a probe without a post handler is replaced by a jump. If not, Kept and KeptWhy say which rule
	// keeps its breakpoint.
	Optimized bool         `json:"optimized"`
	Kept      kprobes.Rule `json:"not_optimized,omitempty"`
	KeptWhy   string       `json:"not_optimized_why,omitempty"`

	end    uint64 // of what a jump would replace
	traced bool   // ftrace knows the function
}

// ruleReserved keeps a breakpoint where the kernel itself changes the text that a jump would cover.
const ruleReserved kprobes.Rule = "changed-by-the-kernel"

// markSize is the length of a mark.
const markSize = 4

// Entry moves an address at the start of a function behind the mark there. The kernel does so with a probe, because the call of
// ftrace stands behind it.
func (k *Kernel) Entry(addr uint64) uint64 {
	if !slices.Contains(k.arch.marks, string(k.text(addr, markSize))) {
		return addr
	}
	if fn, off, ok := k.function(addr); ok && off == 0 && len(fn.Code) > markSize {
		return addr + markSize
	}
	return addr
}

// At judges an address, which Entry has moved.
func (k *Kernel) At(addr uint64) Verdict {
	v := Verdict{Addr: addr, Place: k.image.SymbolText(addr)}
	fn, off, ok := k.function(addr)
	if !ok || !k.core.Contains(addr) {
		return v.refuse(ruleText, kprobes.EINVAL, "the address is in no function of the kernel's text")
	}
	v.Place, v.traced = fmt.Sprintf("%s+%#x", fn.Name, off), k.traced(fn)
	if v := k.forbid(v, fn); v.Rule != "" {
		return v
	}
	if k.ftrace[addr] && !k.arch.byFtrace {
		return v.refuse(ruleFtrace, kprobes.EINVAL, "the call of ftrace stands there, on which no probe rests")
	}
	if k.ftrace[addr] {
		v.Probe, v.Event, v.Kind, v.Kept = true, true, kprobes.Ftrace.String(), kprobes.RuleFtrace
		v.KeptWhy = "a call leads to the handlers already"
		return v
	}
	if !k.rules.Boundary(fn, addr) {
		return v.refuse(ruleBoundary, k.arch.torn, "no instruction starts there")
	}
	run, err := k.rules.Run(fn.Code[off:], addr)
	if err != nil {
		return v.refuse(ruleNotCopied, err, "such an instruction can be neither copied nor emulated")
	}
	v.Probe, v.Kind, v.Exceptions = true, run.String(), 2
	if run != kprobes.Stepped {
		v.Exceptions = 1
	}
	v.Event = v.traced
	return k.optimize(v, fn)
}

// refuse fills in why no probe may stand there.
func (v Verdict) refuse(r Rule, errno error, why string) Verdict {
	v.Rule, v.Why = r, why
	if e, ok := errno.(kprobes.Errno); ok {
		v.Errno = int(e)
	}
	return v
}

// forbid looks at the tables that forbid probes. A part of a function that the compiler has split off, or a copy for
// constants, bears its name with a suffix and shares its fate.
func (k *Kernel) forbid(v Verdict, fn kprobes.Text) Verdict {
	for _, a := range k.forbidden {
		if a.Contains(fn.Start) || a.Contains(v.Addr) {
			return v.refuse(a.rule, kprobes.EINVAL, a.why)
		}
	}
	whole, _, suffixed := strings.Cut(fn.Name, ".")
	parent, ok := k.image.Symbol(whole)
	switch {
	case k.blacklist[fn.Start], suffixed && ok && k.blacklist[parent.Addr]:
		return v.refuse(ruleBlacklist, kprobes.EINVAL, "the function is on the kernel's blacklist (NOKPROBE_SYMBOL)")
	case k.changed(k.jumps, v.Addr, v.Addr+1):
		return v.refuse(ruleJumpLabel, kprobes.EINVAL, "a jump label stands there, whose instruction the kernel changes")
	case k.changed(k.calls, v.Addr, v.Addr+1):
		return v.refuse(ruleStaticCall, kprobes.EINVAL, "a static call stands there, whose target the kernel changes")
	case k.bugs[v.Addr]:
		return v.refuse(ruleBug, kprobes.EINVAL, "it is the trap of a BUG or WARN, which is found by its address")
	}
	return v
}

// changed reports whether a site of a list, which is in order, lies in a range. A site is as long as what stands
// there: a jump label may be a short jump or nop.
func (k *Kernel) changed(sites []uint64, from, to uint64) bool {
	i, _ := slices.BinarySearch(sites, from-min(from, callSize-1))
	for ; i < len(sites) && sites[i] < to; i++ {
		if sites[i]+k.arch.site(k.text(sites[i], 2)) > from {
			return true
		}
	}
	return false
}

// traced reports whether ftrace knows the function, or the one that it was split off from.
func (k *Kernel) traced(fn kprobes.Text) bool {
	if k.called(fn.Start, fn.End()) {
		return true
	}
	whole, _, suffixed := strings.Cut(fn.Name, ".")
	s, ok := k.image.Symbol(whole)
	if !suffixed || !ok {
		return false
	}
	of, _, ok := k.function(s.Addr)
	return ok && k.called(of.Start, of.End())
}

// called reports whether a call of ftrace stands in a range. It stands behind an instruction that marks the target of a branch, or
// behind what a compiler for ARM stores first.
func (k *Kernel) called(from, to uint64) bool {
	i, _ := slices.BinarySearch(k.sites, from)
	return i < len(k.sites) && k.sites[i] < to
}

// optimize says what becomes of the breakpoint.
func (k *Kernel) optimize(v Verdict, fn kprobes.Text) Verdict {
	r, refused := k.rules.Region(kprobes.Site{
		Fn: fn, Addr: v.Addr, EntryText: k.entry, Exceptions: func(at uint64) bool { return k.exceptions[at] },
	})
	if refused != nil {
		v.Kept, v.KeptWhy = refused.Rule, refused.Text
		return v
	}
	for at := r.Addr; at < r.End(); at++ {
		if k.ftrace[at] {
			v.Kept, v.KeptWhy = ruleReserved, fmt.Sprintf("the call of ftrace at %#x lies in the region", at)
			return v
		}
	}
	if k.changed(k.jumps, r.Addr, r.End()) || k.changed(k.calls, r.Addr, r.End()) {
		v.Kept, v.KeptWhy = ruleReserved, "a jump label or static call lies in the region"
		return v
	}
	v.Optimized, v.end = true, r.End()
	return v
}

// Together are the verdicts on trace events that are enabled at the same time: another one behind the first byte of what a
// jump would replace keeps the breakpoint.
func Together(verdicts []Verdict) []Verdict {
	out := slices.Clone(verdicts)
	for i := range out {
		v := &out[i]
		for _, o := range verdicts {
			if v.Optimized && o.Probe && o.Event && v.Addr < o.Addr && o.Addr < v.end {
				v.Optimized, v.Kept = false, kprobes.RuleProbeInRegion
				v.KeptWhy = fmt.Sprintf("another probe at %s lies in the region", o.Place)
			}
		}
	}
	return out
}
