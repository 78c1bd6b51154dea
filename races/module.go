package races

import (
	"errors"
	"fmt"
	"slices"

	"kprobesim/image"
	"kprobesim/kprobes"
)

// A module of handlers comes and goes as the loader of modules has it: memory near the kernel's text, names, text
// that is handed to Kprobes, an init function that registers probes and an exit function that unregisters them. Its
// functions are copies of the guest's handlers, which lie anywhere, so no compiler is wanted. What its init and exit
// functions do is a line of the script. The targets are the kernel's own, so callers go on while the module leaves.
// Its memory is kept, so that an execution of what lies there afterwards can be named.
type handlerModule struct {
	span   span
	memory span   // with the descriptors of functions
	text   []byte // its functions, as they are loaded
	loaded bool
}

const (
	handlersName  = "handlers" // of the module
	handlersText  = ".text"
	handlersTable = ".opd" // descriptors of functions, where pointers lead to these
	functionAlign = 16
)

// handlerName is the guest's handler that only probe i calls.
// Without handlers of their own, a call that one probe lost could be made up for by another.
func (s *Scenario) handlerName(i int) string {
	name := fmt.Sprintf("race_handler_%d", i)
	if s.Probes[i].Kind == kprobes.Kretprobe {
		name = fmt.Sprintf("race_ret_%d", i)
	}
	if s.Probes[i].Module {
		return handlersName + ":" + name
	}
	return name
}

// findHandlers makes the module and lets look-ups know its names. Scenarios without such probes have none.
func (t *trial) findHandlers() error {
	m := image.Module{Name: handlersName}
	var toc uint64
	for i, p := range t.l.s.Probes {
		if !p.Module {
			continue
		}
		_, name := image.SplitName(t.l.s.handlerName(i))
		f, _ := t.l.im.Func(name)
		code, err := t.m.ReadBytes(f.Entry, int(f.Size))
		if err != nil {
			return err
		}
		toc = f.TOC
		m.Symbols = append(m.Symbols, image.NewSymbol(name, uint64(len(m.Bytes)), f.Size, true, true, handlersText))
		m.Bytes = append(m.Bytes, code...)
		m.Bytes = append(m.Bytes, make([]byte, -len(m.Bytes)&(functionAlign-1))...)
	}
	if m.Symbols == nil {
		return nil
	}
	return t.place(&m, toc)
}

// place gives the module its memory. Where pointers to functions lead to descriptors, they lie behind the text.
func (t *trial) place(m *image.Module, toc uint64) (err error) {
	const descriptor = 24 // entry, table of contents, and a word for other languages
	size := uint64(len(m.Bytes))
	if m.Base, err = t.m.AllocNear(size + descriptor*uint64(len(m.Symbols))); err != nil {
		return err
	}
	t.module = handlerModule{span: span{m.Base, m.Base + size}, text: slices.Clone(m.Bytes)}
	m.Sections = []image.ModuleSection{{Name: handlersText, Addr: m.Base, Size: size, Exec: true}}
	for i := range m.Symbols {
		s := &m.Symbols[i]
		if s.Addr += m.Base; !t.l.im.Descriptors() {
			continue
		}
		table := make([]byte, descriptor)
		t.l.im.Order.PutUint64(table, s.Addr)
		t.l.im.Order.PutUint64(table[8:], toc)
		s.Addr, s.Section = m.Base+uint64(len(m.Bytes)), handlersTable
		m.Bytes = append(m.Bytes, table...)
	}
	t.module.memory = span{m.Base, m.Base + uint64(len(m.Bytes))}
	if err := t.m.WriteBytes(m.Base, m.Bytes); err != nil {
		return err
	}
	return t.m.Image().AddModule(*m)
}

// insmod loads the module of handlers, whose init function registers probes.
func (t *trial) insmod(a *Action) error {
	if t.module.loaded {
		return fmt.Errorf("module %s is loaded already: %w", handlersName, kprobes.EEXIST)
	}
	if err := t.k.Adopt(t.call, handlersName, t.module.span[0], t.module.text); err != nil {
		return err
	}
	t.module.loaded = true
	t.checker.replaced(t.module.span, false)
	return t.each(a, t.register)
}

// rmmod runs the module's exit function, which unregisters what is left of its probes, looks whether it has left one behind, and lets
// its text vanish. Where the exit function leaves some, the kernel is to refuse. One mutant has the text vanish first, another one
// forgets the exit function and to look.
func (t *trial) rmmod(a *Action) error {
	if !t.module.loaded {
		return fmt.Errorf("module %s is not loaded: %w", handlersName, kprobes.ENOENT)
	}
	exit := func() error { return t.exit(a.Probes) }
	steps := []func() error{exit, t.leftBehind, t.vanish}
	switch t.l.mutant {
	case MutantModuleEarly:
		steps = []func() error{t.vanish, exit}
	case MutantLeftBehind:
		steps = []func() error{t.vanish}
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return refused(a, err)
		}
	}
	return refused(a, nil)
}

// refused takes the error of unloading that an action wants.
func refused(a *Action, err error) error {
	switch {
	case len(a.Probes) == 0 || err != nil && !errors.Is(err, kprobes.EBUSY):
		return err
	case err == nil:
		return fmt.Errorf("module %s is gone although it has left probes behind: %w", handlersName, kprobes.EINVAL)
	}
	return nil
}

// exit unregisters the module's probes but for some, the last one first.
func (t *trial) exit(left []int) error {
	for i, p := range slices.Backward(t.probes) {
		if !t.l.s.Probes[i].Module || p == nil || slices.Contains(left, i) {
			continue
		}
		if err := t.unregister(&Action{Probes: []int{i}}); err != nil {
			return err
		}
	}
	return nil
}

// leftBehind refuses to let a module go whose handlers probes still have.
func (t *trial) leftBehind() error {
	for _, p := range t.k.RegisteredIn(kprobes.Span{Start: t.module.memory[0], End: t.module.memory[1]}) {
		return fmt.Errorf("the probe at %s+%#x has its handler in module %s: %w", p.Symbol, p.Offset, handlersName, kprobes.EBUSY)
	}
	return nil
}

// vanish lets the text go.
func (t *trial) vanish() error {
	t.checker.replaced(t.module.span, true)
	if err := t.k.Unload(t.call, handlersName); err != nil {
		return err
	}
	t.module.loaded = false
	t.checker.replaced(t.module.span, true)
	return nil
}
