package outdir

import "runtime/debug"

// Program says which build of the program made results. It has no host and no compiler in it: builds of one tree give the
// same on all hosts.
type Program struct {
	Version  string `json:"version,omitempty"`  // of a released module, "" for a build from a clone
	Revision string `json:"revision,omitempty"` // of the clone, "" where the build notes none, as `go run` does
	Modified bool   `json:"modified,omitempty"` // whether the clone had changes that were not committed
}

// BuiltFrom returns what the build notes of itself; nil notes nothing. The version that it makes up for a clone is left
// out, as it depends on which tags the clone has.
func BuiltFrom(info *debug.BuildInfo) (p Program) {
	if info == nil {
		return p
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			p.Revision = s.Value
		case "vcs.modified":
			p.Modified = s.Value == "true"
		}
	}
	if v := info.Main.Version; p.Revision == "" && v != "(devel)" {
		p.Version = v
	}
	return p
}

// This is the program that runs.
func This() Program {
	info, _ := debug.ReadBuildInfo() // nil when there is none
	return BuiltFrom(info)
}

// String says what is known of a build, for people.
func (p Program) String() string {
	switch {
	case p.Revision == "" && p.Version == "":
		return "of an unknown revision"
	case p.Revision == "":
		return "version " + p.Version
	case p.Modified:
		return "revision " + p.Revision + " with changes"
	}
	return "revision " + p.Revision
}
