// Package phases says to which step of a probe's hit each instruction of a distribution's kernel belongs.
//
// A kernel of its own has its steps in sections. A packaged kernel has names of functions alone, so a table says it by
// name: entry, dispatch, handler, step, return, rethook, detour, the record of a trace event. Names follow kernels
// from 5.18 to 6.1. A function that is in no row is not part of the hit; it counts for "other", and the difference to a run
// without the probe shows how much the table misses. Functions that anybody calls, such as the thunks of returns,
// count for the code before them.
//
// Code outside the kernel's text has no name: instruction slots, detour buffers, the trampolines of ftrace, and modules.
// Each page of it counts for what led there first.
package phases
