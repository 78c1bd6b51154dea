package modules

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kprobesim/image"
	"kprobesim/image/object"
)

// exportSection has records of an address and a pointer to a name, in the kernel and in modules alike.
const exportSection = "__ksymtab"

// readExports reads what the kernel exports.
func (l *Loader) readExports() error {
	im := l.m.Image()
	at, size, ok := im.Section(exportSection)
	if !ok {
		return fmt.Errorf("image %s has no section %s of exported symbols: build it with the guest's build.sh", im.Name, exportSection)
	}
	l.exports = map[string]uint64{}
	word := uint64(im.Bits / 8)
	for end := at + size; at+2*word <= end; at += 2 * word {
		addr, err := l.m.Load(at, int(word))
		name, err2 := l.m.Load(at+word, int(word))
		if err := errors.Join(err, err2); err != nil {
			return fmt.Errorf("image %s: table of exported symbols: %w", im.Name, err)
		}
		text, err := l.m.ReadString(name)
		if err != nil {
			return fmt.Errorf("image %s: name of an exported symbol: %w", im.Name, err)
		}
		l.exports[text] = addr
	}
	return nil
}

// exportsOf reads what a module exports.
func exportsOf(m *object.Module) (map[string]uint64, error) {
	out := map[string]uint64{}
	word := m.Word
	for _, s := range m.Sections {
		if s.Name != exportSection {
			continue
		}
		size := m.WordBytes()
		for at := s.Addr; at+2*size <= s.Addr+s.Size; at += 2 * size {
			addr, _ := word(at)
			name, _ := word(at + size)
			text, ok := m.String(name)
			if !ok {
				return nil, fmt.Errorf("section %s+%#x: the name of an exported symbol is not in the module", s.Name, at-s.Addr)
			}
			out[text] = addr
		}
	}
	return out, nil
}

// resolve finds a name that a module does not define: its own struct module, an export of the kernel, or that of a module
// that is loaded, which it uses from then on. A name with a dot is that of a function's code.
func (l *Loader) resolve(mod *Module, name string) (object.Symbol, bool) {
	if name == thisModule {
		return object.Symbol{Value: mod.this, Entry: mod.this}, true
	}
	plain := name
	if l.m.Image().Descriptors() {
		plain = strings.TrimPrefix(name, ".")
	}
	s, ok := l.inKernel(plain)
	for i := 0; !ok && i < len(l.loaded); i++ {
		o := l.loaded[i]
		var value uint64
		if value, ok = o.exports[plain]; ok {
			s = o.m.Pointer(value)
			if !slices.Contains(mod.uses, o) {
				mod.uses = append(mod.uses, o)
			}
		}
	}
	if plain != name {
		s.Value = s.Entry
	}
	return s, ok
}

// inKernel finds a name that the kernel exports.
func (l *Loader) inKernel(name string) (object.Symbol, bool) {
	if _, ok := l.exports[name]; !ok {
		return object.Symbol{}, false
	}
	f, _ := l.m.Image().Func(name)
	return object.Symbol{Value: f.Pointer, Entry: f.Entry, TOC: f.TOC}, true
}

// thisLayout is where things are in the kernel's struct module.
type thisLayout struct {
	size              uint64
	name, refs, state image.Field
}

// Values of a module's state, as of the kernel's enum module_state.
const (
	stateLive = iota
	stateComing
	stateGoing
)

// newThisLayout finds the structure in the debug information of the kernel.
func newThisLayout(im *image.Image) (l thisLayout, err error) {
	l.size, err = im.Layout("module", image.Parts{"name": &l.name, "refcnt": &l.refs, "state": &l.state})
	return l, err
}

// newThis makes the struct module of a module, at an address that its code reaches.
func (l *Loader) newThis(name string) (uint64, error) {
	text := append([]byte(name), 0)
	if len(text) > l.this.name.Size {
		return 0, fmt.Errorf("its name has more than %d letters: rename the file", l.this.name.Size-1)
	}
	at, err := l.m.AllocNear(l.this.size)
	if err != nil {
		return 0, err
	}
	return at, l.m.WriteBytes(at+l.this.name.Offset, text)
}

// setState tells the guest what the module is about to do: the kernel gives no reference to one that goes.
func (l *Loader) setState(mod *Module, state uint64) error {
	return l.m.Store(mod.this+l.this.state.Offset, l.this.state.Size, state)
}

// references reads how often the module is held.
func (l *Loader) references(mod *Module) (int32, error) {
	n, err := l.m.Load(mod.this+l.this.refs.Offset, l.this.refs.Size)
	return int32(n), err
}
