package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version says which build this is: the version or revision it was built from, and the Go that built it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return fmt.Sprintf("of an unknown revision, %s %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	}
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	return versionOf(info.Main.Version, set["vcs.revision"], set["vcs.modified"] == "true", info.GoVersion)
}

// versionOf puts together what is known. Go notes no revision for what `go run` or a test builds.
func versionOf(module, revision string, modified bool, goVersion string) string {
	what := module
	if what == "" || what == "(devel)" {
		what = "(devel)"
	}
	switch {
	case revision == "":
		what += ", revision unknown (go build notes it, go run does not)"
	case modified:
		what += ", revision " + revision + " with changes"
	default:
		what += ", revision " + revision
	}
	return fmt.Sprintf("%s, %s %s/%s", what, goVersion, runtime.GOOS, runtime.GOARCH)
}
