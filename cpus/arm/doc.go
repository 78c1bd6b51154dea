// Package arm models processors of the ARMv7-A architecture in A32 state, little-endian: the integer
// instructions that GCC emits with -marm -march=armv7-a -mfloat-abi=soft, the integer SIMD and saturating
// instructions, and what a kernel uses of modes, exceptions, the system control coprocessor and short-descriptor
// page tables.
//
// The manual is the ARM Architecture Reference Manual, ARMv7-A and ARMv7-R edition (DDI 0406C), cited as
// ARM ARM with the number or name of the section. The multiprocessing, virtualization (its divide
// instructions alone) and security extensions (VBAR alone) come from Cortex-A7 and Cortex-A15.
//
// One instruction is one row of a table with its encoding (table.go, table_*.go) and one small function
// (ops_*.go); fields are bound to a function by forms (forms.go, forms_memory.go). Package
// golang.org/x/arch/arm/armasm prints instructions and is a second opinion on the table in tests. It does not
// decode for execution: it knows few system instructions, multiplies operations by conditions, and writes a
// variable that simulations side by side would share. What executes, times and keeps decoded
// instructions is package engine.
//
// # Conditions
//
// An instruction whose condition fails is executed without effect. In time it is the instruction that it
// would have been: it waits for the flags and for the registers that it names, its old result among them,
// takes its issue slot and its port, and its result is ready after its latency. It makes no access to memory:
// no line is brought in, no translation looked up, no store sent or found. A load that fails takes the time
// of a hit. Only branches are predicted.
//
// # Choices where the architecture leaves one
//
// An undefined instruction whose condition fails does nothing. A store of several registers whose base is
// among them stores the base as it was. A write to CPSR with a mode that does not exist keeps the mode. What is
// unpredictable and not told here is undefined.
//
// A reservation of a load exclusive is lost when another CPU writes the line, when the line leaves the
// caches of the CPU that holds it, with the next store exclusive, and with clrex. It does not
// survive by exception returns: software clears it.
//
// The machine description says whether instruction caches are coherent. If not, a store is seen by fetches behind a
// clean of the data cache, an invalidation of the instruction cache and an isb, a return from an exception or an
// exception (fetch.go). dsb is not needed for it, as accesses happen in the order of the program but in searches
// for races (mmu.Past).
//
// # Left out
//
// Thumb and Jazelle state: a branch there raises an undefined-instruction exception at its target. Floating
// point and Advanced SIMD, big-endian data, the monitor and hypervisor modes, banked forms of msr and mrs, long
// descriptors, debug and performance registers, coprocessors other than 15, external aborts of
// data. What is left out is undefined and counted (cpus.Counters.Unmodelled), so that a guest which met
// it does not look like a faulty guest.
package arm
