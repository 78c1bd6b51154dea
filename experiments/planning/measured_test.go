package planning_test

import (
	"path/filepath"
	"strings"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
	"kprobesim/results"
)

// TestClaims wants the published figure, and the words fitted and predicted, only where nothing differs from
// what was measured.
func TestClaims(t *testing.T) {
	for _, c := range []struct {
		sets      []string
		role      results.Role // of k
		published bool
		says      string // of what k differs by
	}{
		{nil, results.Fitted, true, ""},
		{[]string{"workload.hits=7", "seed=9", "kernel.memory=32 MiB", "points.k.title=other"}, results.Fitted, true, ""},
		{[]string{"kernel.cpus=1", "workload.offset=0"}, results.Fitted, true, ""},
		{[]string{"machine.core.model=window"}, results.Fitted, true, ""},
		{[]string{"machine.core.model=throughput"}, results.Simulated, true, "machine.core.model is throughput, not window"},
		{[]string{"machine.event.trap.cycles=50"}, results.Simulated, true, "machine.event.trap.cycles is 50, not 100"},
		{[]string{"machine.event.mispredict.cycles=20"}, results.Simulated, false, "machine.event.mispredict.cycles is 20, not 15"},
		{[]string{"machine.cost.alu.serialize=true"}, results.Simulated, false, "machine.cost.alu.serialize is true"},
		{[]string{"workload.target=work_checksum"}, results.Simulated, false, "workload.target is work_checksum, not bench_target"},
		{[]string{"workload.args=[1, 2]"}, results.Simulated, false, "workload.args is [1 2], not the default"},
		{[]string{"crowd.probes=3", "crowd.same_bucket=1"}, results.Simulated, false, "crowd has 4 other probes"},
		{[]string{"crowd.position=first"}, results.Fitted, true, ""},
		{[]string{"workload.warmup=0"}, results.Simulated, false, "hits are cold"},
		{[]string{"kernel.hz=100"}, results.Simulated, false, "kernel.hz is 100, not the default"},
		{[]string{"points.k.handler=handler_count"}, results.Simulated, false, "points.k.handler is handler_count, not handler_empty"},
		{[]string{"points.b.handler=handler_count"}, results.Fitted, true, ""},
	} {
		p, err := exptest.ToyLoader().Plan(exptest.ToyFiles(t), c.sets)
		if err != nil {
			t.Errorf("%v: %v", c.sets, err)
			continue
		}
		checkClaim(t, strings.Join(c.sets, " "), &p.Points[0], c.role, c.published, c.says)
	}
}

func checkClaim(t *testing.T, name string, k *schema.Point, role results.Role, published bool, says string) {
	t.Helper()
	if k.Probe.Role != role || (k.Published() != nil) != published {
		t.Errorf("%s: role %s, published %v; want %s, %v", name, k.Probe.Role, k.Published() != nil, role, published)
	}
	got := strings.Join(append(k.Differs, k.Remodelled...), "; ")
	require.That(t, strings.Contains(got, says) && (says != "" || got == ""), "%s: differs by %q, want %q", name, got, says)
}

// TestClaimsOfFilesOnOthers wants the same of a file that changes something by building on another one, of
// each value of a sweep, and of a machine that is another one only by its name.
func TestClaimsOfFilesOnOthers(t *testing.T) {
	dir := filepath.Dir(exptest.ToyFiles(t))
	exptest.Write(t, dir, "copy.toml", "base = \"./machine.toml\"\nname = \"copy\"\n")
	exptest.Write(t, dir, "other.toml", strings.Replace(exptest.ToyMachine, `name = "toy-1"`, `name = "toy-3"`, 1)+"\n")
	for _, c := range []struct {
		name, text string
		role       results.Role
		says       string
	}{
		{"same", "", results.Fitted, ""},
		{"named", "machine = \"./copy.toml\"", results.Fitted, ""},
		{"handler", "[[points]]\nname = \"k\"\nhandler = \"handler_count\"", results.Simulated, "handler_count"},
		{"swept", "[sweep]\n\"workload.target\" = [\"work_checksum\"]", results.Simulated, "work_checksum"},
		{"own", "[workload]\ntarget = \"work_checksum\"\n[[points]]\nname = \"k\"\nrole = \"predicted\"\n" +
			"published = { time = \"1 us\", source = \"me\" }", results.Predicted, ""},
	} {
		file := exptest.Write(t, dir, c.name+"-experiment.toml", "base = \"./toy.toml\"\nname = \""+c.name+"\"\n"+c.text+"\n")
		p, err := exptest.ToyLoader().Plan(file, nil)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		checkClaim(t, c.name, &p.Points[0], c.role, c.says == "", c.says)
	}
}

// TestRoleWithoutFigure refuses a word for a figure that nobody published.
func TestRoleWithoutFigure(t *testing.T) {
	dir := filepath.Dir(exptest.ToyFiles(t))
	text := strings.Replace(exptest.ToyExperiment, "published = { time = \"0.99 us\", source = \"A paper\" }\n", "", 1)
	require.Error(t, require.Err(exptest.ToyLoader().Plan(exptest.Write(t, dir, "silent.toml", text), nil)), "no figure is published for this point", "a role without a figure")
}
