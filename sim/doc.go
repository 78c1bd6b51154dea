// Package sim is the machine around the CPUs: simulated time and its events, the
// interrupt controller, calls from the guest into Go, and the observers that trace and profile.
//
// It models one board: RAM from physical address 0, 1 to 256 CPUs that share it, and a local APIC with a
// timer for each CPU (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 3,
// chapter 10). It leaves out disks, networks, firmware and the I/O APIC: a guest kernel here is
// loaded by Go and talks to Go through its .native section.
//
// CPU 0 begins at the image's entry. The others wait until it sends them INIT and a start-up interrupt;
// they begin at the same entry, told apart by their number, in place of the firmware's real mode. CPUs
// take turns by simulated time, or as a Policy says. A turn ends between two instructions, so memory is
// sequentially consistent with an instruction as the unit: every CPU sees all stores in one order, and a
// read-modify-write is atomic with or without lock. No store waits in a buffer where others cannot see
// it, no load comes early, and code that others write is the next that is fetched. A program that is
// right here may therefore still be wrong on a processor; what lock and fences cost is charged.
//
// CPU 255 has no physical APIC identifier of its own, because 255 is that of all CPUs. It starts with
// the others, by an interrupt to all but the sender, and can be interrupted alone once it has given
// itself a logical destination that no other CPU has.
//
// Nothing in it looks at the clock of the host or starts goroutines, so the same guest takes the
// same time everywhere.
package sim
