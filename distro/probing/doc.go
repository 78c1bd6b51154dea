// Package probing says of an address in a distribution's kernel whether a probe may stand there, of which kind it
// would be, whether it would be replaced by a jump, and which rule says no.
//
// The rules come from kernels of 5.10 and from 5.18 to 7.2 on x86. They are applied in the kernel's order to the
// kernel's own tables, and to its text: the file's, or better that in the memory of a machine that has booted it. A
// kernel changes its text while it boots, for the processor that it finds.
package probing
