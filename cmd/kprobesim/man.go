package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"kprobesim/results/outdir"
)

func (a *app) manCmd(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages of all commands",
		Hidden: true, // for packages; `make man` calls it
		Args:   exactlyOne("folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fail(exitUsage, err)
			}
			return fail(exitFailed, writePages(root, args[0]))
		},
	}
}

// writePages writes the page of a command, and the pages of the commands below it.
func writePages(c *cobra.Command, dir string) error {
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			if err := writePages(sub, dir); err != nil {
				return err
			}
		}
	}
	epoch := time.Unix(0, 0).UTC() // the pages are the same whenever they are made
	var b bytes.Buffer
	c.DisableAutoGenTag = true
	header := &doc.GenManHeader{Title: strings.ToUpper(strings.ReplaceAll(c.CommandPath(), " ", "-")), Section: "1", Source: "kprobesim", Manual: "kprobesim", Date: &epoch}
	if err := doc.GenMan(c, header, &b); err != nil {
		return fmt.Errorf("manual page of %s: %w", c.CommandPath(), err)
	}
	name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
	return outdir.WriteFile(filepath.Join(dir, name), b.Bytes())
}
