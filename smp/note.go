package smp

import "kprobesim/sim"

// Kinds of events that this package tells watchers of the machine, with the CPU that they happen on.
const (
	EventWake       sim.EventKind = "wake"        // the task Name, ID is made runnable, on the CPU Arg
	EventTick       sim.EventKind = "tick"        // a timer interrupt
	EventGraceBegin sim.EventKind = "grace-begin" // the grace period ID begins; Name is PeriodSched, PeriodTasks or PeriodFreeze
	EventGraceEnd   sim.EventKind = "grace-end"   // it is over
	EventQuiescent  sim.EventKind = "quiescent"   // the CPU, or with PeriodTasks the task Arg, holds the grace period ID up no longer
	EventLate       sim.EventKind = "late"        // a tick finds what should have been done before: Name says what. Searches alone have it
	EventStop       sim.EventKind = "stop"        // all stoppers are to enter the state Name of stop ID
)

// Kinds of grace periods, in events.
const (
	PeriodSched = "sched" // of SynchronizeSched
	PeriodTasks = "tasks" // of SynchronizeTasks
	// PeriodFreeze is none: it is how long FreezeTasks holds tasks.
	PeriodFreeze = "freeze"
)

// note tells watchers of the machine that something has happened on a CPU.
func (k *Kernel) note(cpu int, kind sim.EventKind, name string, id, arg uint64) {
	if k.notes != nil {
		k.notes(sim.Event{CPU: cpu, Kind: kind, Name: name, ID: id, Arg: arg})
	}
}
