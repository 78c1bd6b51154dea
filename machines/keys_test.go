package machines_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/doc"
	"kprobesim/internal/require"
	"kprobesim/machines"
	"kprobesim/targets"
)

var update = flag.Bool("update", false, "write the golden file of this package again")

// TestEveryKey reads descriptions of each instruction set with each key left out, and set to values that are too small, too large,
// of another type or unknown. The golden file has how many are refused and the sum of all that was read, so that a limit that
// moves shows. KPROBESIM_OUTCOMES names a file that takes the descriptions and errors.
func TestEveryKey(t *testing.T) {
	var isas []*cpus.ISA
	for _, target := range targets.List() {
		isas = append(isas, target.ISA)
	}
	var out, all strings.Builder
	for _, name := range []string{"epyc-9654", "power5-1656", "tc2-cortex-a15"} {
		root := document(t, name)
		for _, value := range []string{"", "0", "1", "-1", "7", "64", "1000000000000", "\"1/7\"", "\"3 KiB\"", "true"} {
			var texts strings.Builder
			refused := 0
			keys := leaves(nil, root)
			for _, key := range keys {
				changed := root.Clone()
				change(t, changed, key, value)
				var errs doc.Errors
				m := machines.Read(changed, isas, &errs)
				if errs.Err() != nil {
					refused++
					fmt.Fprintf(&texts, "%s %s=%s: %v\n", name, key, value, errs.Err())
					continue
				}
				fmt.Fprintf(&texts, "%s %s=%s: %+v\n", name, key, value, *m)
			}
			all.WriteString(texts.String())
			fmt.Fprintf(&out, "%s, %s: %d of %d refused, sum %.6x\n", name, value, refused, len(keys), sha256.Sum256([]byte(texts.String())))
		}
	}
	if file := os.Getenv("KPROBESIM_OUTCOMES"); file != "" {
		require.NoError(t, os.WriteFile(file, []byte(all.String()), 0o644))
	}
	require.Lines(t, "testdata/keys.txt", out.String(), *update)
}

// document reads a shipped description, and whatever it builds on.
func document(t *testing.T, name string) *doc.Node {
	t.Helper()
	file := filepath.Join("..", "experiments", "machines", name+".toml")
	root := require.Must(doc.Parse(name, require.Must(os.ReadFile(file))(t)))(t)
	if base := root.Get("base"); base != nil {
		return doc.Merge(document(t, base.Text), root)
	}
	return root
}

// leaves returns the paths of all keys of a description, but of classes of instructions a few.
func leaves(above []string, n *doc.Node) (all [][]string) {
	for i, f := range n.Fields {
		path := append(slices.Clone(above), f.Key)
		switch {
		case len(above) == 1 && above[0] == "cost" && i%24 != 0, f.Key == "source", len(above) == 1 && above[0] == "sources":
		case f.Value.Kind == doc.Table:
			all = append(append(all, path), leaves(path, f.Value)...)
		default:
			all = append(all, path)
		}
	}
	return all
}

// change sets a key, or takes it out.
func change(t *testing.T, root *doc.Node, path []string, value string) {
	t.Helper()
	if value == "" {
		n := root.Find(path[:len(path)-1]...)
		n.Fields = slices.DeleteFunc(n.Fields, func(f doc.Field) bool { return f.Key == path[len(path)-1] })
		return
	}
	s := require.Must(doc.ParseSetting("v=" + value))(t)
	s.Path = path
	require.NoError(t, s.Apply(root))
}
