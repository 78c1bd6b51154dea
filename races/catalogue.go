package races

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// Mistake is a mutant with its class and what it would do to a machine.
type Mistake struct {
	Name   string `json:"mutant"`
	Class  string `json:"class"`
	Effect string `json:"effect"`
}

// Mistakes lists all mutants, by class.
func Mistakes() []Mistake {
	return []Mistake{
		{"no-quiesce", "grace period", "a task goes on in the middle of a jump"},
		{"preempt-sched", "grace period", "a preempted task goes on in the middle of a jump"},
		{"free-early", "grace period", "a CPU executes memory that was given away"},
		{"free-sched", "grace period", "a preempted task executes memory that was given away"},
		{"unregister-at-once", "grace period", "a handler runs after its module has gone"},
		{"forget-late", "grace period", "a handler begins after unregistering has returned"},
		{"join-period", "grace period", "memory is freed under a CPU that was quiescent before the wish"},
		{"idle-interrupt", "grace period", "memory is freed under an interrupt of an idle CPU"},
		{"tasks-preempted", "grace period", "memory is freed under a preempted task"},
		{"stacks-unread", "grace period", "a task goes on in the middle of a jump"},
		{"freeze-anywhere", "grace period", "a task goes on in the middle of a jump"},
		{"module-freed-early", "lifetime", "handlers run in a module that was freed"},
		{"module-left-behind", "lifetime", "handlers run in a module that was freed"},
		{"keep-instances", "lifetime", "a return calls the handler of a probe that has gone"},
		{"pool-freed", "lifetime", "a return writes into memory that was given away"},
		{"slot-kept", "leak", "slots run out"},
		{"detour-kept", "leak", "detour buffers run out"},
		{"bare-jump", "patching", "a CPU executes half of a jump"},
		{"bp-skip-sync-1", "synchronization", "a CPU executes old bytes behind a breakpoint with new ones"},
		{"bp-skip-sync-2", "synchronization", "a CPU executes a jump with bytes of the old instruction"},
		{"bp-skip-sync-3", "synchronization", "a CPU hits a breakpoint that nobody knows any more"},
		{"entry-skip-sync", "synchronization", "a CPU calls with bytes of the nop"},
		{"batch-no-wait", "synchronization", "a breakpoint is looked up in the next batch"},
		{"restore-skip-sync", "synchronization", "a hit takes the breakpoint of the next probe for nobody's, and the kernel panics"},
		{"no-notifier", "patching", "a breakpoint of a patch is nobody's, and the kernel panics"},
		{"jump-into-region", "region", "a jump leads into the middle of another one"},
		{"no-region-check", "region", "a jump is written over another probe"},
		{"keep-queued", "region", "a probe becomes a jump against its users' wish"},
		{"pool-unread", "lock-free pool", "the pool of instances loses or doubles some"},
		{"pool-twice", "lock-free pool", "two tasks share a return instance"},
		{"hash-early", "order of stores", "a hit follows an empty pointer"},
		{"link-early", "order of stores", "a hit follows an empty pointer"},
		{"flag-early", "order of stores", "a hit uses a detour buffer that is not there"},
		{"watch-set-here", "debug registers", "other CPUs miss the watchpoint"},
		{"watch-clear-here", "debug registers", "other CPUs hit a watchpoint that has gone"},
		{"user-unlocked", "user space", "a task is killed by a breakpoint that has gone"},
		{"user-no-hook", "user space", "hits of a page that came in later are lost"},
		{"user-one-pass", "user space", "a copy of a page keeps its breakpoint"},
		{"user-no-wait", "user space", "a page that comes in keeps its breakpoint"},
		{"skip-clean", "caches", "a CPU fetches old code from memory"},
		{"skip-invalidate", "caches", "a CPU executes old code of its instruction cache"},
		{"skip-refetch", "caches", "a CPU executes old code that it has fetched"},
		{"on-cpu-ignored", "scheduler", "a task runs on two CPUs"},
		{"resched-late", "scheduler", "a wake-up is lost until the next tick"},
		{"stop-preempted", "scheduler", "two stopped machines wait for each other"},
		{"idle-unfenced", "memory order", "a CPU sleeps through a grace period"},
		{"answer-unlocked", "memory order", "a call to all CPUs never ends"},
		{"call-unordered", "memory order", "a CPU is called for work that it does not see"},
		{"answer-unordered", "memory order", "a CPU does the work of the call before"},
		{"lock-unordered", "memory order", "what a lock guards is read before the lock is taken"},
		{"unlock-unordered", "memory order", "a lock is given back before what it guards is stored"},
		{"state-unordered", "memory order", "a stopped machine counts down from another state's number"},
		{"state-unobserved", "memory order", "a stopped CPU flushes what it has not read"},
		{"switch-unordered", "memory order", "a task goes on elsewhere before it is saved"},
		{"miss-uncounted", "counting", "missed hits are not known"},
		{"detour-unnamed", "counting", "a probe in a handler behind a jump recurs"},
	}
}

// Caught says which variant has noticed one mutant, and within how many schedules.
type Caught struct {
	Mistake
	By        string `json:"caught_by"` // scenario and variant, or "" for not caught
	Schedules uint64 `json:"schedules"`
}

// TryMutants makes every mistake that a variant of these scenarios says it catches, in the first such variant that does. A mistake
// that none names is left out. Told hears of each.
func TryMutants(all []*Scenario, opt Options, told func(Caught)) error {
	opt.Enough = 1
	for _, m := range Mistakes() {
		x, named := Caught{Mistake: m}, false
		for _, s := range all {
			for i := range s.Variants {
				v := &s.Variants[i]
				if x.By != "" || !slices.Contains(v.Catches, m.Name) {
					continue
				}
				named, opt.Mutant = true, m.Name
				t, err := Search(s, v, opt)
				if err != nil {
					return fmt.Errorf("%s/%s, mutant %s: %w", s.Name, v.Name, m.Name, err)
				}
				if x.Schedules += t.Schedules; t.Violations > 0 {
					x.By = s.Name + "/" + v.Name
				}
			}
		}
		if named {
			told(x)
		}
	}
	return nil
}

// ReportMutants writes a table of mutants and what has caught them.
func ReportMutants(w io.Writer, all []Caught) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "mutant\tclass\teffect\tcaught by\tschedules\n")
	for _, x := range all {
		by := x.By
		if by == "" {
			by = "nothing"
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%d\n", x.Name, x.Class, x.Effect, by, x.Schedules)
	}
	return out.Flush()
}

// ReportMutantsJSON writes the same as a list of objects.
func ReportMutantsJSON(w io.Writer, all []Caught) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(slices.Concat([]Caught{}, all)) // a list, also with none
}
