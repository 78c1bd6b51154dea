package schema

import (
	"strings"

	"kprobesim/internal/doc"
	"kprobesim/modules"
)

// Module is a module that the kernel of a point loads.
type Module struct {
	Path       string // of its object file, as the experiment names it
	Parameters string // "name=value" words
	Load       string // LoadBoot or LoadProbes
	File       *modules.File
	Hash       string // of the bytes of the object file
}

// When a module is loaded: before anything is measured, or where the point's probes are registered, behind what is
// measured without them.
const (
	LoadBoot   = "boot"
	LoadProbes = "probes"
)

// maxModules bounds the modules of an experiment.
const maxModules = 16

// ReadModules reads the tables [[modules]] of an experiment. The files are read by the planner.
func ReadModules(r *doc.Reader) []Module {
	var out []Module
	for _, s := range r.List("modules") {
		out = append(out, Module{
			Path:       doc.Need(s, "file", doc.Text),
			Parameters: doc.Opt(s, "parameters", "", doc.Text),
			Load:       doc.Opt(s, "load", LoadProbes, doc.OneOf(LoadBoot, LoadProbes)),
		})
		s.Done()
	}
	if len(out) > maxModules {
		r.Errorf("modules", "%d modules: at most %d", len(out), maxModules)
	}
	return out
}

// Module returns the module of a point that a name of the form "module:function" is of, and the function's own name; nil
// for a name of the kernel or of a module that the point does not load.
func (p *Point) Module(name string) (m *Module, function string) {
	module, function, ok := strings.Cut(name, ":")
	for i := range p.Modules {
		if ok && p.Modules[i].File.Name == module {
			return &p.Modules[i], function
		}
	}
	return nil, ""
}
