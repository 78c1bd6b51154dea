package image

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Module holds the names that a loaded module adds to a kernel. Its addresses are final, its
// sections have the names of its file.
type Module struct {
	Name     string
	Base     uint64
	Bytes    []byte // all of its memory, as linked
	Sections []ModuleSection
	Symbols  []Symbol // their module and the beginning of their section's name are filled in by AddModule
}

// ModuleSection is a section of a module in memory.
type ModuleSection struct {
	Name       string
	Addr, Size uint64
	Exec       bool
}

// moduleMark stands between the name of a module and that of a symbol or section of it.
const moduleMark = ":"

// Fork returns a view of the image that modules can be added to. It shares everything else with the image.
func (im *Image) Fork() *Image {
	own := *im
	return &own
}

// Modules returns the modules that are loaded, in the order of loading.
func (im *Image) Modules() []Module { return slices.Clone(im.modules) }

// AddModule makes the names and addresses of modules known: look-ups find symbols by "name" where the kernel has none of
// that name, and by "module:name" always. It fails for a module of a name that is loaded, and for code in a section of an
// unknown phase, and then adds none. Code in a section that is of no phase is that of handlers.
func (im *Image) AddModule(more ...Module) error {
	all := slices.Clip(im.modules)
	for _, m := range more {
		if slices.ContainsFunc(all, func(o Module) bool { return o.Name == m.Name }) {
			return fmt.Errorf("module %s is loaded already", m.Name)
		}
		for _, s := range m.Sections {
			if _, err := phaseOf(s.Name); err != nil {
				return fmt.Errorf("module %s: %w", m.Name, err)
			}
		}
		all = append(all, m)
	}
	if im.kernel == nil {
		im.kernel = im.Fork()
	}
	im.modules = all
	im.reindex()
	return nil
}

// RemoveModule forgets a module; one that is not loaded is none.
func (im *Image) RemoveModule(name string) {
	if im.kernel == nil {
		return
	}
	im.modules = slices.DeleteFunc(slices.Clone(im.modules), func(m Module) bool { return m.Name == name })
	im.reindex()
}

// reindex makes all indices of addresses and names again. Other machines keep the kernel's.
func (im *Image) reindex() {
	im.Symbols, im.sections = slices.Clone(im.kernel.Symbols), slices.Clone(im.kernel.sections)
	for i := range im.modules {
		im.add(&im.modules[i])
	}
	im.index()
}

// add appends the sections and symbols of a module. Functions with descriptors have a symbol for each of the two, as
// in the kernel.
func (im *Image) add(m *Module) {
	for _, s := range m.Sections {
		phase, _ := phaseOf(s.Name) // AddModule has asked
		if s.Exec && phase == PhaseKernel {
			phase = PhaseHandler
		}
		im.sections = append(im.sections, section{m.Name + moduleMark + s.Name, phase, s.Addr, s.Size, s.Exec})
	}
	slices.SortStableFunc(im.sections, func(a, b section) int { return cmp.Compare(a.addr, b.addr) })
	have := map[string]bool{}
	for _, s := range m.Symbols {
		have[s.Name] = true
	}
	for _, s := range m.Symbols {
		s.Module = m.Name
		if s.Section != "" {
			s.Section = m.Name + moduleMark + s.Section
		}
		if code := s; im.Descriptors() && isDescriptors(s.Section) {
			s.Func, s.Size = false, descriptorSize
			if code.Addr, _ = im.word(s.Addr); !have["."+s.Name] {
				code.Name, code.Func, code.Section = "."+s.Name, true, im.SectionAt(code.Addr)
				im.Symbols = append(im.Symbols, code)
			}
		}
		im.Symbols = append(im.Symbols, s)
	}
}

// NewSymbol makes a symbol of a module, which the rest of the program cannot say is global.
func NewSymbol(name string, addr, size uint64, function, global bool, section string) Symbol {
	return Symbol{Name: name, Addr: addr, Size: size, Func: function, Section: section, global: global}
}

// FullName is the name in C of a symbol, behind that of its module if it has one.
func (im *Image) FullName(s Symbol) string {
	if s.Module == "" {
		return im.CName(s.Name)
	}
	return s.Module + moduleMark + im.CName(s.Name)
}

// SplitName takes the name of a symbol apart: that of its module, "" for none, and its own.
func SplitName(name string) (module, symbol string) {
	if m, s, ok := strings.Cut(name, moduleMark); ok {
		return m, s
	}
	return "", name
}
