package experiments_test

import (
	"fmt"

	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
)

// A file becomes a plan, with keys that are set in the place of its own. Each point of the plan is measured on a machine of
// its own.
func Example() {
	plan, err := planning.NewLoader().Plan("overhead-xeon-e5410-x86_64", []string{"workload.hits=100"})
	if err != nil {
		fmt.Println(err)
		return
	}
	point, err := plan.Point("b")
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := kinds.Measure(point)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Hits, "hits take longer than as many calls without a probe:", m.Probed.Time > m.Base.Time)
	// Output:
	// 100 hits take longer than as many calls without a probe: true
}
