package hosttools

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Look returns the path of a program, or "" where it is not installed.
func Look(program string) string {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		Depend(filepath.Join(dir, program))
	}
	path, err := exec.LookPath(program)
	if err != nil {
		return ""
	}
	return path
}

// Depend has `go test` forget a kept result when a file outside the repository appears, changes or goes. Go looks again
// at files whose names begin with the repository's folder, and takes names as they are. So the name begins there, and
// leaves the folder by "..".
func Depend(file string) {
	if name := fromRepository(file); name != "" {
		_, _ = os.Stat(name) // Go notes the name, and looks for itself
	}
}

// fromRepository returns the name of a file that begins with the repository's folder, or "" for a program that was
// built without the names of its sources.
func fromRepository(file string) string {
	_, here, _, _ := runtime.Caller(0)
	root, err := filepath.EvalSymlinks(filepath.Join(filepath.Dir(here), "..", ".."))
	if err != nil || !filepath.IsAbs(root) || !filepath.IsAbs(file) {
		return ""
	}
	return root + strings.Repeat("/..", strings.Count(root, "/")) + file
}

// Linux is the variable of the environment that names a folder with packaged kernels, their headers and samples.
const Linux = "KPROBESIM_LINUX"

// Packaged returns the name of a file or folder below that of packaged kernels, and whether it is there.
func Packaged(name string) (string, bool) {
	dir := os.Getenv(Linux)
	if dir == "" {
		return "", false
	}
	file := filepath.Join(dir, name)
	Depend(file)
	_, err := os.Stat(file)
	return file, err == nil
}

// Kernels returns the kernels of a distribution whose files' names match a pattern, or leaves the test out. It does
// so with -short, too: each takes seconds to boot.
func Kernels(tb testing.TB, pattern, what string) []string {
	tb.Helper()
	if testing.Short() {
		tb.Skip("with -short: " + what)
	}
	dir, _ := Packaged(".")
	files, _ := filepath.Glob(filepath.Join(dir, pattern))
	if dir == "" || len(files) == 0 {
		Missing(tb, what, Linux+" names no folder with a kernel "+pattern)
	}
	for _, file := range files {
		Depend(file)
	}
	return slices.Clip(files)
}
