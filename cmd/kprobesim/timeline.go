package main

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"

	"kprobesim/experiments/schema"
	"kprobesim/experiments/timelines"
	"kprobesim/results/outdir"
)

func (a *app) timelineCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "timeline FILE",
		Short: "Write what every CPU did during one point, for the Perfetto viewer",
		Long: `Measure one point and write what every CPU did meanwhile: one track a CPU with slices for tasks,
interrupts, probe hits, stopper tasks and idleness; instants for interprocessor interrupts, quiescent
states and each step of changing text, with arrows to every CPU's synchronization. Open the file in
ui.perfetto.dev, or look at it with protoc --decode_raw.`,
	}
	out := c.Flags().StringP("out", "o", "out.perfetto-trace", "file to write")
	a.onPoint(c, "run", func(pt *schema.Point) error {
		var b bytes.Buffer
		if err := timelines.Write(pt, &b); err != nil {
			return fail(exitFailed, fmt.Errorf("timeline of point %s: %w", pt.Name, err))
		}
		if err := outdir.WriteFile(*out, b.Bytes()); err != nil {
			return fail(exitUsage, fmt.Errorf("timeline: %w", err))
		}
		fmt.Fprintf(a.out, "timeline of point %s is in %s (%d bytes)\n", pt.Name, *out, b.Len())
		return nil
	})
	return c
}
