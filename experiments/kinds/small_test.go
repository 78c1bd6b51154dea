package kinds_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// TestSmall measures every point of small experiments of each kind and traces a hit of the first one, and holds all that was observed. Costs that move on purpose move its
// golden file, too.
func TestSmall(t *testing.T) {
	exptest.Alone(t)
	var out strings.Builder
	small := maps.Clone(exptest.Small)
	small[exptest.E5410] = []string{"workload.hits=20", "workload.latencies=true"}
	small["handlers-xeon-e5410-i386"] = []string{"workload.hits=20"}
	small["user-probes-pentium-m"] = []string{"workload.hits=20"}
	whole := exptest.Updating() || hosttools.Whole(t, "all points of small experiments", "of those that take longest the first one")
	longest := []string{"attach-time", "bystander-cost", "event-rate", "irq-off", "optimize-latency", "unregister-batch", "user-probes"}
	for _, name := range slices.Sorted(maps.Keys(small)) {
		p := require.Must(planning.NewLoader().Plan(name, small[name]))(t)
		if !whole && slices.Contains(longest, name) {
			p.Points = p.Points[:1]
		}
		for i := range p.Points {
			pt := &p.Points[i]
			m, err := kinds.Measure(pt)
			if err != nil {
				fmt.Fprintf(&out, "%s %s: %v\n", name, pt.Name, err)
				continue
			}
			of := fmt.Sprint(m.Whole, m.Base, m.Probed, m.Single, m.First, m.Taken, m.Accounts, m.Console)
			fmt.Fprintf(&out, "%s %s: %+v, %q, the rest %.4x", name, pt.Name, m.Counts, m.Notes, sha256.Sum256([]byte(of)))
			for _, q := range m.Quantities {
				fmt.Fprintf(&out, ", %s %d/%d %s", q.Metric, q.Num, q.Den, q.Unit)
			}
			out.WriteString("\n")
		}
		for n := range int64(2) { // the first two hits, one by one
			var b bytes.Buffer
			err := kinds.Trace(&p.Points[0], n+1, &b)
			fmt.Fprintf(&out, "%s %s: hit %d is traced as %.4x, %v\n", name, p.Points[0].Name, n+1, sha256.Sum256(b.Bytes()), err)
		}
	}
	for _, kernel := range []string{"x86_64-2010", "ppc64-2017"} {
		l := planning.NewLoader()
		f := require.Must(l.Module(filepath.Join(objects, kernel, "my_probe.o"), ""))(t)
		for _, parameters := range []string{"", "symbol=bench_target"} { // where the point has a probe
			tried := require.Must(kinds.Try(require.Must(l.Trial(kernel, ""))(t), kinds.Trial{File: f, Hits: 5, Parameters: parameters, Calls: []string{"my_probe:tell", "nothing", "work_divide"}}))(t)
			fmt.Fprintf(&out, "a module in %s with %q: %+v, %q\n", kernel, parameters, tried.Rows, tried.Console)
		}
	}
	if file := filepath.Join("testdata", "small.txt"); whole {
		require.Lines(t, file, out.String(), exptest.Updating())
	} else {
		require.Among(t, file, out.String())
	}
}
