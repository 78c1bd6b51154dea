// Package hosttools runs the host's compilers and emulators for tests, and says what a test leaves out where a tool is
// not installed. It leaves out everything that the program itself does: no package but tests imports it.
package hosttools

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"kprobesim/internal/require"
)

// limit bounds how long one call of a tool may take. The longest takes about twenty seconds.
const limit = 2 * time.Minute

// Need returns the path of a program, or leaves the test out and names what is left out and the Debian package that
// has the program.
func Need(tb testing.TB, program, debian, skipped string) string {
	tb.Helper()
	path := Look(program)
	if path == "" {
		Missing(tb, skipped, program+" is not installed (Debian: "+debian+")")
	}
	return path
}

// Run runs a program in a folder. The test fails with what the program printed where the program does.
func Run(tb testing.TB, dir, program string, args ...string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%s %v: %v\n%s", program, args, err, text)
	}
}

// Program builds testdata/programs.c for programs without a library by a compiler with options of its own, and
// returns the file's path.
func Program(tb testing.TB, compiler, debian string, options ...string) string {
	tb.Helper()
	cc := Need(tb, compiler, debian, "programs that a compiler makes")
	out := filepath.Join(tb.TempDir(), "programs")
	Run(tb, "", cc, append(slices.Clone(options), "-ffreestanding", "-fno-stack-protector", "-static", "-nostdlib", "-no-pie",
		"-o", out, filepath.Join("testdata", "programs.c"), "-lgcc")...)
	return out
}

// Fresh builds testdata/many.S by a compiler, with options of its own, and linked by testdata/many.lds, and holds
// the result against testdata/many.elf, which it writes where update is true.
func Fresh(t *testing.T, compiler, debian string, update bool, options ...string) {
	t.Helper()
	cc := Need(t, compiler, debian, "building testdata/many.S")
	source := require.Must(filepath.Abs("testdata"))(t)
	dir := t.TempDir()
	Run(t, dir, cc, append(slices.Clone(options), "-c", "-o", "many.o", source+"/many.S")...)
	Run(t, dir, cc, append(slices.Clone(options), "-nostdlib", "-static", "-no-pie", "-Wl,--build-id=none", "-Wl,-z,noexecstack",
		"-Wl,--no-warn-rwx-segments", "-Wl,-T,"+source+"/many.lds", "-o", "many.elf", "many.o")...)
	got := require.Must(os.ReadFile(filepath.Join(dir, "many.elf")))(t)
	const committed = "testdata/many.elf"
	if want, err := os.ReadFile(committed); err == nil && slices.Equal(got, want) {
		return
	}
	if !update {
		t.Fatalf("%s is not what %s builds from many.S: build it with -update-many", committed, compiler)
	}
	require.NoError(t, os.WriteFile(committed, got, 0o644))
}

// Compiler returns a cross compiler, or the host's own where the host is of that architecture and has no other. It leaves
// the test out where there is none.
func Compiler(tb testing.TB, cross, architecture, debian, skipped string) string {
	tb.Helper()
	if Look(cross) == "" && runtime.GOARCH == architecture {
		return Need(tb, "gcc", "gcc", skipped)
	}
	return Need(tb, cross, debian, skipped)
}
