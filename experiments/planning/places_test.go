package planning_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/planning"
	"kprobesim/internal/doc"
	"kprobesim/internal/require"
)

// A probe is accepted at each instruction of a function and nowhere else, and the error has the instruction as the
// image's disassembly prints it, with the addresses that it leads to.
func TestEveryOffset(t *testing.T) {
	l := planning.NewLoader()
	pt := exptest.PointOf(t, exptest.E5410, "b")
	far := 0
	for _, name := range []string{"work_checksum", "work_recursive"} {
		f, ok := pt.Image.Func(name)
		require.Need(t, ok, "no function %s", name)
		code := pt.Image.Code(f)
		inside := map[uint64]string{}
		for off := uint64(0); off < f.Size; {
			text, n := pt.Target.ISA.Disasm(code[off:], f.Entry+off, nil)
			for i := uint64(1); i < uint64(n); i++ {
				inside[off+i] = fmt.Sprintf("is inside the instruction at +%#x (%s, %d bytes)", off, text, n)
			}
			if strings.Contains(text, fmt.Sprintf("%#x", f.Entry>>12)) {
				far++
			}
			off += uint64(n)
		}
		for off := range f.Size + 2 {
			_, err := l.Plan(exptest.E5410, []string{"workload.target=" + name, fmt.Sprint("workload.offset=", off), "points.r.kind=kprobe", "points.rb.kind=kprobe", "points.ro.kind=kprobe"})
			want := inside[off]
			if off >= f.Size {
				want = fmt.Sprintf("%s has %d bytes: offset %d is outside", name, f.Size, off)
			}
			require.That(t, (want != "" || err == nil || !strings.Contains(err.Error(), "workload.offset")) && (want == "" || err != nil && strings.Contains(err.Error(), want)), "%s+%#x: %v, want %q", name, off, err, want)
		}
	}
	require.That(t, far != 0, "no instruction leads to an address of its function")
}

// A module is looked for from the folder of the file that names it, and one with a whole path where that says.
func TestLinuxModuleBesideTheExperiment(t *testing.T) {
	t.Setenv(planning.KernelFolder, kernels(t, map[string]int{"vmlinuz": 64}))
	here, there := t.TempDir(), t.TempDir()
	write := func(file, text string) string {
		t.Helper()
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		return file
	}
	write(filepath.Join(here, "mine.ko"), "beside")
	whole := write(filepath.Join(there, "mine.ko"), "elsewhere")
	hashes := map[string]string{}
	for name, module := range map[string]string{"beside": "mine.ko", "whole": whole} {
		file := write(filepath.Join(here, name+".toml"), fmt.Sprintf("base = \"linux-probes\"\ntitle = \"t\"\n[linux]\nmodule = %q\n", module))
		p, err := planning.NewLoader().Plan(file, nil)
		require.Need(t, err == nil, "%s: %v", name, err)
		hashes[name] = p.Points[0].Linux.ModuleHash
		want := map[string]string{"beside": "beside", "whole": "elsewhere"}[name]
		require.That(t, string(p.Points[0].Linux.ModuleFile) == want, "%s: the module %q, want %q", name, p.Points[0].Linux.ModuleFile, want)
		require.Equal(t, p.Keys["module mine.ko"], hashes[name], "%s: keys have", name)
	}
	require.That(t, hashes["beside"] != hashes["whole"], "two modules have one hash")
	file := write(filepath.Join(here, "none.toml"), "base = \"linux-probes\"\ntitle = \"t\"\n[linux]\nmodule = \"none.ko\"\n")
	require.Error(t, require.Err(planning.NewLoader().Plan(file, nil)), "none.ko", "a module that is not there")
}

// An experiment on the standard input may be as long as a file may, and no longer.
func TestExperimentOnTheStandardInput(t *testing.T) {
	text := "base = \"" + exptest.E5410 + "\"\ntitle = \"t\"\n"
	for extra, want := range map[int]string{-1: "", 0: "", 1: fmt.Sprintf("experiment -: more than %d bytes", doc.MaxSize)} {
		l := planning.NewLoader()
		l.Stdin = strings.NewReader(text + "#" + strings.Repeat("x", doc.MaxSize-len(text)-1+extra))
		if _, err := l.Plan("-", nil); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d bytes beyond the limit: %.200v, want %q", extra, err, want)
		}
	}
	l := planning.NewLoader()
	l.Stdin = strings.NewReader("kind = ")
	require.Error(t, require.Err(l.Plan("-", nil)), "standard input:1", "a mistake on the standard input")
	require.Error(t, require.Err(planning.NewLoader().Plan("-", nil)), "experiment -: there is no standard input", "no standard input")
	l.Stdin = failing{}
	require.Error(t, require.Err(l.Plan("-", nil)), "experiment -: "+os.ErrPermission.Error(), "a standard input that fails")
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, os.ErrPermission }
