package planning

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kprobesim/experiments"
	"kprobesim/experiments/schema"
	"kprobesim/internal/doc"
	"kprobesim/modules"
	"kprobesim/results/outdir"
)

// Module reads the object file of a module; a relative path starts at base. The plan that is being read depends on it.
func (l *Loader) Module(file, base string) (*modules.File, error) {
	f, _, err := l.module(file, base)
	return f, err
}

// module is Module with the hash of the file's bytes.
func (l *Loader) module(file, base string) (*modules.File, string, error) {
	file = beside(base, file)
	b, err := experiments.ReadLimited(file)
	if err != nil {
		return nil, "", err
	}
	hash := outdir.Hash(b)
	l.use(outdir.Input{Kind: "module", Name: filepath.Base(file), Hash: hash})
	f, err := modules.Read(file, b)
	return f, hash, err
}

// addModules reads the modules of an experiment for one of its points.
func (p *planner) addModules(root *doc.Node, pt *schema.Point, e *schema.Experiment) {
	seen := map[string]bool{}
	for i, m := range e.Modules {
		n := fmt.Sprint(i)
		pos := at(root, "modules", n, "file")
		var err error
		if m.File, m.Hash, err = p.l.module(m.Path, folder(root, "modules", n, "file")); err != nil {
			p.errs.Add(pos, "modules.%d.file: %v", i, err)
			continue
		}
		switch o := m.File.Object; {
		case seen[m.File.Name]:
			p.errs.Add(pos, "modules.%d.file: module %s is there twice", i, m.File.Name)
		case o.Machine != pt.Image.Machine || o.Bits != pt.Image.Bits:
			p.errs.Add(pos, "modules.%d.file: %s is for %v, the kernel for %v: compile it for the kernel's instruction set", i, m.Path,
				o.Machine, pt.Image.Machine)
		}
		seen[m.File.Name] = true
		pt.Modules = append(pt.Modules, m)
	}
}

// checkModuleFunc wants a name of the form "module:function" to be that of a function of a module that the point loads.
func (p *planner) checkModuleFunc(pos doc.Pos, key string, pt *schema.Point, name string) {
	m, function := pt.Module(name)
	if m == nil {
		module, _, _ := strings.Cut(name, ":")
		p.errs.Add(pos, "%s: no module %q is loaded: name its file in [[modules]]", key, module)
		return
	}
	if known := m.File.Object.Functions(); !slices.Contains(known, function) {
		p.errs.Add(pos, "%s: module %s has no function %q%s", key, m.File.Name, function, doc.Suggest(function, known))
	}
}
