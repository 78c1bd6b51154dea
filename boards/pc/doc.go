// Package pc is the hardware around the CPUs of a PC: RAM from physical address 0 and a local APIC for
// each CPU, after the Intel 64 and IA-32 Architectures Software Developer's Manual (SDM), volume 3A, in the
// numbering of 2009, chapter 10.
//
// The APIC has its priorities, its timer, interprocessor interrupts and errors. Left out are firmware,
// x2APIC mode, the pin LINT1, and thermal and performance interrupts.
//
// Board is that and no more: what the project's own kernels use. Legacy adds the devices at I/O ports that
// kernels of distributions expect, and gives APICs their pin LINT0. With several CPUs it has an I/O APIC too, and the
// tables by which firmware tells of both. The data sheets are named beside each
// device. Of the timer modes 1 and 5 are left out, of the serial port whatever comes in.
//
// CPU 0 begins at the image's entry. The others wait until it sends them INIT and a start-up interrupt
// (8.4.4). Kernels of distributions have them begin in real mode, at the page of that interrupt. The project's own begin at
// the same entry, told apart by their number.
//
// CPU 255 has no physical APIC identifier of its own, because 255 is that of all CPUs. It starts with
// the others, by an interrupt to all but the sender, and can be interrupted alone once it has given
// itself a logical destination that no other CPU has.
package pc
