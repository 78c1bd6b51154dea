package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kprobesim/experiments/kinds"
	"kprobesim/experiments/schema"
	"kprobesim/internal/doc"
)

func (a *app) inspectCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "inspect FILE",
		Short: "Print the files of debugfs and /proc/sys that tell of probes, at one moment",
		Long: `Boot the machine of one point and print the files of Kprobes at a moment: before the point's probes are
registered, when they are registered, when the optimizer has settled, or when the measured calls are over. A time,
such as 5ms, is counted from the registration.`,
	}
	moment := c.Flags().String("at", kinds.Settled, "the moment: "+strings.Join(kinds.Moments(), ", ")+", or a time")
	a.onPoint(c, "boot", func(pt *schema.Point) error {
		micros, err := timeOf(*moment)
		if err != nil {
			return fail(exitUsage, err)
		}
		var b bytes.Buffer
		if err := kinds.Inspect(pt, *moment, micros, &b); err != nil {
			return fail(exitFailed, fmt.Errorf("point %s: %w", pt.Name, err))
		}
		fmt.Fprintf(a.out, "%s", b.Bytes())
		return nil
	})
	return c
}

// timeOf reads a moment that is a time, in microseconds; those with names are none.
func timeOf(moment string) (int64, error) {
	if slices.Contains(kinds.Moments(), moment) {
		return 0, nil
	}
	micros, err := doc.Time().Whole(true, 0, 3600e6)(&doc.Node{Kind: doc.String, Text: moment})
	if err != nil {
		return 0, fmt.Errorf("--at %q: %w; or one of %s", moment, err, strings.Join(kinds.Moments(), ", "))
	}
	return micros, nil
}
