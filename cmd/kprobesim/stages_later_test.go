package main

// laterStages lists the stages of x86-64 of 2020. A hit that has a copy raises two #BP, one that is emulated one, and a
// probe at function entry none. No way in reads a model-specific register: all run on the task's stack. Return probes take
// an instance from a pool that is a list without locks: a reference is taken, the head exchanged, the reference dropped.
// Giving it back is one addition and one exchange. How many instructions these kernels need is not known.
func laterStages() []pathStage {
	const (
		copied, emulated, entry = "isas-x86_64-2020", "isas-x86_64-2020-emulated", "isas-x86_64-2020-entry"
		untraced, traced        = "x86_64-2020-untraced", "x86_64-2020"
	)
	return []pathStage{
		{untraced, copied, "k", atBreakpoint, "iret", 0, 0, 0, 0},
		{untraced, copied, "k", atCopyEnd, "iret", 0, 0, 0, 0},
		{untraced, copied, "b", atBreakpoint, "iret", 0, 0, 0, 0},
		{untraced, copied, "r", atEntry, "", 3, 0, 0, 0},
		{untraced, copied, "r", atReturn, "", 2, 0, 0, 0},
		{untraced, copied, "o", atDetour, "", 0, 3, 0, 0},
		{untraced, emulated, "e", atBreakpoint, "iret", 0, 0, 0, 0},
		{untraced, emulated, "e", atEmulation, "", 0, 0, 0, 0},
		{traced, entry, "f", atEntryCall, "", 0, 0, 0, 0},
		{traced, entry, "rf", atReturn, "", 2, 0, 0, 0},
	}
}
