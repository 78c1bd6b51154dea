// Package pseries is the hardware around the CPUs of a logical partition of an IBM eServer p5: RAM from
// physical address 0, and a hypervisor that answers sc with LEV 1. The calls are as Linux makes them on Power
// Architecture Reference (LoPAR, 2020), which continues the PAPR; it is cited by the names of its chapters.
//
// Each CPU has the presentation side of an interrupt controller, reached by calls, whose only source is
// the interprocessor interrupt. Each has a decrementer. The firmware's run-time services (RTAS) start
// and stop CPUs. What is written to the virtual terminal is the machine's console.
//
// Left out are calls that change the page table, which the loader builds once, devices with interrupt
// sources of their own, shared processors (H_PROD, H_CONFER), and the terminal's input. A call that is
// not there returns H_Function, and the CPU counts it as not modelled.
//
// CPU 0 begins at the image's entry. The others are stopped until RTAS start-cpu names them. They begin
// at the same entry, told apart by their number, in place of the address that the call gives in real mode.
package pseries
