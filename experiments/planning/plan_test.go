package planning_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprobesim/experiments"
	"kprobesim/experiments/exptest"
	"kprobesim/experiments/planning"
	"kprobesim/internal/require"
	"kprobesim/results"
	"kprobesim/sim"
)

func TestPlan(t *testing.T) {
	p := require.Must(exptest.ToyLoader().Plan(exptest.ToyFiles(t), []string{"workload.hits=7", "points.k.handler=handler_count", "machine.event.mispredict.cycles=20"}))(t)
	k := require.Must(p.Point("k"))(t)
	require.That(t, k.Workload.Hits == 7 && k.Probe.Handler == "handler_count" && k.Machine.CPU.Events["mispredict"] == 20*60, "overrides did not arrive: %+v", k)
	if k.Probe.Role != results.Simulated || p.Points[1].Probe.Role != results.Simulated {
		t.Errorf("on a changed machine roles are %s, %s", k.Probe.Role, p.Points[1].Probe.Role)
	}
	require.That(t, k.Probe.Published.Micros.String() == "0.99" && len(p.Inputs) == 3, "published %s, inputs %v", k.Probe.Published.Micros, p.Inputs)
	for _, param := range k.Machine.Params {
		require.That(t, param.Path != "event.mispredict.cycles" || strings.HasPrefix(param.Source, "overridden"), "an overridden number keeps the source %q", param.Source)
	}
}

// Roles follow from the machine also when it is named by another path than the experiment.
func TestRolesByAnotherPath(t *testing.T) {
	file := exptest.ToyFiles(t)
	t.Chdir(filepath.Dir(file))
	for _, set := range []string{"machine=./machine.toml", "machine=" + filepath.Join(filepath.Dir(file), "machine.toml")} {
		p := require.Must(exptest.ToyLoader().Plan("./toy.toml", []string{set}))(t)
		if p.Points[0].Probe.Role != results.Fitted || p.Points[1].Probe.Role != results.Predicted {
			t.Errorf("--set %s: roles are %s, %s", set, p.Points[0].Probe.Role, p.Points[1].Probe.Role)
		}
		_, err := exptest.ToyLoader().Plan("./toy.toml", []string{set, "points.k.role=predicted"})
		require.That(t, err != nil, "--set %s: a role that the machine contradicts was taken", set)
	}
}

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	exptest.Write(t, dir, "machine.toml", exptest.ToyMachine)
	file := exptest.Write(t, dir, "toy.toml", exptest.ToyExperiment+"[sweep]\n\"workload.hits\" = [10, 20]\nmachine.event.trap.cycles = [\"1/2\", 2, 3]\n")
	p := require.Must(exptest.ToyLoader().Plan(file, nil))(t)
	require.Need(t, len(p.Points) == 12, "%d points, want 12", len(p.Points))
	require.Equal(t, p.Points[2].Name, "k/workload.hits=10/machine.event.trap.cycles=2", "third point")
	h := p.Points[11].Workload.Hits
	require.That(t, h == 20, "last point has %d hits", h)
}

// badExperiments are changes to the toy experiment and what must be said about them.
var badExperiments = []struct{ name, old, new string }{
	{"unknown-key", "warmup = 10", "warmup = 10\nwarmpu = 10"},
	{"unknown-machine", `"./machine.toml"`, `"xeon-e541"`},
	{"missing-machine-file", `"./machine.toml"`, `"./none.toml"`},
	{"unknown-image", `"x86_64-2010"`, `"x86_64-2011"`},
	{"missing-image-file", `"x86_64-2010"`, `"./none.elf"`},
	{"foreign-image", `"x86_64-2010"`, `"./toy.toml"`},
	{"wrong-era", `era = "2010"`, `era = "2005"`},
	{"unknown-isa", `isa = "toy"`, `isa = "toys"`},
	{"unknown-target", `"bench_target"`, `"bench_tarket"`},
	{"not-a-function", `"bench_target"`, `"probe_table"`},
	{"unknown-handler", `handler = "handler_empty"`, `handler = "handler_empt"`},
	{"line-wrong", "warmup = ", "line = \"paths.c\"\nwarmup = "},
	{"line-elsewhere", "warmup = ", "line = \"paths.c:1\"\nwarmup = "},
	{"write-to-a-list", "[[points]]\nname = \"k\"", "[[writes]]\nfile = \"/sys/kernel/debug/kprobes/list\"\nvalue = \"0\"\n[[points]]\nname = \"k\""},
	{"write-too-late", "[[points]]\nname = \"k\"", "[[writes]]\nfile = \"/sys/kernel/debug/kprobes/enabled\"\nvalue = \"0\"\nafter = 9999999\n[[points]]\nname = \"k\""},
	{"offset-outside", "hits = 100", "hits = 100\noffset = 4000"},
	{"unit-missing", `"0.99 us"`, `"0.99"`},
	{"unit-wrong", `"0.99 us"`, `"0.99 GHz"`},
	{"hits-negative", "hits = 100", "hits = -1"},
	{"hits-type", "hits = 100", "hits = \"many\""},
	{"twice", `name = "b"`, `name = "k"`},
	{"role-wrong", `role = "fitted"`, `role = "predicted"`},
	{"kind-wrong", `kind = "kprobe"`, `kind = "uprobe"`},
	{"mode-of-others", `mode = "boosted"`, `mode = "emulated"`},
	{"syntax", "hits = 100", "hits = "},
	{"sweep-empty", "[[points]]\nname = \"k\"", "[sweep]\n\"workload.hits\" = []\n[[points]]\nname = \"k\""},
	{"sweep-scalar", "[[points]]\nname = \"k\"", "[sweep]\n\"workload.hits\" = 3\n[[points]]\nname = \"k\""},
	{"sweep-twice", "[[points]]\nname = \"k\"", "[sweep]\n\"workload.hits\" = [3, 3]\n[[points]]\nname = \"k\""},
	{"sweep-twice-hexadecimal", "[[points]]\nname = \"k\"", "[sweep]\n\"workload.args\" = [[1, 3], [1, 0x3]]\n[[points]]\nname = \"k\""},
	{"sweep-value", "[[points]]\nname = \"k\"", "[sweep]\n\"workload.hits\" = [3, -3]\n[[points]]\nname = \"k\""},
	{"sweep-odd", "[[points]]\nname = \"k\"", "[sweep]\n\"a..b\" = [3]\n[[points]]\nname = \"k\""},
	{"sweep-unknown", "[[points]]\nname = \"k\"", "[sweep]\n\"workload.hats\" = [3]\n[[points]]\nname = \"k\""},
	{"sweep-large", "[[points]]\nname = \"k\"", "[sweep]\nseed = [" + numbers(220) + "]\nworkload.warmup = [" + numbers(220) + "]\n\"workload.hits\" = [" + numbers(220) + "]\n[[points]]\nname = \"k\""},
	{"replicates-none", "figures =", "replicates = 0\nfigures ="},
	{"replicates-negative", "figures =", "replicates = -3\nfigures ="},
	{"replicates-beyond", "figures =", "replicates = 16385\nfigures ="},
	{"replicate-negative", "figures =", "replicate = -1\nfigures ="},
	{"replicate-beyond", "figures =", "replicate = 16384\nfigures ="},
	{"replicate-swept", "[[points]]\nname = \"k\"", "[sweep]\nreplicate = [2, 3]\n[[points]]\nname = \"k\""},
	{"replicates-swept", "[[points]]\nname = \"k\"", "[sweep]\nreplicates = [2, 3]\n[[points]]\nname = \"k\""},
	{"many", "hits = 100\nwarmup = 10", "hits = 0\nwarmup = \"x\"\nhist = 3"},
}

// numbers lists 1 to n.
func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d, ", i+1)
	}
	return b.String()
}

func TestBadExperiments(t *testing.T) {
	var got strings.Builder
	for _, c := range badExperiments {
		dir := t.TempDir()
		exptest.Write(t, dir, "machine.toml", exptest.ToyMachine)
		text := strings.ReplaceAll(exptest.ToyExperiment, c.old, c.new)
		require.Need(t, text != exptest.ToyExperiment, "%s changes nothing", c.name)
		_, err := exptest.ToyLoader().Plan(exptest.Write(t, dir, "toy.toml", text), nil)
		require.Need(t, err != nil, "%s: no error", c.name)
		got.WriteString("## " + c.name + "\n" + strings.ReplaceAll(err.Error(), dir+"/", "") + "\n")
	}
	var images []string
	for _, target := range exptest.ToyLoader().Targets {
		for _, im := range target.Images {
			images = append(images, im.Name)
		}
	}
	text := got.String()
	for what, all := range map[string][]string{"(machines)": experiments.Machines(), "(images)": images} {
		text = strings.ReplaceAll(text, "known are "+strings.Join(all, ", "), "known are "+what)
	}
	exptest.Golden(t, "bad_experiments.txt", text)
}

// badMachines are changes to the toy machine and what must be said about them.
var badMachines = []struct{ name, old, new string }{
	{"negative", `cycles = "15"`, `cycles = "-15"`},
	{"absurd", `cycles = "15"`, `cycles = "1500000"`},
	{"no-ticks", `cycles = "15"`, `cycles = "1/7"`},
	{"float-type", `cycles = "15"`, `cycles = [15]`},
	{"no-source", `cycles = "15", source = "book: 7"`, `cycles = "15"`},
	{"source-unknown", `"book: 7"`, `"bok: 7"`},
	{"source-vague", `"book: 7"`, `"book"`},
	{"fitted-unmarked", `fitted = ["k"], `, ``},
	{"more-parameters-than-figures", `mispredict = { cycles = "15", source = "book: 7"`, `mispredict = { cycles = "15", fitted = ["k"], source = "fitted: k"`},
	{"missing-class", "load = {", "laod = {"},
	{"missing-table", "[memory]\nlatency = 280\nsource = \"book: 4\"\n", ""},
	{"port-unknown", `port = "alu"`, `port = "alus"`},
	{"cache-shape", "ways = 24", "ways = 23"},
	{"width", "width = 4", "width = 7"},
	{"clock-unit", `"2 GHz"`, `"2"`},
	{"model", `"window"`, `"widow"`},
	{"unknown-key", "width = 4", "width = 4\ndepth = 3"},
	{"both", "uops = 1, latency", "uops = 1, issue = 1, latency"},
}

func TestBadMachines(t *testing.T) {
	var got strings.Builder
	for _, c := range badMachines {
		dir := t.TempDir()
		text := strings.Replace(exptest.ToyMachine, c.old, c.new, 1)
		require.Need(t, text != exptest.ToyMachine, "%s changes nothing", c.name)
		exptest.Write(t, dir, "machine.toml", text)
		l, file := exptest.ToyLoader(), exptest.Write(t, dir, "toy.toml", exptest.ToyExperiment)
		err := require.Err(l.Plan(file, nil))
		require.Need(t, err != nil, "%s: no error", c.name)
		require.Error(t, require.Err(l.Plan(file, nil)), err.Error(), "%s, planned again", c.name)
		got.WriteString("## " + c.name + "\n" + strings.ReplaceAll(err.Error(), dir+"/", "") + "\n")
	}
	exptest.Golden(t, "bad_machines.txt", got.String())
}

func TestBadSettings(t *testing.T) {
	file := exptest.ToyFiles(t)
	for set, want := range map[string]string{
		"workload.hits":           "want key=value",
		"machine.base=other":      "machine.base: a description is read before it is set",
		"workload.hist=3":         `unknown key "workload.hist"; did you mean "hits"?`,
		"points.x.handler=h":      "no such element: known are k, b",
		"machine.event.trop.x=3":  `unknown key "event.trop"; did you mean "trap"?`,
		"machine=none":            `unknown machine "none"`,
		"workload.hits=1,000":     "workload.hits: want an integer from 1 to 10000000, not a string",
		"points=3":                "must be a list of tables",
		"machine.event.trap=3":    "must be a table",
		"workload.target=handler": "no function",
	} {
		require.Error(t, require.Err(exptest.ToyLoader().Plan(file, []string{set})), want, "--set %s", set)
	}
}

// TestMachinesThatNoHostHolds refuses a machine whose parts are each within bounds, and together too large for a host.
func TestMachinesThatNoHostHolds(t *testing.T) {
	plan := func(cpus string) error {
		return require.Err(exptest.ToyLoader().Plan(exptest.ToyFiles(t), []string{"machine.predictor.table_bits=24", "kernel.cpus=" + cpus}))
	}
	require.Error(t, plan("65"), "predictors of 65 CPUs with 2^24 counters each", "65 CPUs")
	require.NoError(t, plan("64"))
}

func FuzzPlan(f *testing.F) {
	dir := f.TempDir()
	exptest.Write(f, dir, "machine.toml", exptest.ToyMachine)
	f.Add(exptest.ToyExperiment, "workload.hits=3")
	f.Add(exptest.ToyExperiment+"[sweep]\n\"workload.hits\" = [1, 2]\n", "points.b.name=x")
	f.Add(exptest.ToyMachine, "machine.event.trap.cycles=1/3")
	l := exptest.ToyLoader()
	f.Fuzz(func(t *testing.T, text, set string) {
		l.Forget()
		file := exptest.Write(t, dir, "toy.toml", text)
		p, err := l.Plan(file, []string{set})
		require.That(t, err != nil || len(p.Points) != 0, "a plan without points and without an error")
	})
}

// Replicates of a point stand together under names of their own, and a point that has some is named with the
// number of one.
func TestReplicateNames(t *testing.T) {
	p := require.Must(exptest.ToyLoader().Plan(exptest.ToyFiles(t), []string{"replicates=2", "seed=9"}))(t)
	var names []string
	for i, pt := range p.Points {
		names = append(names, pt.Name)
		require.That(t, pt.Replicate == i%2 && pt.At().Replicate == i%2 && pt.Seed == 9, "%s is replicate %d of seed %d", pt.Name, pt.Replicate, pt.Seed)
	}
	want := []string{"k/replicate=0", "k/replicate=1", "b/replicate=0", "b/replicate=1"}
	require.That(t, slices.Equal(names, want), "points %v, want %v", names, want)
	require.Error(t, require.Err(p.Point("k")), "point k of toy has replicates: name one of them, such as k/replicate=0", "point k")
	_, err := p.Point("x")
	require.That(t, err != nil && !strings.Contains(err.Error(), "replicate=1"), "point x: %v, want each point once", err)
}

// One replicate alone has the names of points without any, and the layout of its number.
func TestReplicateAlone(t *testing.T) {
	for _, sets := range [][]string{{"replicate=3"}, {"replicates=5", "replicate=3"}} {
		p := require.Must(exptest.ToyLoader().Plan(exptest.ToyFiles(t), sets))(t)
		var names []string
		for _, pt := range p.Points {
			names = append(names, pt.Name)
			if pt.Replicate != 3 || pt.Further || pt.Layout() != sim.DrawLayout(0, 3) {
				t.Errorf("%v: %s is replicate %d, a further one: %t, under layout %v", sets, pt.Name, pt.Replicate, pt.Further, pt.Layout())
			}
		}
		want := []string{"k", "b"}
		require.That(t, slices.Equal(names, want), "%v: points %v, want %v", sets, names, want)
	}
}

// TestPointsShareMachines reads a description once for all points with the same settings of it, and says how far it is. A
// second plan of a loader has the inputs and keys of the first.
func TestPointsShareMachines(t *testing.T) {
	dir := t.TempDir()
	exptest.Write(t, dir, "under.toml", exptest.ToyMachine)
	exptest.Write(t, dir, "machine.toml", "base = \"under.toml\"\nname = \"toy-1\"\n")
	file := exptest.Write(t, dir, "toy.toml", exptest.ToyExperiment+"[sweep]\n\"workload.hits\" = [10, 20]\nmachine.event.trap.cycles = [2, 3]\n")
	l := exptest.ToyLoader()
	var told []int
	l.Tell = func(name string, done, of int) {
		if told = append(told, done); name != "toy" || of != 4 {
			t.Errorf("told of %s, %d", name, of)
		}
	}
	first := require.Must(l.Plan(file, nil))(t)
	require.That(t, slices.Equal(told, []int{0, 1, 2, 3, 4}), "told %d", told)
	seen := map[any]int{}
	for _, pt := range first.Points {
		seen[pt.Machine]++
	}
	require.That(t, len(seen) == 2, "%d machines, want 2", len(seen))
	second := require.Must(l.Plan(file, nil))(t)
	require.That(t, slices.Equal(first.Inputs, second.Inputs) && maps.Equal(first.Keys, second.Keys) && len(first.Inputs) == 4, "inputs %v\nand then %v, or other keys", first.Inputs, second.Inputs)
	plain := require.Must(l.Machine("./machine.toml", dir, nil))(t)
	third := require.Must(l.Plan(file, nil))(t)
	for _, pt := range slices.Concat(second.Points, third.Points) {
		require.That(t, pt.Machine != plain, "point %s has the machine without its settings", pt.Label)
	}
}

// TestEveryMistakeAtOnce has mistakes in keys that name each other's context: none hides another one.
func TestEveryMistakeAtOnce(t *testing.T) {
	const text = `name = "bad"
title = "x"
machine = "xeon-e541"
hist = 3
[kernel]
isa = "x86_65"
era = "2010"
image = "x86_64-2010"
hz = 99999
[workload]
loop = "bench_lop"
target = "bench_tarket"
hits = 0
warmup = 1
[[points]]
name = "k"
kind = "kprobe"
mode = "stepp"
handler = "handler_emty"
[[points]]
name = "l"
kind = "kprobe"
mode = "step"
with = [{ kind = "kprobe", post_handler = "postt" }]
`
	file := exptest.Write(t, t.TempDir(), "bad.toml", text)
	for _, c := range []struct {
		sets []string
		want []string
	}{
		{nil, []string{":3:11: ", ":4:1: ", ":6:7: kernel.isa", ":9:6: kernel.hz", ":11:8: workload.loop", ":12:10: workload.target", ":13:8: workload.hits", ":18:8: points.k.mode", ":19:11: points.k.handler", ":24:43: points.l.with.0.post_handler"}},
		{[]string{"machine=power5-1656", "kernel.isa=x86_64"}, []string{"kernel.isa: the kernel is x86_64, machine power5-1656 is ppc64", ":9:6: kernel.hz", ":11:8: workload.loop", ":19:11: points.k.handler"}},
		{[]string{"machine=xeon-e5410", "kernel.isa=x86_64", "kernel.era='2005'", "kernel.image=x86_64-2010"}, []string{`write era = "2010"`, ":12:10: workload.target", ":19:11: points.k.handler"}},
		{[]string{"machine=xeon-e5410", "kernel.isa=x86_64", "kernel.image=x86_64-2011"}, []string{"unknown image", ":9:6: kernel.hz"}},
	} {
		_, err := planning.NewLoader().Plan(file, c.sets)
		require.Need(t, err != nil, "%q: no error", c.sets)
		for _, want := range c.want {
			require.That(t, strings.Count(err.Error(), want) == 1, "%q: %q is not told once:\n%v", c.sets, want, err)
		}
	}
}
