package races

import "fmt"

// Kind says what a violation is.
// Scenarios, reports and tests have these words.
type Kind string

// The kinds of violations.
const (
	Torn     Kind = "torn"     // an instruction that is neither the old nor the new one, whole
	Inside   Kind = "inside"   // an address inside a patched region that starts no instruction any more
	Stale    Kind = "stale"    // code after everybody was promised that nobody executes it
	Unsynced Kind = "unsynced" // code that a CPU may still have in an older form, as it was never made to look again
	Lost     Kind = "lost"     // a call of the probed function without its handler call
	Doubled  Kind = "doubled"  // more handler calls than one for a call
	Result   Kind = "result"   // the probed function returned something else
	Leaked   Kind = "leaked"   // memory of probes that nobody gives back after all probes are gone
	Missed   Kind = "missed"   // hits within a handler that nobody has counted
	Late     Kind = "late"     // a CPU was not told of something that it should have done before its next tick
	Hung     Kind = "hung"     // no end within the steps of a schedule
	Died     Kind = "died"     // the guest panicked, faulted or could not go on
)

// Violation is something that must not happen in a schedule.
type Violation struct {
	Kind Kind
	CPU  int    // where it was noticed, -1 for the whole machine
	Step uint64 // instructions of all CPUs since the schedule began
	PC   uint64
	Text string // what happened, with addresses and symbols
}

// String is one line without the schedule's number.
func (v *Violation) String() string {
	if v.CPU < 0 {
		return fmt.Sprintf("%s at step %d: %s", v.Kind, v.Step, v.Text)
	}
	return fmt.Sprintf("%s at step %d on cpu %d: %s", v.Kind, v.Step, v.CPU, v.Text)
}

// Outcome says how one schedule ended.
// The counts tell a schedule in which nothing happened from one in which nothing went wrong.
type Outcome struct {
	N         uint64
	Steps     uint64     // instructions of all CPUs
	Calls     uint64     // of probed functions that returned
	Hits      uint64     // calls of handlers
	Violation *Violation // nil for none
	Covered   Covered    // cells, in a search that asks for them
	Pairs     []Pair     // those that its machine saw first in this schedule, in a search for coverage

	preemptions int // of a follower
}
