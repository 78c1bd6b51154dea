package schema_test

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"kprobesim/experiments/schema"
	"kprobesim/internal/doc"
	"kprobesim/internal/require"
)

var update = flag.Bool("update", false, "write the golden file of this package again")

// unknown is a key that no table has, in those that are a table or several.
const unknown = `nonsense = 1
[repeats]
nonsense = 1
[[points]]
nonsense = 1
published = {nonsense = 1}
with = [{nonsense = 1}]
[[modules]]
nonsense = 1
[[writes]]
nonsense = 1
`

// TestTables holds what each table of an experiment may have, what is said of an empty one and of unknown keys, and the sum of what is
// read of many.
func TestTables(t *testing.T) {
	var out strings.Builder
	for _, x := range []struct {
		name string
		read func(r *doc.Reader) any
	}{
		{"kernel", func(r *doc.Reader) any { return schema.ReadKernel(r) }},
		{"workload", func(r *doc.Reader) any { return schema.ReadWorkload(r) }},
		{"crowd", func(r *doc.Reader) any { return schema.ReadCrowd(r) }},
		{"difference", func(r *doc.Reader) any { return schema.ReadDifference(r) }},
		{"figure", func(r *doc.Reader) any { return schema.ReadWish(r) }},
		{"modules", func(r *doc.Reader) any { return schema.ReadModules(r) }},
		{"writes", func(r *doc.Reader) any { return schema.ReadWrites(r, 1000) }},
		{"points and repeats", func(r *doc.Reader) any {
			all := schema.ReadProbes(r)
			schema.ReadRepeats(r, all)
			return all
		}},
		{"linux", func(r *doc.Reader) any { return schema.ReadLinux(r) }},
		{"linux workload", func(r *doc.Reader) any { return schema.ReadLinuxWorkload(r) }},
		{"linux points", func(r *doc.Reader) any { return schema.ReadLinuxProbes(r) }},
		{"linux-workload workload", func(r *doc.Reader) any { return schema.ReadWorking(r) }},
		{"linux-workload points", func(r *doc.Reader) any { return schema.ReadWorkingProbes(r) }},
	} {
		text := func(v any) string { return string(require.Must(json.Marshal(v))(t)) }
		sum := sha256.New()
		keys := doc.Describe(200, func(root *doc.Node, errs *doc.Errors) {
			fmt.Fprintln(sum, text(x.read(doc.NewReader(root, errs))), errs.Err())
		})
		var errs, odd doc.Errors
		x.read(doc.NewReader(require.Must(doc.Parse("unknown", []byte(unknown)))(t), &odd))
		none := x.read(doc.NewReader(require.Must(doc.Parse("none", nil))(t), &errs))
		fmt.Fprintf(&out, "## %s\n%s\nempty: %s %v\nunknown: %v\nmany have the sum %.6x\n", x.name, text(keys), text(none), errs.Err(), odd.Err(), sum.Sum(nil))
	}
	require.Lines(t, filepath.Join("testdata", "tables.txt"), strings.ReplaceAll(out.String(), `},"`, "},\n\""), *update)
}
