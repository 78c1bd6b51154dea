package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"kprobesim/results/outdir"
)

// version says which build this is: the version and revision it was built from, and the Go that built it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{GoVersion: runtime.Version()}
	}
	return versionOf(info.Main.Version, outdir.BuiltFrom(info), info.GoVersion)
}

// versionOf puts together what is known. Go notes no revision for what `go run` or a test builds.
func versionOf(module string, p outdir.Program, goVersion string) string {
	if module == "" {
		module = "(devel)"
	}
	text := p.String()
	if p.Revision == "" {
		text = "revision unknown (go build notes it, go run does not)"
	}
	return fmt.Sprintf("%s, %s, %s %s/%s", module, text, goVersion, runtime.GOOS, runtime.GOARCH)
}
