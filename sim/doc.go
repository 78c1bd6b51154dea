// Package sim is the machine around the CPUs: guest images, simulated time and its events, the
// interrupt controller, calls from the guest into Go, and the observers that trace and profile.
//
// It models one board: RAM from physical address 0, CPUs that share it, and a local APIC with a
// timer for each CPU (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 3,
// chapter 10). It leaves out disks, networks, firmware and the I/O APIC: a guest kernel here is
// loaded by Go and talks to Go through its .native section.
//
// Nothing in it looks at the clock of the host or starts goroutines, so the same guest takes the
// same time everywhere.
package sim
