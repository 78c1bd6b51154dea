package kprobes

import "fmt"

// Rule identifies one reason for which a probe is not jump-optimized. The strings are stable:
// results and tests name them.
type Rule string

// The rules in the order in which they are looked at.
const (
	RuleUnsupported    Rule = "unsupported"            // kernel built without jump optimization
	RuleOff            Rule = "optimization-off"       // debug.kprobes-optimization is 0
	RulePreempt        Rule = "preemptible-kernel"     // grace periods do not cover preempted tasks
	RuleFtrace         Rule = "ftrace-based"           // a call leads to the handlers already
	RuleGone           Rule = "gone"                   // the probed text has vanished
	RuleDisabled       Rule = "disabled"               // nothing is armed
	RulePostHandler    Rule = "post-handler"           // a detour cannot run it after the instruction
	RuleJprobe         Rule = "jprobe"                 // a detour cannot go to another function
	RuleNoFunction     Rule = "no-function"            // no symbol says where the function ends
	RuleEntryText      Rule = "entry-text"             // exception entry code
	RuleNMI            Rule = "nmi-text"               // a stopped CPU may execute it
	RuleTooShort       Rule = "function-too-short"     // no room for a jump up to its end
	RuleModuleText     Rule = "module-text"            // the text is no part of the kernel, or can vanish
	RuleConditional    Rule = "conditional-branch"     // where it leads is known at a hit alone
	RuleNotEmulated    Rule = "not-emulated"           // the kernel cannot do what the instruction does
	RuleExceptionTable Rule = "exception-table-entry"  // a fault there is looked up by its address
	RuleUndecodable    Rule = "undecodable"            // the function cannot be read to its end
	RuleForeign        Rule = "foreign-breakpoint"     // somebody else's breakpoint
	RuleIndirectJump   Rule = "indirect-jump"          // it might land in the region
	RuleJumpIntoRegion Rule = "jump-into-region"       // a jump lands behind the first byte
	RuleNotBoostable   Rule = "not-boostable"          // an instruction cannot run elsewhere unaided
	RuleDisplacement   Rule = "displacement-too-large" // an operand is out of reach of the copy
	RuleNoSlot         Rule = "no-detour-slot"         // no detour buffer is free
	RuleOutOfRange     Rule = "out-of-range"           // a jump does not reach the detour buffer
	RuleProbeInRegion  Rule = "probe-in-region"        // another enabled probe, until it goes
)

// The rules by which an address takes no probe at all, in the order in which they are looked at.
const (
	RuleAbsent      Rule = "no-kprobes"           // the kernel is built without them
	RuleText        Rule = "no-kernel-text"       // nor that of a module
	RuleKprobesText Rule = "kprobes-text"         // the path of a hit itself
	RuleOutOfLine   Rule = "out-of-line-code"     // slots and detour buffers
	RuleBlacklist   Rule = "blacklist"            // a function that is named
	RuleNative      Rule = "native-call"          // nothing is executed there
	RuleUnaligned   Rule = "unaligned"            // instructions stand at multiples of their size
	RuleInCall      Rule = "inside-ftrace-call"   // behind the first byte of a function's nop
	RuleBoundary    Rule = "no-instruction-start" // or a breakpoint has no room
	RuleNotCopied   Rule = "neither-copied-nor-emulated"
)

// Denial says which rule keeps every probe from an address, and what registering one there returns.
type Denial struct {
	Refusal
	Errno Errno
}

// deny makes a denial of a sentence in the manner of fmt.Sprintf.
func deny(rule Rule, errno Errno, addr uint64, format string, args ...any) *Denial {
	return &Denial{*Refuse(rule, addr, format, args...), errno}
}

// Refusal says which rule keeps a probe from being optimized, and where.
type Refusal struct {
	Rule Rule
	Addr uint64 // the instruction or address that the rule speaks of, 0 if none
	Text string // the same as a sentence, with the address in it
}

// Error makes a refusal usable as an error.
func (r *Refusal) Error() string { return string(r.Rule) + ": " + r.Text }

// Refuse makes a refusal of a sentence in the manner of fmt.Sprintf.
func Refuse(rule Rule, addr uint64, format string, args ...any) *Refusal {
	return &Refusal{Rule: rule, Addr: addr, Text: fmt.Sprintf(format, args...)}
}
