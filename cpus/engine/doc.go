// Package engine executes and times decoded instructions, whatever their instruction set. It holds what
// a CPU has beside its registers' meaning: straight-line runs of decoded code ("blocks"), the store that
// finds them by physical address, the cost models, the branch predictor, the caches with their
// coherence, micro-TLBs in front of the TLBs, the accounts by exception and phase, and the loops that
// run, step and observe.
//
// An instruction has two parts that stand in parallel. Op has what the engine times: its class, which
// operands it waits for and sets, whether it loads or stores. The other part is executed by the instruction set:
// a function and its operands, of a type that the instruction set chooses. An instruction set
// embeds an Engine in its CPU and implements ISA, which is asked for what is rare: an address that no
// micro-TLB has, code that was not decoded, an exception, an interrupt.
//
// Run goes from block to block. fetch finds the next one (find) or decodes it (decodeBlock), and fetchLines charges its
// lines. runBlocks executes it by reference functions, or, once it is executed often, by host code (translate, runCode).
// Then settle gives its instructions their times: hitMemo where the memo has the block in the present state,
// lookUp where its accesses have taken time, and else the timing model (scheduleOps). Links lead on to the next block.
//
// What may end a block. A block lies within 64 aligned bytes. It is executed first and timed afterwards, and the engine looks at the time
// and at interrupts between two blocks. So the ends of blocks decide where a turn ends and when an interrupt comes. They must follow
// from the guest alone, and never from what the host has decoded. A block ends at a branch, at the end of its 64 bytes, at an
// exception, behind an instruction after which fetching starts anew, and behind a store into a line that the block itself lies in. A
// store into any other line drops what was decoded from it, and the block goes on. A block that is left in the middle, by an
// observer or at the end of some instructions, goes on as the same block. A traced run goes instruction by instruction and takes
// exactly the same time. An observer that needs sums alone, as that of a program's profile, is told of a block at once where all of it
// counts for the same function. TestHostDecidesNothing of each instruction set runs random programs that write into code, change page
// tables and interrupt each other, in all ways to execute them, and TestWaysOfAnything does so for random cores: registers, memory,
// times and counters must agree.
//
// Left out: misses of the operation cache, lines that are written back, stores on the wrong path of a branch. Memory is
// sequentially consistent with an instruction as the unit. Instruction caches are coherent, unless the machine description says
// otherwise (incoherent.go).
package engine
