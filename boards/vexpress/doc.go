// Package vexpress is the hardware around the CPUs of a Versatile Express board of ARM, with the addresses of its
// CoreTile TC2: a generic interrupt controller, a serial port as console, and the register by which a kernel
// starts further CPUs. The per-CPU timers are the CPUs' own; their outputs come here.
//
// Manuals: ARM Generic Interrupt Controller Architecture Specification 2.0, IHI 0048B (GIC); CoreLink GIC-400
// Technical Reference Manual, DDI 0471 (what the architecture leaves to an implementation); PrimeCell UART PL011,
// DDI 0183; Motherboard Express V2M-P1, DUI 0447. All four from memory, and the first compared with qemu's
// model of it (qemu_test.go). Addresses and reset values of the GIC-400 are also in Intel's register map of
// the Agilex processor system.
//
// The GIC has no Security Extensions and no groups: every interrupt is of group 0 and asserts the IRQ. It connects
// up to eight processors, as the architecture does. Of its shared interrupts only that of the console has a
// source; software can make the others pending.
//
// RAM is at physical address 0 of the machine. So bit 31 of every physical address is the reverse of that on TC2, where
// RAM begins at 2 GiB and the devices lie below. A kernel of a distribution is not told so: its CPU inverts the bit
// (arm.Unpaged).
//
// CPU 0 begins at the image's entry. The others wait in the boot monitor for an interrupt, while the flags of
// the system registers are zero. They begin where the flags say, with translation off, in a kernel of a distribution; in one of
// this program's at the image's entry, told apart by their number. Nothing stops a CPU again.
//
// The configuration controller knows the clocks of the motherboard, and switches off and restarts, which end a run.
//
// Left out are the console's input, its speed (a byte is sent at once), and all other devices.
package vexpress
