// Package gdb lets gdb look at a simulated machine, by its remote serial protocol. CPUs are threads. A breakpoint is an
// address at which the engine stops, so guest memory stays as it is, and so do all times.
//
// Backwards is forwards from the start: the machine is deterministic, so a second one is run up to the instruction that
// is wanted. A position is the CPU, its count of instructions and its time.
//
// Left out are writes to registers, tracepoints, and files. Only the machine as a whole goes on: a single CPU never does.
package gdb
