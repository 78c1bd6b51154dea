package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"kprobesim/workloads"
)

func (a *app) headersCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "headers DIR",
		Short: "Write the headers that a probe module is compiled against",
		Long: `Writes what a module for a guest kernel is compiled against: headers, DIR/flags for the compiler, and
DIR/module.mk for make. A folder that holds anything else is left alone.

	kprobesim headers kp
	gcc @kp/flags -c my_probe.c -o my_probe.o`,
		Args: exactlyOne("folder"),
	}
	image := c.Flags().String("image", defaultImage, "guest kernel that they are for, as list names it")
	c.RunE = func(_ *cobra.Command, args []string) error {
		if err := workloads.WriteHeaders(args[0], *image); err != nil {
			return fail(exitUsage, fmt.Errorf("headers: %w", err))
		}
		return nil
	}
	return c
}
