package schema

// Kinds of experiments. Packages planning, kinds and reports have what reads, measures and shows each.
const (
	// KindOverhead measures what a probe hit costs, the default.
	KindOverhead = "overhead"
	// KindLatency measures how long it takes from registering a probe until it is optimized, and what
	// that time consists of.
	KindLatency = "optimize-latency"
	// KindBystander measures what arming, optimizing and disarming probes takes from CPUs that have
	// nothing to do with them.
	KindBystander = "bystander-cost"
	// KindScaling measures how many hits of one probe several CPUs get through together.
	KindScaling = "scaling"
	// KindIRQOff measures how long interrupts stay disabled while a probe is hit, and how late a timer's
	// interrupts come.
	KindIRQOff = "irq-off"
	// KindUnregister measures what unregistering a probe costs when many are unregistered, with one call
	// each and all with one.
	KindUnregister = "unregister-batch"
	// KindMissed measures how many calls a return probe misses because all its instances are out.
	KindMissed = "missed"
	// KindCrowding measures what many registered probes cost: each hit that looks its probe up among them, registering and
	// arming them, and the guest's memory.
	KindCrowding = "crowding"
	// KindUserProbes measures what a hit of a probe in user space costs, and whom.
	KindUserProbes = "user-probes"
	// KindWatchpoints measures what a hit of a watchpoint costs, what an armed one costs code that does not hit it, and what
	// setting the registers of all CPUs takes.
	KindWatchpoints = "watchpoints"
	// KindAttach measures how long attaching and removing probes takes, step by step, and what each step waits for.
	KindAttach = "attach-time"
	// KindEventRate measures what a probe costs a program that hits it at some rate and works in between.
	KindEventRate = "event-rate"
	// KindLinux measures the probes of the kernel of a distribution.
	KindLinux = "linux"
	// KindLinuxWorkload measures what probes of such a kernel cost a program.
	KindLinuxWorkload = "linux-workload"
	// KindCollected is the kind of a collection of experiments of several kinds.
	KindCollected = "collected"
)

// Packaged reports whether experiments of a kind boot the kernel of a distribution.
func Packaged(kind string) bool { return kind == KindLinux || kind == KindLinuxWorkload }

// What the CPUs of a machine do while something else is measured.
const (
	LoadIdle = "idle" // nothing: they are halted
	LoadBusy = "busy" // they divide, one division after the other, and let others run between
	LoadUser = "user" // they do the same in user mode, where nobody need be let run
)

// Loads lists them.
func Loads() []string { return []string{LoadIdle, LoadBusy, LoadUser} }
