package kinds_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/planning"
	"kprobesim/experiments/schema"
	"kprobesim/image"
	"kprobesim/internal/require"
	"kprobesim/kprobes"
)

// objects is where the modules of the tests are, compiled for each of these kernels.
const objects = "../../modules/testdata"

var moduleKernels = []string{"x86_64-2010", "x86_64-2020", "i386-2020", "ppc64-2017", "arm-2014"}

// moduleBase names the experiment that those with a module are based on.
func moduleBase(kernel string) string {
	switch kernel {
	case "x86_64-2020", "i386-2020":
		return "isas-" + kernel
	case "ppc64-2017":
		return "overhead-power5-2017"
	}
	isa, _, _ := strings.Cut(kernel, "-")
	return "isas-" + isa + "-2010"
}

// planModule plans an experiment with a module: what differs from the experiment of an instruction set.
func planModule(t *testing.T, kernel, text string) (*schema.Plan, error) {
	t.Helper()
	_, era, _ := strings.Cut(kernel, "-")
	where := require.Must(filepath.Abs(filepath.Join(objects, kernel)))(t)
	file := filepath.Join(t.TempDir(), "own.toml")
	text = fmt.Sprintf("base = %q\nname = \"own\"\nfigures = []\n[kernel]\nimage = %q\nera = %q\n", moduleBase(kernel), kernel, era) +
		"[workload]\nhits = 50\n" + strings.ReplaceAll(text, "DIR", filepath.ToSlash(where))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return planning.NewLoader().Plan(file, nil)
}

const ownProbes = `
[[modules]]
file = "DIR/my_probe.o"
parameters = "symbol=bench_target"
[[points]]
name = "own"
mode = "step"
kind = "module"
`

const ownHandler = `
[[modules]]
file = "DIR/my_probe.o"
load = "boot"
parameters = "symbol=work_divide"
[[modules]]
file = "DIR/user_of.o"
[[points]]
name = "handler"
mode = "step"
kind = "kprobe"
handler = "my_probe:probe_pre"
post_handler = "my_probe:probe_post"
`

// handlerIn is ownHandler with the way in which a kernel runs a hit at the beginning of a function.
func handlerIn(kernel string) string {
	mode := map[string]string{"arm-2014": "emulated", "x86_64-2020": "ftrace", "i386-2020": "ftrace"}[kernel]
	return strings.Replace(ownHandler, `"step"`, strconv.Quote(cmp.Or(mode, "step")), 1)
}

// measureModule measures a point of such an experiment.
func measureModule(t *testing.T, kernel, text, point string) (*kinds.Measurement, *schema.Plan) {
	t.Helper()
	p := require.Must(planModule(t, kernel, text))(t)
	pt := require.Must(p.Point(point))(t)
	m, err := kinds.Measure(pt)
	require.Need(t, err == nil, "%s: %v", kernel, err)
	return m, p
}

// The probes that a module registers are measured as a point, what the module prints is kept, and its file is an input.
func TestModulesOwnProbes(t *testing.T) {
	exptest.Alone(t)
	for _, kernel := range moduleKernels {
		m, p := measureModule(t, kernel, ownProbes, "own")
		handler := 0
		for i, phase := range kinds.Phases() {
			if phase == image.PhaseHandler && m.Over().Phases[i] > 0 {
				handler++
			}
		}
		if m.Over().Time <= 0 || handler == 0 {
			t.Errorf("%s: a hit takes %v, phases %v", kernel, m.Over().Time, m.Over().Phases)
		}
		require.That(t, strings.HasPrefix(m.Console, "planted at bench_target\n") && strings.Contains(m.Console, " hits, "), "%s: console %q", kernel, m.Console)
		found := false
		for _, in := range p.Inputs {
			found = found || in.Kind == "module" && in.Name == "my_probe.o" && in.Hash != ""
		}
		require.That(t, found, "%s: inputs %+v", kernel, p.Inputs)
		again, _ := measureModule(t, kernel, ownProbes, "own")
		require.That(t, again.Over().Time == m.Over().Time && again.Console == m.Console, "%s: %v, and again %v", kernel, m.Over().Time, again.Over().Time)
	}
}

// A point's probe has handlers of a module. They count every call.
func TestModulesHandlers(t *testing.T) {
	exptest.Alone(t)
	for _, kernel := range moduleKernels {
		m, _ := measureModule(t, kernel, handlerIn(kernel), "handler")
		hits := m.Hits + 1 + 64 // the first hit and the warm-up
		hits += min(64, m.Hits) // the calls of the profile
		want := fmt.Sprintf("%d hits, %d posts, 0 returns\n", hits, hits)
		require.That(t, strings.HasSuffix(m.Console, want), "%s: console %q, want %q at its end", kernel, m.Console, want)
	}
}

// Mistakes are told with place and remedy, before anything runs.
func TestModuleMistakes(t *testing.T) {
	const point = "\n[[points]]\nname = \"x\"\nmode = \"step\"\nkind = \"kprobe\"\n"
	for text, want := range map[string]string{
		"[[modules]]\nfile = \"DIR/none.o\"" + point + "handler = \"empty\"":                                             "modules.0.file: ",
		"[[modules]]\nfile = \"DIR/../arm-2014/my_probe.o\"" + point + "handler = \"empty\"":                             "is for EM_ARM, the kernel for EM_X86_64",
		"[[modules]]\nfile = \"DIR/my_probe.o\"\n[[modules]]\nfile = \"DIR/my_probe.o\"" + point + "handler = \"empty\"": "module my_probe is there twice",
		"[[modules]]\nfile = \"DIR/my_probe.o\"\nload = \"late\"" + point + "handler = \"empty\"":                        "modules.0.load",
		"[[modules]]\nfile = \"DIR/my_probe.o\"" + point + "handler = \"my_probe:probe_per\"":                            "module my_probe has no function \"probe_per\"; did you mean \"probe_pre\"?",
		point + "handler = \"my_probe:probe_pre\"":                                                                       "no module \"my_probe\" is loaded: name its file in [[modules]]",
		"target = \"my_probe:module_work\"\n[[modules]]\nfile = \"DIR/my_probe.o\"" + point + "handler = \"empty\"":      "write load = \"boot\"",
	} {
		require.Error(t, require.Err(planModule(t, moduleKernels[0], text)), want, "%q", text)
	}
}

// A module that leaves without unregistering fails its point, by the names of the module and the probe.
func TestModuleLeavesProbes(t *testing.T) {
	exptest.Alone(t)
	p := require.Must(planModule(t, moduleKernels[0], strings.Replace(ownProbes, "symbol=", "leaves=1 symbol=", 1)))(t)
	pt := require.Must(p.Point("own"))(t)
	require.Error(t, require.Err(kinds.Measure(pt)), "probe at bench_target+0x0 registered by module my_probe is still registered", "the point")
}

// A trial finds what the module probes, calls it, and says what that costs.
func TestTrial(t *testing.T) {
	exptest.Alone(t)
	for _, kernel := range moduleKernels {
		l := planning.NewLoader()
		pt := require.Must(l.Trial(kernel, ""))(t)
		f := require.Must(l.Module(filepath.Join(objects, kernel, "my_probe.o"), ""))(t)
		tried, err := kinds.Try(pt, kinds.Trial{File: f, Hits: 20, Calls: []string{"my_probe:tell", "nothing"}})
		require.Need(t, err == nil, "%s: %v", kernel, err)
		rows := tried.Rows
		require.Need(t, len(rows) == 3 && rows[0].Function == "work_checksum" && len(rows[0].Probes) == 2 && rows[0].Over > 0 && rows[0].First > 0, "%s: %+v", kernel, rows)
		c := rows[0].Counts
		require.That(t, c == (kinds.Counts{Calls: 20, Hits: 20}) && rows[0].Calls == 20, "%s: counted are %+v", kernel, c)
		if rows[1].Calls != 1 || rows[1].Result != 85 || rows[2].Why == "" {
			t.Errorf("%s: %+v", kernel, rows[1:])
		}
		require.That(t, len(tried.Probes) == 2 && tried.Probes[0].Mode != kprobes.Gone && strings.Contains(tried.Console, "85 hits"), "%s: %+v\n%s", kernel, tried.Probes, tried.Console)
	}
	require.Error(t, require.Err(planning.NewLoader().Trial("x86_64-2000", "")), "no image \"x86_64-2000\"", "the call")
}
