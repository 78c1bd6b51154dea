package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"kprobesim/experiments/keeping"
	"kprobesim/experiments/schema"
	"kprobesim/internal/host"
)

func (a *app) planCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "plan FILE...",
		Short: "Say what a run will take: points, time, memory, size of its results, and a number of shards",
		Long: `Say how many points the given experiments have, and what a run of them takes: time of a core with its spread,
time by the clock, memory, the size of the results, and a number of shards of about ten minutes each.

That follows from what points of the same sort took. Runs keep it below --out, in .points/costs.csv. For other sorts the costs
that the program brings are scaled by the speed of this host. Where nothing was measured on it, a few short points are.`,
		Args: atLeastOne("an experiment file"),
	}
	settings, workers := replicateFlag(c, setFlag(c)), workersFlag(c)
	out := c.Flags().StringP("out", "o", "out", "directory for the results")
	c.RunE = func(_ *cobra.Command, args []string) error {
		plans, err := a.plans(args, settings())
		if err != nil {
			return err
		}
		costs, err := a.costs(*out)
		if err != nil {
			return fail(exitFailed, err)
		}
		store, err := a.store(*out, false, keeping.Shard{I: 1, N: 1})
		for _, p := range plans {
			a.printForecast(p, store, costs, hostWorkers(*workers))
		}
		return fail(exitFailed, err)
	}
	return c
}

// references are the experiments by whose first points hosts are compared: most of the time of a sweep goes into machines,
// boots and some hundred calls, as in these. Many hits of one point alone favour hosts with fast code over those with fast memory.
var references = []string{"overhead-pentium-m", "overhead-opteron-246", "overhead-xeon-e5410-x86_64", "hit-latency", "crowding", "unregister-batch", "watchpoints"}

// costs returns what points take on this host. A host of which nothing is known measures some.
func (a *app) costs(out string) (*keeping.Costs, error) {
	costs, err := keeping.LoadCosts(out)
	if err != nil || costs.Here() {
		return costs, err
	}
	var plans []*schema.Plan
	for _, name := range references {
		p, err := a.loader.Plan(name, nil)
		if err != nil {
			return nil, err
		}
		plans = append(plans, p)
	}
	began, start := host.CPU(), time.Now()
	for _, p := range plans {
		if _, err := a.measure(&p.Points[0]); err != nil {
			return nil, err
		}
	}
	took := host.CPU() - began
	if began == 0 {
		took = time.Since(start)
	}
	costs.Reference(took)
	return costs, costs.Save(out)
}

// printForecast says what a run of a plan takes.
func (a *app) printForecast(p *schema.Plan, store *keeping.Store, costs *keeping.Costs, workers int) {
	f, kept := costs.Forecast(p.Points), 0
	if store != nil {
		kept = store.Kept(p)
	}
	fmt.Fprintf(a.out, "%s: %s, %d of them kept from earlier runs\n", p.Name, counted(f.Points, "point"), kept)
	fmt.Fprintf(a.out, "  time of a core   about %s, give or take %s\n", roundTime(f.Processor), roundTime(f.Spread))
	fmt.Fprintf(a.out, "  by the clock     about %s with %d at a time\n", roundTime(f.Wall(workers)), workers)
	fmt.Fprintf(a.out, "  memory           about %.0f MiB\n", f.Memory(workers)/(1<<20))
	fmt.Fprintf(a.out, "  results          about %.1f MiB\n", f.Results/(1<<20))
	fmt.Fprintf(a.out, "  shards           %d\n", f.Shards())
}
