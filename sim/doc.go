// Package sim is the machine around the CPUs: simulated time and its events, the interleaving of CPUs,
// calls from the guest into Go, and the observers that trace and profile.
//
// It models RAM from physical address 0 and 1 to 256 CPUs that share it. Devices, the interrupt controller
// and the address space in which a kernel begins come from a Board. Disks, networks and firmware are
// left out: a guest kernel is loaded by Go and talks to Go through its .native section.
//
// How data flows. New loads the image into RAM, has the Board build its devices, and makes the CPUs (boot.go). Run goes
// from turn to turn (schedule.go): the first event happens (events.go), or a CPU executes, the one that is furthest behind
// (runqueue.go) or the one that a Policy names (policy.go). A CPU stops where its turn ends, where it sleeps, where it
// cannot go on, and in a native slot. There a function of Go runs as a coroutine, which may call functions of the guest
// (native.go). Observers of a CPU see each Step: Tracer, Profile, Tally. Watchers of the machine see each Event (watch.go).
//
// CPU 0 begins at the image's entry. The others wait until the board starts them, at the same entry, told
// apart by their number. CPUs take turns by simulated time, or as a Policy says. A turn ends between two
// instructions, so memory is sequentially consistent with an instruction as the unit: every CPU sees all
// stores in one order, and a read-modify-write is atomic, whatever the instruction set asks for it. No store
// waits in a buffer where others cannot see it, no load comes early, and code that others write is the next
// that is fetched. A program that is right here may therefore still be wrong on a processor; what atomicity
// and fences cost is charged.
//
// Nothing in it looks at the clock of the host or starts goroutines, so the same guest takes the
// same time everywhere.
package sim
