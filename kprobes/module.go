package kprobes

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"kprobesim/image"
)

// module is a range of guest text that can vanish while probes stand in it, and come back.
// It is that of a module that was loaded, or text which the image's linker script sets apart to play the part of a
// module's.
type module struct {
	name string
	span Span
	code []byte // as it was loaded
	gone bool
	// leaving says that its exit function runs.
	leaving bool
}

// moduleName names the text between the image's symbols for it.
const moduleName = "work_module"

// findModules finds the text of the image that can vanish.
func (k *Kprobes) findModules() {
	if span := k.between("__module_text_start", "__module_text_end"); span.Start < span.End {
		code := k.m.read(span.Start, int(span.End-span.Start))
		k.modules = append(k.modules, &module{name: moduleName, span: span, code: code})
	}
}

// moduleAt returns the module that an address belongs to, nil if none.
func (k *Kprobes) moduleAt(addr uint64) *module {
	for _, m := range k.modules {
		if m.span.Contains(addr) {
			return m
		}
	}
	return nil
}

func (k *Kprobes) module(name string, gone bool) (*module, error) {
	for _, m := range k.modules {
		if m.name == name && m.gone == gone {
			return m, nil
		}
	}
	if gone {
		return nil, fmt.Errorf("no module %q that has been unloaded: %w", name, ENOENT)
	}
	return nil, fmt.Errorf("no module %q is loaded: %w", name, ENOENT)
}

// Adopt stores the text of a module that was loaded and lets it be executed and probed. Text that vanished earlier from
// the same place is forgotten.
func (k *Kprobes) Adopt(c Caller, name string, start uint64, code []byte) error {
	return k.alone(c, func() error {
		span := Span{start, start + uint64(len(code))}
		k.modules = slices.DeleteFunc(k.modules, func(m *module) bool {
			return m.gone && m.span.Start < span.End && span.Start < m.span.End
		})
		k.modules = append(k.modules, &module{name: name, span: span, code: code})
		k.writeCode(c, start, code)
		return nil
	})
}

// RegisteredIn returns the states of the probes that are registered and whose structures or handlers lie in a range of
// guest memory, in the order of the probed addresses. A module that leaves must have none: it may have allocated the
// structure of a probe, but not its handlers. Handlers do not count of probes in the range itself, which vanish with it.
func (k *Kprobes) RegisteredIn(span Span) (out []State) {
	for _, s := range k.sites {
		probes := []uint64{s.head}
		if s.aggr {
			probes = k.children(s.head)
		}
		for _, p := range probes {
			if span.Contains(p) || !span.Contains(s.addr) && k.handledIn(p, span) {
				out = append(out, k.state(p))
			}
		}
	}
	return out
}

// handledIn reports whether a handler of a probe lies in a range of guest memory.
func (k *Kprobes) handledIn(p uint64, span Span) bool {
	l := &k.l.p
	handlers := []image.Field{l.pre, l.post, l.fault}
	if k.m.Load(p, l.pre) == k.sym.returnPre {
		handlers = []image.Field{k.l.r.handler, k.l.r.entry}
	}
	return slices.ContainsFunc(handlers, func(f image.Field) bool {
		return f.Size > 0 && span.Contains(k.m.Load(p, f))
	})
}

// Leave says that a module is about to go. Kernels since 2.6.33, or some years longer, put no probe into it any more; this is
// from memory.
func (k *Kprobes) Leave(name string) {
	for _, m := range k.modules {
		m.leaving = m.leaving || m.name == name && k.era.disabled
	}
}

// Unload lets the text of a module vanish: probes in it are gone from then on, without their text
// being touched. Nobody may be executing the module.
// The grace periods come before slots are free, as a CPU may be in a slot and a task in a detour
// buffer. The text is then full of breakpoints that belong to nobody, so that a guest which still
// executes it dies and is noticed.
func (k *Kprobes) Unload(c Caller, name string) error {
	return k.alone(c, func() error {
		m, err := k.module(name, false)
		if err != nil {
			return err
		}
		m.gone = true
		dead := k.kill(c, m.span)
		if err := errors.Join(k.grace(c), k.quiesceSites(c, dead)); err != nil {
			return err
		}
		for _, s := range dead {
			k.giveSlot(c, s)
			k.giveDetour(c, s)
		}
		poison := bytes.Repeat(k.arch.Breakpoint, len(m.code)/len(k.arch.Breakpoint))
		k.writeCode(c, m.span.Start, poison)
		return k.hurryFreeing(c)
	})
}

// Load brings an unloaded module back, to the same addresses. Probes that are gone stay so.
func (k *Kprobes) Load(c Caller, name string) error {
	return k.alone(c, func() error {
		m, err := k.module(name, true)
		if err != nil {
			return err
		}
		m.gone = false
		k.writeCode(c, m.span.Start, m.code)
		return nil
	})
}

// kill marks the probes in a range of text as gone and takes them from the optimizer. Their slots
// and detour buffers may be freed after a grace period.
// The kernel does so from the notifier of modules, when one is going.
func (k *Kprobes) kill(c Caller, span Span) (dead []*site) {
	for _, s := range append([]*site(nil), k.sites...) {
		if !span.Contains(s.addr) || k.flags(s.head)&flagGone != 0 {
			continue
		}
		k.killSite(c, s)
		dead = append(dead, s)
	}
	return dead
}

// killSite stores nothing into the text, which vanishes with its module. The aggregate loses its
// break and post handlers, because no child of it runs again.
func (k *Kprobes) killSite(c Caller, s *site) {
	k.optimizing, k.unoptimizing = remove(k.optimizing, s), remove(k.unoptimizing, s)
	s.queue, s.text = queueNone, textClear
	k.clearFlag(s.head, flagOptimized)
	k.setFlag(s.head, flagGone)
	if s.aggr {
		k.m.Store(s.head, k.l.p.post, 0)
		k.m.Store(s.head, k.l.p.brk, 0)
		for _, p := range k.children(s.head) {
			k.setFlag(p, flagGone)
		}
	}
	k.noteSite(c, s, "gone")
	if s.aggr && len(k.children(s.head)) == 0 { // it only waited for its jump to be undone
		k.drop(s)
		k.freeing = append(k.freeing, s)
	}
}

// revive prepares an address anew whose text has vanished and come back: the probes there stay
// gone, a new one may join them.
func (k *Kprobes) revive(c Caller, s *site) error {
	if !s.aggr {
		if err := k.aggregate(s); err != nil {
			return err
		}
	}
	fresh, err := k.prepareSite(c, s.head, s.addr)
	if err != nil {
		return err
	}
	s.slot, s.orig, s.runs = fresh.slot, fresh.orig, fresh.runs
	k.m.Store(s.head, k.l.p.flags, k.flags(s.head)&^flagGone|flagDisabled)
	k.makeDetour(c, s)
	return nil
}
