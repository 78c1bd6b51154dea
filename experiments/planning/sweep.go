package planning

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"kprobesim/internal/doc"
)

// axis is one key of a sweep and the values it takes.
type axis struct {
	path   []string
	values []*doc.Node
}

// sweepValue is the pattern of a value of a sweep, which becomes part of a point's name.
const sweepValue = `^[A-Za-z0-9_+./ -]{1,60}$`

// readSweep reads the [sweep] table of an experiment: dotted keys, each with a list of values. The
// table may be nested; its leaves are the lists.
func readSweep(root *doc.Node, errs *doc.Errors) []axis {
	n := root.Get("sweep")
	if n == nil {
		return nil
	}
	var axes []axis
	before := len(*errs)
	collectAxes(n, nil, &axes, errs)
	if len(axes) == 0 && len(*errs) == before {
		errs.Add(n.Pos, "sweep: empty; name at least one key and its list of values")
	}
	return axes
}

func collectAxes(n *doc.Node, path []string, axes *[]axis, errs *doc.Errors) {
	if n.Kind == doc.Table {
		for _, f := range n.Fields {
			sub, err := doc.ParsePath(f.Key)
			if err != nil {
				sub = []string{f.Key}
			}
			collectAxes(f.Value, slices.Concat(path, sub), axes, errs)
		}
		return
	}
	key := strings.Join(append([]string{"sweep"}, path...), ".")
	switch {
	case len(path) == 0:
		errs.Add(n.Pos, "sweep: want a table of keys with lists of values, not %s", n.Kind)
	case n.Kind != doc.Array:
		errs.Add(n.Pos, "%s: want a list of values, not %s", key, n.Kind)
	case len(n.Items) == 0:
		errs.Add(n.Pos, "%s: no values", key)
	case len(path) == 1 && slices.Contains(fixedKeys(), path[0]):
		errs.Add(n.Pos, "%s: this key cannot be swept", key)
	case checkSweepValues(key, n, errs):
		*axes = append(*axes, axis{path, n.Items})
	}
}

// dropAxes takes the axes of a base out of a file on top of it that says a value of their key itself. An axis that the
// file repeats is its own.
func dropAxes(whole, file *doc.Node) {
	sweep := whole.Get("sweep")
	if sweep == nil || sweep.Kind != doc.Table {
		return
	}
	var ignored doc.Errors // the planner reports the mistakes of a sweep
	var own, all []axis
	if s := file.Get("sweep"); s != nil {
		collectAxes(s, nil, &own, &ignored)
	}
	collectAxes(sweep, nil, &all, &ignored)
	for _, a := range all {
		repeated := slices.ContainsFunc(own, func(b axis) bool { return slices.Equal(a.path, b.path) })
		if !repeated && a.path[0] != "machine" && says(file, a.path) {
			removeAxis(sweep, a.path)
		}
	}
	if len(sweep.Fields) == 0 {
		whole.Fields = slices.DeleteFunc(whole.Fields, func(f doc.Field) bool { return f.Key == "sweep" })
	}
}

// says reports whether a document has a value at a path.
func says(n *doc.Node, path []string) bool {
	if len(path) == 0 {
		return true
	}
	for _, it := range n.Items {
		if name := it.Get("name"); name != nil && name.Text == path[0] {
			return says(it, path[1:])
		}
	}
	next := n.Get(path[0])
	return next != nil && says(next, path[1:])
}

// removeAxis removes the list of a key below a table of a sweep, however its dots are written.
func removeAxis(n *doc.Node, path []string) {
	n.Fields = slices.DeleteFunc(n.Fields, func(f doc.Field) bool {
		sub, err := doc.ParsePath(f.Key)
		if err != nil {
			sub = []string{f.Key}
		}
		if len(sub) > len(path) || !slices.Equal(sub, path[:len(sub)]) {
			return false
		}
		if f.Value.Kind == doc.Table {
			removeAxis(f.Value, path[len(sub):])
			return len(f.Value.Fields) == 0
		}
		return len(sub) == len(path)
	})
}

// fixedKeys are the keys that every point of an experiment shares.
func fixedKeys() []string {
	return []string{"name", "kind", "sweep", "points", "figures", "title", "replicates", "replicate"}
}

// checkSweepValues holds the values of one axis to what names can hold, each once.
func checkSweepValues(key string, n *doc.Node, errs *doc.Errors) bool {
	before := len(*errs)
	ok := regexp.MustCompile(sweepValue)
	seen := map[string]int{}
	for _, v := range n.Items {
		text := valueText(v)
		same := sameValue(text)
		switch {
		case v.Kind == doc.Table || !ok.MatchString(text):
			errs.Add(v.Pos, "%s: %q cannot be part of a point's name: use numbers and short words",
				key, text)
		case seen[same] == 1:
			errs.Add(v.Pos, "%s: the value %s is there twice", key, text)
		}
		seen[same]++
	}
	return len(*errs) == before
}

// valueText returns how a point's name prints a value.
func valueText(n *doc.Node) string {
	if n.Kind != doc.Array {
		return n.Text
	}
	parts := make([]string, len(n.Items))
	for i, it := range n.Items {
		parts[i] = valueText(it)
	}
	return strings.Join(parts, " ")
}

// sameValue returns the text of a value with its integers as decimals: 0x3 is 3.
func sameValue(text string) string {
	words := strings.Split(text, " ")
	for i, w := range words {
		if n, err := strconv.ParseInt(w, 0, 64); err == nil {
			words[i] = strconv.FormatInt(n, 10)
		}
	}
	return strings.Join(words, " ")
}

// combinations is the number of combinations of the axes, 1 without any, and mostPoints+1 for more than mostPoints.
func combinations(axes []axis) int {
	n := 1
	for _, a := range axes {
		n = min(n*len(a.values), mostPoints+1) // a file has not so many values that this product could overflow
	}
	return n
}

// combination returns number i of the combinations, in the order of the file, the last axis moving fastest.
func combination(axes []axis, i int) []doc.Setting {
	out := make([]doc.Setting, len(axes))
	for k := len(axes) - 1; k >= 0; k-- {
		n := len(axes[k].values)
		out[k] = doc.Setting{Path: axes[k].path, Value: axes[k].values[i%n]}
		i /= n
	}
	return out
}

// suffix names a combination behind the names of its points.
func suffix(c []doc.Setting) string {
	var b strings.Builder
	for _, s := range c {
		b.WriteString("/" + s.Key() + "=" + valueText(s.Value))
	}
	return b.String()
}
