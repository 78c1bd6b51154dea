package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kprobesim/internal/doc"
)

// schemaCmd writes what the readers of files ask for, in the form that editors take.
func (a *app) schemaCmd() *cobra.Command {
	schemas := map[string]func() *doc.Schema{"experiment": a.loader.ExperimentSchema, "machine": a.loader.MachineSchema}
	known := slices.Sorted(maps.Keys(schemas))
	return &cobra.Command{
		Use:   "schema " + strings.Join(known, "|"),
		Short: "Write the JSON schema of a kind of files, by which editors complete and check keys",
		Long: `Write the JSON schema of experiment files or machine descriptions. It has the keys of all kinds of a file together, and none
is required, because a base may have it: validate reports what a schema cannot say.

An editor with Even Better TOML or taplo takes it from the first line of a file: #:schema ./experiment.schema.json`,
		Args:      exactlyOne("kind of files: " + strings.Join(known, " or ")),
		ValidArgs: known,
		RunE: func(_ *cobra.Command, args []string) error {
			schema := schemas[args[0]]
			if schema == nil {
				return fail(exitUsage, fmt.Errorf("schema: unknown kind of files %q: known are %s", args[0], strings.Join(known, ", ")))
			}
			b, err := json.Marshal(schema())
			fmt.Fprintf(a.out, "%s\n", b)
			return fail(exitInternal, err)
		},
	}
}
