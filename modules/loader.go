package modules

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kprobesim/image"
	"kprobesim/image/object"
	"kprobesim/kprobes"
	"kprobesim/sim"
	"kprobesim/smp"
)

// Loader loads the modules of one machine.
type Loader struct {
	m       *sim.Machine
	k       *smp.Kernel
	probes  *kprobes.Kprobes
	exports map[string]uint64 // what the kernel exports
	this    thisLayout
	loaded  []*Module
}

// Module is a module that is loaded.
type Module struct {
	Name    string
	m       *object.Module
	exports map[string]uint64
	uses    []*Module
	this    uint64   // address of its struct module
	memory  []uint64 // beside its own: strings of parameters
}

// Names of what the kernel calls in a module, and of the tasks that it does so in.
const (
	initFunction = "init_module"
	exitFunction = "cleanup_module"
	loadTask     = "insmod"
	unloadTask   = "rmmod"
	thisModule   = "__this_module"
	initPart     = " (init)" // behind the name of a module: the text that vanishes after its init function
)

// New returns a loader for a machine with its kernel services and Kprobes. It fails for an image without a table of exports or
// with a damaged one, and for one whose debug information has no struct module.
func New(m *sim.Machine, k *smp.Kernel, probes *kprobes.Kprobes) (*Loader, error) {
	l := &Loader{m: m, k: k, probes: probes}
	var err error
	if l.this, err = newThisLayout(m.Image()); err != nil {
		return nil, err
	}
	return l, l.readExports()
}

// Load links a module into the machine, writes its parameters ("name=value" words), and runs its init function. When that
// returns another number than 0, the module is taken away and the error names the number.
func (l *Loader) Load(c *sim.Call, f *File, parameters string) (*Module, error) {
	if _, ok := l.find(f.Name); ok {
		return nil, fmt.Errorf("module %s is loaded already", f.Name)
	}
	mod, err := l.link(f)
	if err != nil {
		return nil, fmt.Errorf("module %s: %w", f.Name, err)
	}
	if err := l.setParameters(mod, parameters); err != nil {
		return nil, errors.Join(fmt.Errorf("module %s: %w", f.Name, err), l.free(mod))
	}
	if err := l.m.Image().AddModule(mod.names(false)); err != nil {
		return nil, errors.Join(err, l.free(mod))
	}
	l.loaded = append(l.loaded, mod)
	if err := l.task(c, loadTask, func(c smp.Caller) error { return l.start(c, mod) }); err != nil {
		return nil, err
	}
	return mod, nil
}

// link gives the module its memory and relocates it there.
func (l *Loader) link(f *File) (*Module, error) {
	im := l.m.Image()
	if f.Object.Machine != im.Machine || f.Object.Bits != im.Bits {
		return nil, fmt.Errorf("is for %v, the kernel %s for %v: compile it for the kernel's instruction set",
			f.Object.Machine, im.Name, im.Machine)
	}
	mod := &Module{Name: f.Name}
	var err error
	if mod.this, err = l.newThis(f.Name); err != nil {
		return nil, err
	}
	base, err := l.m.AllocNear(f.Object.Size())
	if err != nil {
		return nil, errors.Join(err, l.m.FreeNear(mod.this))
	}
	mod.m, err = f.Object.Link(base, func(name string) (object.Symbol, bool) { return l.resolve(mod, name) })
	if err == nil {
		mod.exports, err = exportsOf(mod.m)
	}
	if err == nil {
		err = l.m.WriteBytes(base, mod.m.Bytes)
	}
	if err != nil {
		return nil, errors.Join(err, l.m.FreeNear(base), l.m.FreeNear(mod.this))
	}
	return mod, nil
}

// start makes the text executable and initializes the module. The init part vanishes afterwards.
func (l *Loader) start(c smp.Caller, mod *Module) error {
	if err := l.adopt(c, mod.Name, mod.m.Text, mod); err != nil {
		return err
	}
	if err := l.adopt(c, mod.Name+initPart, mod.m.InitText, mod); err != nil {
		return err
	}
	if err := l.readTables(mod); err != nil {
		return err
	}
	if err := l.setState(mod, stateComing); err != nil {
		return err
	}
	result := int64(0)
	if mod.has(initFunction) {
		r, err := c.InvokeSym(mod.Name + ":" + initFunction)
		if err != nil {
			return err
		}
		result = int64(int32(r))
	}
	if result == 0 {
		return errors.Join(l.setState(mod, stateLive), l.dropInit(c, mod))
	}
	failed := l.refused(mod, result)
	if left := l.leftBehind(mod); left != nil {
		return errors.Join(failed, left)
	}
	return errors.Join(failed, l.dropInit(c, mod), l.remove(c, mod))
}

// refused is the error of a module whose init function has returned something else than 0.
func (l *Loader) refused(mod *Module, result int64) error {
	switch {
	case result > 0:
		return fmt.Errorf("module %s: its init function returned %d, which is neither 0 nor an error number", mod.Name, result)
	case l.probes.Absent() && -result == int64(kprobes.ENOSYS):
		return fmt.Errorf("module %s: its init function returned -ENOSYS, as every registration of a probe does in this kernel, "+
			"which is built without Kprobes: take a kernel with them; it is not loaded", mod.Name)
	}
	return fmt.Errorf("module %s: its init function returned %s: it is not loaded", mod.Name, errnoName(-result))
}

// adopt hands a range of text to Kprobes, which stores it for execution.
func (l *Loader) adopt(c smp.Caller, name string, text object.Span, mod *Module) error {
	if text.Start == text.End {
		return nil
	}
	return l.probes.Adopt(c, name, text.Start, mod.m.Bytes[text.Start-mod.m.Base:text.End-mod.m.Base])
}

// readTables hands the tables that a module has for Kprobes to it: functions that take no probe (NOKPROBE_SYMBOL), and the
// nops by which functions begin.
func (l *Loader) readTables(mod *Module) error {
	readers := map[string]func(kprobes.Span) error{
		"_kprobe_blacklist": l.probes.ForbidInModule,
		"__mcount_loc":      l.probes.TraceInModule,
	}
	for _, s := range mod.m.Sections {
		if read := readers[s.Name]; read != nil {
			if err := read(kprobes.Span{Start: s.Addr, End: s.Addr + s.Size}); err != nil {
				return fmt.Errorf("module %s: section %s: %w", mod.Name, s.Name, err)
			}
		}
	}
	return nil
}

// dropInit lets the init part vanish. Its memory goes with the rest of the module.
func (l *Loader) dropInit(c smp.Caller, mod *Module) error {
	im := l.m.Image()
	im.RemoveModule(mod.Name)
	if err := im.AddModule(mod.names(true)); err != nil {
		return err
	}
	if mod.m.InitText.Start == mod.m.InitText.End {
		return nil
	}
	return l.probes.Unload(c, mod.Name+initPart)
}

// Unload runs the exit function of a module and takes it away. It fails with EBUSY while another module or a reference
// holds it, or when it has no exit function, and by name when a probe of the module is still registered afterwards.
func (l *Loader) Unload(c *sim.Call, name string) error {
	mod, ok := l.find(name)
	if !ok {
		return fmt.Errorf("no module %s is loaded: %w", name, kprobes.ENOENT)
	}
	if err := l.held(mod); err != nil {
		return err
	}
	l.probes.Leave(name)
	return l.task(c, unloadTask, func(c smp.Caller) error {
		if err := l.setState(mod, stateGoing); err != nil {
			return err
		}
		if mod.has(exitFunction) {
			if _, err := c.InvokeSym(mod.Name + ":" + exitFunction); err != nil {
				return err
			}
		}
		if err := errors.Join(l.leftBehind(mod), l.leftTimers(c, mod)); err != nil {
			return err
		}
		return l.remove(c, mod)
	})
}

// UnloadAll unloads every module, the last one first.
func (l *Loader) UnloadAll(c *sim.Call) error {
	for len(l.loaded) > 0 {
		if err := l.Unload(c, l.loaded[len(l.loaded)-1].Name); err != nil {
			return err
		}
	}
	return nil
}

// held says what keeps a module from being unloaded.
func (l *Loader) held(mod *Module) error {
	var users []string
	for _, o := range l.loaded {
		if slices.Contains(o.uses, mod) {
			users = append(users, o.Name)
		}
	}
	count, err := l.references(mod)
	switch {
	case err != nil:
		return err
	case users != nil:
		return busy(mod.Name, "modules use it: "+strings.Join(users, ", "))
	case count != 0:
		return busy(mod.Name, fmt.Sprintf("%d references are held", count))
	case mod.has(initFunction) && !mod.has(exitFunction):
		return busy(mod.Name, "it has an init function and no exit function")
	}
	return nil
}

// leftBehind names the probes of a module that it has not unregistered. Their handlers would be executed from memory that
// is somebody else's.
func (l *Loader) leftBehind(mod *Module) error {
	var errs []error
	for _, p := range l.Probes(mod) {
		errs = append(errs, fmt.Errorf("probe at %s+%#x registered by module %s is still registered: unregister it in the exit function",
			p.Symbol, p.Offset, mod.Name))
	}
	return errors.Join(errs...)
}

// leftTimers says that timers of a module are still started. Their callbacks would be executed from that memory, too.
func (l *Loader) leftTimers(c smp.Caller, mod *Module) error {
	n, err := c.InvokeSym("hrtimers_within", mod.m.Base, mod.m.Base+uint64(len(mod.m.Bytes)))
	if err != nil || n == 0 {
		return err
	}
	return fmt.Errorf("module %s has left timers started, %d of them: hrtimer_cancel each in the exit function", mod.Name, n)
}

// Probes returns the states of the probes that a module has registered.
func (l *Loader) Probes(mod *Module) []kprobes.State {
	return l.probes.RegisteredIn(kprobes.Span{Start: mod.m.Base, End: mod.m.Base + uint64(len(mod.m.Bytes))})
}

// remove takes the module's text and names away and gives its memory back.
func (l *Loader) remove(c smp.Caller, mod *Module) error {
	l.probes.ForgetModule(kprobes.Span{Start: mod.m.Base, End: mod.m.Base + uint64(len(mod.m.Bytes))})
	if mod.m.Text.Start != mod.m.Text.End {
		if err := l.probes.Unload(c, mod.Name); err != nil {
			return err
		}
	}
	l.m.Image().RemoveModule(mod.Name)
	l.loaded = slices.DeleteFunc(l.loaded, func(m *Module) bool { return m == mod })
	return l.free(mod)
}

// free gives back the memory of a module.
func (l *Loader) free(mod *Module) error {
	errs := []error{l.m.FreeNear(mod.m.Base), l.m.FreeNear(mod.this)}
	for _, at := range mod.memory {
		errs = append(errs, l.m.Free(at))
	}
	return errors.Join(errs...)
}

// task runs work in a task of its own, as the commands of the same names do, and waits for its end.
func (l *Loader) task(c *sim.Call, name string, work func(smp.Caller) error) error {
	var failed error
	t, err := l.k.Go(c, name, func(c smp.Caller) error {
		failed = work(c)
		return nil
	})
	if err != nil {
		return err
	}
	return errors.Join(l.k.Join(c, t), failed)
}

// find returns the loaded module of a name.
func (l *Loader) find(name string) (*Module, bool) {
	i := slices.IndexFunc(l.loaded, func(m *Module) bool { return m.Name == name })
	if i < 0 {
		return nil, false
	}
	return l.loaded[i], true
}

// has reports whether the module defines a function.
func (m *Module) has(function string) bool {
	_, ok := m.m.Symbol(function)
	return ok
}

// names returns the names of the module for look-ups of the machine, with the init part or without it.
func (m *Module) names(core bool) image.Module {
	out := image.Module{Name: m.Name, Base: m.m.Base, Bytes: m.m.Bytes}
	stays := func(addr uint64) bool { return !core || addr < m.m.Init.Start || addr >= m.m.Init.End }
	for _, s := range m.m.Sections {
		if stays(s.Addr) {
			out.Sections = append(out.Sections, image.ModuleSection{Name: s.Name, Addr: s.Addr, Size: s.Size, Exec: s.Exec})
		}
	}
	for _, s := range m.m.Symbols {
		if stays(m.m.Pointer(s.Addr).Entry) && stays(s.Addr) {
			out.Symbols = append(out.Symbols, image.NewSymbol(s.Name, s.Addr, s.Size, s.Func, s.Global, s.Section))
		}
	}
	return out
}

// Text returns where the module's code lies, the init part left out: first address and the one behind.
func (m *Module) Text() (start, end uint64) { return m.m.Text.Start, m.m.Text.End }
