package planning

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"kprobesim/distro"
	"kprobesim/distro/rootfs"
	"kprobesim/experiments/schema"
	"kprobesim/image"
	"kprobesim/image/linux"
	"kprobesim/internal/doc"
	"kprobesim/internal/require"
	"kprobesim/kprobes"
)

// TestSortOf tells files apart, also a machine that only changes what another one says of itself.
func TestSortOf(t *testing.T) {
	for text, want := range map[string]Sort{
		"base = \"xeon-e5410\"\n[linux]\n":               SortMachine,
		"base = \"./other.toml\"\n[clock]\n":             SortMachine,
		"[sources]\nx = \"y\"\n":                         SortMachine,
		"base = \"./other.toml\"\n[cpuid.0x1]\n":         SortMachine,
		"base = \"linux-probes\"\nmachine = \"other\"\n": SortExperiment,
		"script = []\n":                                  SortScenario,
	} {
		require.Equal(t, SortOf("f.toml", []byte(text)), want, "%q is a", text)
	}
}

// TestColumn holds that a swept number is shown in decimal digits, however it is written.
func TestColumn(t *testing.T) {
	one := axis{path: []string{"workload", "offset"}}
	for _, text := range []string{"0x10", "1_000", "9_223_372_036_854_775_807"} {
		one.values = append(one.values, require.Must(doc.ParseSetting("v="+text))(t).Value)
	}
	want := map[string]string{"0x10": "16", "1_000": "1000", "9_223_372_036_854_775_807": "9223372036854775807"}
	got := one.column()
	require.That(t, got.Key == "workload.offset" && maps.Equal(got.Cells, want), "%v", got)
}

// TestMet holds each feature that points may want against kernels with it and without.
func TestMet(t *testing.T) {
	for _, x := range []struct {
		need needs
		era  kprobes.Era
		want bool
	}{
		{needs{}, kprobes.Era{Year: 2006}, true},
		{needs{boost: true}, kprobes.Era{Boost: true}, true},
		{needs{boost: true}, kprobes.Era{Boost: true, BoostsFew: true}, false},
		{needs{boost: true}, kprobes.Era{Optimize: true}, false},
		{needs{optimize: true}, kprobes.Era{Optimize: true}, true},
		{needs{optimize: true}, kprobes.Era{Boost: true}, false},
		{needs{jprobes: true}, kprobes.Era{Year: 2012}, true},
		{needs{jprobes: true}, kprobes.Era{Year: 2020}, false},
	} {
		require.Equal(t, x.need.met(x.era), x.want, "%+v of a kernel with %+v", x.need, x.era)
	}
}

// TestHeaders finds headers beside the kernel or its folder, where all tools are.
func TestHeaders(t *testing.T) {
	root, tools := t.TempDir(), t.TempDir()
	t.Setenv("PATH", tools)
	at := filepath.Join(root, "usr", "src", "linux-headers-1")
	require.NoError(t, os.MkdirAll(at, 0o755))
	for _, tool := range []string{"sh", "make", "gcc-12", "objcopy", "last"} {
		for _, kernel := range []string{"vmlinuz", "boot/vmlinuz"} {
			want := ""
			if tool == "last" {
				want = at
			}
			require.Equal(t, Headers(filepath.Join(root, kernel), "1"), want, "%s without %s", kernel, tool)
		}
		require.NoError(t, os.WriteFile(filepath.Join(tools, tool), nil, 0o755))
	}
	require.Equal(t, Headers(filepath.Join(root, "vmlinuz"), "2"), "", "of another release")
}

// TestFunctions lists what a kernel of this program has, and knows no other kernel.
func TestFunctions(t *testing.T) {
	got, err := NewLoader().Functions("x86_64-2010")
	require.That(t, err == nil && slices.ContainsFunc(got, func(f GuestFunction) bool { return f.Name == "bench_target" }), "%d functions, %v", len(got), err)
	if got, err := NewLoader().Functions("x86_64-1999"); err == nil {
		t.Errorf("%d functions of no kernel", len(got))
	}
}

// TestExperimentKind reads the kind that a file names.
func TestExperimentKind(t *testing.T) {
	for name, want := range map[string]string{"linux-probes": "linux", "eras-i386-2005": ""} {
		require.Got(NewLoader().ExperimentKind(name))(t, want, "%s", name)
	}
	require.That(t, require.Err(NewLoader().ExperimentKind("nothing")) != nil, "an experiment that is not there has a kind")
}

// TestVersions compares names by the numbers in them, and else by their letters.
func TestVersions(t *testing.T) {
	for _, x := range [][2]string{
		{"vmlinuz-6.1.0-9", "vmlinuz-6.1.0-56"}, {"6.1.0-9-amd64", "6.1.0-56-amd64"}, {"9", "10"}, {"009", "10"}, {"a", "a1"}, {"a1", "b0"}, {"1x", "ax"}, {"1-2", "1-2-3"}, {"2a", "11a"}, {"7a", "07b"},
	} {
		require.That(t, versions(x[0], x[1]) < 0 && versions(x[1], x[0]) > 0 && versions(x[0], x[0]) == 0, "%q is not below %q", x[0], x[1])
	}
}

// TestModulesDiffer has one module make another setup of what was measured without any.
func TestModulesDiffer(t *testing.T) {
	ref, pt := &measured{e: &schema.Experiment{Probes: []schema.Probe{{}}}, point: &schema.Point{}}, &schema.Point{}
	require.Equal(t, len(ref.setup(nil, pt)), 0, "differences of nothing")
	pt.Modules = append(pt.Modules, schema.Module{})
	require.That(t, slices.Equal(ref.setup(nil, pt), []string{"modules are loaded"}), "it differs by %q", ref.setup(nil, pt))
	ref.e.Modules = []schema.Module{{}}
	require.Equal(t, len(ref.setup(nil, pt)), 0, "differences where both have some")
}

// TestUnreadableCode refuses an offset behind what no instruction is.
func TestUnreadableCode(t *testing.T) {
	pt := require.Must(NewLoader().Plan("crowding", nil))(t).Points[0]
	target, isa := *pt.Target, *pt.Target.ISA
	isa.Disasm = func(code []byte, at uint64, _ func(uint64) (string, uint64)) (string, int) {
		f, _ := pt.Image.Func(pt.Workload.Target)
		return "one", map[bool]int{true: 1}[at < f.Entry+2]
	}
	target.ISA = &isa
	pt.Target = &target
	for offset, want := range map[uint64]string{0: "", 2: "", 3: "bench_target+0x2 cannot be decoded"} {
		pt.Workload.Offset = offset
		err := checkOffset(&pt, pt.Workload)
		require.That(t, fmt.Sprint(err) == cmp.Or(want, "<nil>"), "offset %d: %v, want %q", offset, err, want)
	}
}

// TestToolsOfARoot puts what starts tools into a root that has them.
func TestToolsOfARoot(t *testing.T) {
	tree, tool := rootfs.Tree{}, &schema.UserTool{Command: []string{"/bin/x"}}
	k := &linux.Kernel{Image: &image.Image{Bits: 64}}
	require.Error(t, putTools(tree, []*schema.UserTool{tool}, k), "command of a tool: ", "no tool")
	tree.Put(distro.File{Name: "bin/x", Mode: 0o100755, Data: []byte("x")})
	require.NoError(t, putTools(tree, nil, k))
	require.That(t, tree.Executable(distro.BackgroundPath) != nil, "there is something to start nothing")
	require.NoError(t, putTools(tree, []*schema.UserTool{tool}, k))
	require.NoError(t, tree.Executable(distro.BackgroundPath))
}

// TestBeside takes relative paths from a folder on.
func TestBeside(t *testing.T) {
	for path, want := range map[string]string{"": "", "/a/b": "/a/b", "b": "f/b", "../b": "b"} {
		require.Equal(t, filepath.ToSlash(beside("f", path)), want, "%q beside f", path)
	}
}
