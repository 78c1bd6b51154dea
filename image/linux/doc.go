// Package linux reads the kernel of a Linux distribution as packaged: a bzImage, the ELF file in it, or a zImage of ARM. It gives
// the segments to load, every symbol by name, and the tables in which a kernel keeps what a probe must know of its
// code.
//
// A packaged kernel has no symbol table. It has the tables by which the kernel itself prints names, kallsyms, and
// those are decoded here. They are found by their shape, since nothing in the file points at them.
//
// The layout of a bzImage is that of the x86 boot protocol, version 2.15 (Documentation/x86/boot.rst). The
// layouts of kallsyms are facts of kernels from 4.6 on; layouts of earlier ones are left out, and so are kernels of
// other architectures than x86-64, i386 and ARM. What is in a zImage has no ELF header and no sections: it is one segment.
//
// Files of any origin may be given to it. Damage is an error, never a panic, and memory and time are bounded.
package linux
