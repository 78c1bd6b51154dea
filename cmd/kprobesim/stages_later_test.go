package main

import "slices"

// laterStages lists the stages of x86 of 2020. A hit that has a copy raises two #BP, one that is emulated one, and a
// probe at function entry none. No way in of x86-64 reads a model-specific register: all run on the task's stack. The ways in of
// i386 load three segment registers, and so do the ways out. Return probes take
// an instance from a pool that is a list without locks: a reference is taken, the head exchanged, the reference dropped.
// Giving it back is one addition and one exchange. How many instructions these kernels need is not known.
func laterStages() []pathStage {
	return slices.Concat(laterStagesOf("i386", "6 segment, iret"), laterStagesOf("x86_64", "iret"))
}

func laterStagesOf(isa, trap string) []pathStage {
	copied, untraced, traced := "isas-"+isa+"-2020", isa+"-2020-untraced", isa+"-2020"
	emulated, entry := copied+"-emulated", copied+"-entry"
	return []pathStage{
		{untraced, copied, "k", atBreakpoint, trap, 0, 0, 0, 0},
		{untraced, copied, "k", atCopyEnd, trap, 0, 0, 0, 0},
		{untraced, copied, "b", atBreakpoint, trap, 0, 0, 0, 0},
		{untraced, copied, "r", atEntry, "", 3, 0, 0, 0},
		{untraced, copied, "r", atReturn, "", 2, 0, 0, 0},
		{untraced, copied, "o", atDetour, "", 0, 3, 0, 0},
		{untraced, emulated, "e", atBreakpoint, trap, 0, 0, 0, 0},
		{untraced, emulated, "e", atEmulation, "", 0, 0, 0, 0},
		{traced, entry, "f", atEntryCall, "", 0, 0, 0, 0},
		{traced, entry, "rf", atReturn, "", 2, 0, 0, 0},
	}
}
