package modules

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kprobesim/internal/require"
	"kprobesim/kprobes"
	"kprobesim/workloads"
)

// factsFolder has the module of facts as it is compiled for each kernel, and what it prints there.
const factsFolder = "testdata/facts"

// factKernels are the kernels of every instruction set and year that are built without options.
func factKernels() (out []kernel) {
	for _, im := range workloads.List() {
		if isa, year, _ := strings.Cut(im.Name, "-"); !strings.Contains(year, "-") {
			out = append(out, kernel{im.Name, map[string]string{
				"x86_64": "gcc", "i386": "gcc-multilib", "ppc64": "gcc-powerpc64-linux-gnu", "arm": "gcc-arm-linux-gnueabi",
			}[isa]})
		}
	}
	return out
}

// TestFacts inserts the module of facts into every kernel. It prints what is known of that kernel.
func TestFacts(t *testing.T) {
	for _, k := range factKernels() {
		t.Run(k.image, func(t *testing.T) {
			object := filepath.Join(factsFolder, k.image+".o")
			if *update {
				k.compile(t, "../../workloads/modules/facts", object)
			}
			golden(t, k.image, k.facts(t, object))
		})
	}
}

// golden compares facts with those that are known of a kernel.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join(factsFolder, name+".txt")
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want := require.Must(os.ReadFile(file))(t)
	require.That(t, got == string(want), "%s: the facts are\n%s\nwant\n%s", name, got, want)
}

// facts are the lines that the module prints from its beginning to its end.
func (k kernel) facts(t *testing.T, object string) string {
	t.Helper()
	b := require.Must(os.ReadFile(object))(t)
	f := require.Must(Read("facts.o", b))(t)
	var out bytes.Buffer
	o := kprobes.Default()
	o.Preempt = strings.HasSuffix(k.image, "-preempt")
	bootFor(t, k, o, 1e11, func(r *running) {
		if _, err := r.l.Load(r.Call, f, ""); err != nil {
			r.Fatal(err)
		}
		if err := r.l.UnloadAll(r.Call); err != nil {
			r.Error(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^fact (\S+ .+)$`).FindAllStringSubmatch(r.sys.Machine.Console(), -1) {
			out.WriteString(m[1] + "\n")
		}
	})
	return out.String()
}

// TestFactsOfPreemptibleKernels inserts the same module into kernels of 2020 that preempt kernel code, as Debian's do. They
// print the same.
func TestFactsOfPreemptibleKernels(t *testing.T) {
	for _, name := range []string{"x86_64-2020", "i386-2020"} {
		want := require.Must(os.ReadFile(filepath.Join(factsFolder, name+".txt")))(t)
		got := (kernel{image: name + "-preempt"}).facts(t, filepath.Join(factsFolder, name+".o"))
		require.That(t, got == string(want), "%s-preempt: the facts are\n%s\nwant\n%s", name, got, want)
	}
}

// TestFactsOf2020 compares the kernels of 2020 with Linux 6.1, of which tests of distro hold what it prints. What differs has a
// reason.
func TestFactsOf2020(t *testing.T) {
	reasons := map[string]string{
		"place.own-registration": "registering is a call out of the simulated machine, where nothing is executed",
		"jump.probe-behind-left": "6.1 looks while the leaving probe counts as enabled, so that the jump does not come back as it is meant to",
	}
	for ours, theirs := range map[string]string{"x86_64-2020": "linux-6.1-amd64", "i386-2020": "linux-6.1-686"} {
		got, want := known(t, ours), known(t, theirs)
		for name := range want {
			if differs := got[name] != want[name]; differs != (reasons[name] != "") {
				t.Errorf("%s: %s is %q, in %s %q; the reason why they differ: %q", ours, name, got[name], theirs, want[name], reasons[name])
			}
		}
		require.That(t, len(got) == len(want), "%s has %d facts, %s %d", ours, len(got), theirs, len(want))
	}
}

// known reads the facts of a kernel, by name.
func known(t *testing.T, kernel string) map[string]string {
	t.Helper()
	b := require.Must(os.ReadFile(filepath.Join(factsFolder, kernel+".txt")))(t)
	out := map[string]string{}
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		require.That(t, out[name] == "", "%s tells %s twice", kernel, name)
		out[name] = value
	}
	return out
}
