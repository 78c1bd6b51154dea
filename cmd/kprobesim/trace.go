package main

import (
	"bufio"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"kprobesim/experiments/kinds"
	"kprobesim/experiments/schema"
)

func (a *app) traceCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "trace FILE",
		Short: "Print one probe hit instruction by instruction",
		Long: `Print one call of the probed function instruction by instruction: cycle, address, symbol and offset,
source line, disassembly, cost and why. By default it is the last hit of the warm-up.`,
	}
	hit := c.Flags().Int64("hit", 0, "trace hit number N, counted from 1, the cold one")
	cold := c.Flags().Bool("cold", false, "trace the first, cold hit (as --hit 1)")
	a.onPoint(c, "trace", func(pt *schema.Point) error {
		if c.Flags().Changed("hit") && *hit == 0 {
			return fail(exitUsage, errors.New("--hit 0: hits are counted from 1"))
		}
		n, err := traceHit(pt, *hit, *cold)
		if err != nil {
			return fail(exitUsage, err)
		}
		w := bufio.NewWriter(a.out)
		if err = kinds.Trace(pt, n, w); err == nil {
			err = w.Flush()
		}
		return fail(exitFailed, err)
	})
	return c
}

// traceHit chooses the hit to trace.
func traceHit(pt *schema.Point, hit int64, cold bool) (int64, error) {
	last := 1 + pt.Workload.Warmup + pt.Workload.Hits
	if pt.Workload.Warmup == 0 {
		last = pt.Workload.Hits // the first, cold one is measured
	}
	switch {
	case cold && hit > 1:
		return 0, fmt.Errorf("--cold is hit 1; leave --hit %d away", hit)
	case cold:
		return 1, nil
	case hit < 0 || hit > last:
		return 0, fmt.Errorf("--hit %d is outside 1 to %d", hit, last)
	case hit == 0:
		return min(last, 1+max(1, pt.Workload.Warmup)), nil
	}
	return hit, nil
}
