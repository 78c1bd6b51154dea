package smp

// Mutants are kernels with a mistake in a service, for the search for races; nothing else sets Options.Mutant.
const (
	// MutantIdleInterrupt takes a CPU in the idle loop for quiescent while it serves an interrupt there.
	MutantIdleInterrupt = "idle-interrupt"
	// MutantJoinPeriod has a caller join the grace period that runs.
	MutantJoinPeriod = "join-period"
	// MutantOnCPU moves a task that is still in the registers of its CPU.
	MutantOnCPU = "on-cpu-ignored"
	// MutantReschedLate clears the wish for another task behind the decision who runs.
	MutantReschedLate = "resched-late"
	// MutantStopPreempted lets who stops the machine be preempted between two stoppers that it wakes.
	MutantStopPreempted = "stop-preempted"
	// MutantTasksPreempted takes a task that was preempted for one that has given up its CPU.
	MutantTasksPreempted = "tasks-preempted"
)

// Mutants lists the values of Options.Mutant besides "".
func Mutants() []string {
	return []string{
		MutantIdleInterrupt, MutantJoinPeriod, MutantOnCPU, MutantReschedLate, MutantStopPreempted, MutantTasksPreempted,
	}
}
