package workloads

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// moduleSources are modules that use what real ones use.
func moduleSources(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("modules/*.c")
	require.Need(t, err == nil && len(files) != 0, "no modules: %v", err)
	return files
}

// moduleCompiler returns the compiler for modules of an image, or skips the test.
func moduleCompiler(t *testing.T, im Image) string {
	t.Helper()
	b := require.Must(Open(im.Name))(t)
	f := require.Must(ReadModuleFlags(b))(t)
	return hosttools.Need(t, f.Cross+"gcc", "the gcc of "+im.ISA, "compiling modules for "+im.ISA)
}

// exports returns the names that an image or a module has in its table of exported symbols.
func exports(t *testing.T, f *elf.File) map[string]bool {
	t.Helper()
	syms := require.Must(f.Symbols())(t)
	names := map[string]bool{}
	for _, s := range syms {
		if name, ok := strings.CutPrefix(s.Name, "__ksymtab_"); ok {
			names[name] = true
		}
	}
	return names
}

// TestModulesCompile compiles every module for every kernel, with all warnings as errors, and wants every function
// and variable that it leaves open among the kernel's exported symbols.
func TestModulesCompile(t *testing.T) {
	for _, im := range someImages(t, "compiling modules for every kernel", Image.year) {
		t.Run(im.Name, func(t *testing.T) {
			t.Parallel()
			cc := moduleCompiler(t, im)
			dir := filepath.Join(t.TempDir(), "kp")
			require.NoError(t, WriteHeaders(dir, im.Name))
			b := require.Must(Open(im.Name))(t)
			kernel := require.Must(elf.NewFile(bytes.NewReader(b)))(t)
			known := exports(t, kernel)
			for _, src := range moduleSources(t) {
				if needs := map[string]string{"arguments.c": "register_jprobe", "old.c": "kallsyms_lookup_name"}[filepath.Base(src)]; needs != "" && !known[needs] {
					continue // later kernels have neither
				}
				obj := filepath.Join(t.TempDir(), "m.o")
				out, err := exec.Command(cc, "@"+filepath.Join(dir, "flags"), "-Wall", "-Werror", "-c", src, "-o", obj).CombinedOutput()
				if err != nil {
					t.Errorf("%s: %v\n%s", src, err, out)
					continue
				}
				checkUndefined(t, src, obj, known)
			}
		})
	}
}

// checkUndefined wants the undefined symbols of an object among those that are known. The loader makes
// __this_module, and the linker .TOC.
func checkUndefined(t *testing.T, src, obj string, known map[string]bool) {
	t.Helper()
	f := require.Must(elf.Open(obj))(t)
	defer f.Close()
	syms := require.Must(f.Symbols())(t)
	for _, s := range syms {
		name := strings.TrimPrefix(s.Name, ".")
		require.That(t, s.Section != elf.SHN_UNDEF || s.Name == "" || name == "TOC." || name == "__this_module" || known[name], "%s: the kernel does not export %s", src, s.Name)
	}
}

// A module may include the headers of what is left out. The compiler stops where it is used, and says what to do instead.
func TestLeftOutIsNamed(t *testing.T) {
	im := List()[0]
	cc := moduleCompiler(t, im)
	dir := filepath.Join(t.TempDir(), "kp")
	require.NoError(t, WriteHeaders(dir, im.Name))
	for call, want := range map[string]string{
		"": "", "kthread_run(run, 0, \"name\")": "modules have no threads", "schedule_work(&work)": "do the work in the handler",
		"wake_up(&queue)": "modules have no threads", "complete(&done)": "",
	} {
		src := filepath.Join(dir, "m.c")
		text := "#include <linux/kthread.h>\n#include <linux/workqueue.h>\n#include <linux/wait.h>\n#include <linux/completion.h>\n" +
			"int run(void *data);\nextern struct work_struct work;\nextern wait_queue_head_t queue;\nextern struct completion done;\n" +
			"void use(void);\nvoid use(void)\n{\n\t" + call + ";\n}\n"
		require.NoError(t, os.WriteFile(src, []byte(text), 0o644))
		out, err := exec.Command(cc, "@"+filepath.Join(dir, "flags"), "-Wall", "-Werror", "-c", src, "-o", filepath.Join(dir, "m.o")).CombinedOutput()
		require.That(t, (err != nil) == (want != "") && strings.Contains(string(out), want), "%q: %v, want an error with %q\n%s", call, err, want, out)
	}
}

// TestHeadersLeaveOthersAlone wants a folder with a file of somebody else to stay as it is.
func TestHeadersLeaveOthersAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kp")
	image := List()[0].Name
	for range 2 { // the second time it replaces its own folder
		require.NoError(t, WriteHeaders(dir, image))
	}
	for _, change := range []struct{ file, want string }{
		{"mine.c", "none of the files"}, {"flags", "was changed"},
	} {
		at := filepath.Join(dir, change.file)
		before, _ := os.ReadFile(at)
		require.NoError(t, os.WriteFile(at, []byte("mine"), 0o644))
		err := WriteHeaders(dir, image)
		require.That(t, err != nil && strings.Contains(err.Error(), change.want) && strings.Contains(err.Error(), at), "%s: error %v, want one that names the file and says %q", change.file, err, change.want)
		b, _ := os.ReadFile(at)
		require.That(t, string(b) == "mine", "%s was overwritten", change.file)
		if before == nil {
			_ = os.Remove(at)
		} else if err := os.WriteFile(at, before, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	left, err := os.ReadDir(filepath.Dir(dir))
	require.That(t, err == nil && len(left) == 1, "%d entries beside the folder, want none: %v", len(left)-1, err)
	require.That(t, WriteHeaders(dir, "no-such-image") != nil, "headers for an image that does not exist")
}
