package kprobes

import (
	"errors"
	"fmt"

	"kprobesim/image"
	"kprobesim/sim"
)

// WatchType says what a watchpoint waits for. The numbers come from the guest's interface.
type WatchType uint8

// The types of watchpoints. The number 2 is that of ports, which no machine here has.
const (
	WatchExecute WatchType = 0 // the instruction at an address
	WatchWrite   WatchType = 1 // stores
	WatchAccess  WatchType = 3 // loads and stores
)

// watchWords are the names of the types, by their numbers.
func watchWords() []string { return []string{"execute", "write", "port", "access"} }

// String is the type's word.
func (w WatchType) String() string { return word(watchWords(), uint8(w), "type of watchpoint") }

// ParseWatchType reads a type's word. The error names the words that there are.
func ParseWatchType(s string) (WatchType, error) {
	i, err := parse(watchWords(), s, "type of watchpoint")
	if WatchType(i) != WatchExecute && WatchType(i) != WatchWrite && WatchType(i) != WatchAccess {
		err = fmt.Errorf("watchpoints of type %s: machines have no ports; use execute, write or access", s)
	}
	return WatchType(i), err
}

// Watch is a watchpoint that somebody outside of the guest wants: Length bytes from an offset in a variable or
// function, and a guest function to be called.
type Watch struct {
	Symbol  string
	Offset  uint64
	Length  uint8
	Type    WatchType
	Handler string
}

// EventWatch is the kind of events that say what becomes of a watchpoint: registered or unregistered. ID is the
// number of its register, Arg the address of one that is registered.
const EventWatch sim.EventKind = "watch"

// AddWatch has the guest register a watchpoint on all of its CPUs, and returns the number of the debug register. That
// none is free, which the guest tells by -1, is EBUSY; what it refuses otherwise is another Errno. Registration is
// guest code, since each CPU sets its own registers.
func (k *Kprobes) AddWatch(c Caller, w Watch) (nr int, err error) {
	at, err := k.watched(w)
	if err != nil {
		return 0, err
	}
	handler, ok := k.im.Func(w.Handler)
	if !ok {
		return 0, fmt.Errorf("handler %s of a watchpoint: image %s has no such function", w.Handler, k.im.Name)
	}
	v, err := c.InvokeSym("register_kwatch", at, uint64(w.Length), uint64(w.Type), handler.Pointer)
	if err != nil {
		return 0, err
	}
	switch got := int32(v); {
	case got == -1:
		return 0, fmt.Errorf("watching %s+%#x: no debug register is free: %w", w.Symbol, w.Offset, EBUSY)
	case Errno(-got) == EINVAL:
		return 0, fmt.Errorf("watching %s+%#x, %d bytes, type %s: no debug register of kernel %s can do that (%w)",
			w.Symbol, w.Offset, w.Length, w.Type, k.im.Name, EINVAL)
	case got < 0:
		return 0, fmt.Errorf("watching %d bytes at %s+%#x, type %s: %w", w.Length, w.Symbol, w.Offset, w.Type, Errno(-got))
	default:
		if k.opt.Mutant == MutantWatchSetHere {
			if err := k.watchHereAlone(c, uint64(got)); err != nil {
				return 0, err
			}
		}
		k.note(c, EventWatch, "registered", uint64(got), at)
		return int(got), nil
	}
}

// watchHereAlone registers the watchpoint of a register anew, for this CPU alone.
func (k *Kprobes) watchHereAlone(c Caller, nr uint64) error {
	at, handler, err := k.watchEntry(nr)
	if err != nil {
		return err
	}
	wanted := k.m.Load(at, handler)
	if _, err := c.InvokeSym("unregister_kwatch", nr); err != nil {
		return err
	}
	const global = 1 // DR_ALLOC_GLOBAL of linux/kwatch.h
	if _, err := c.InvokeSym("dr_alloc", nr, global); err != nil {
		return err
	}
	k.m.Store(at, handler, wanted)
	_, err = c.InvokeSym("set_here", nr)
	return errors.Join(err, k.m.take())
}

// clearHereAlone unregisters it for this CPU alone.
func (k *Kprobes) clearHereAlone(c Caller, nr uint64) error {
	at, handler, err := k.watchEntry(nr)
	if err != nil {
		return err
	}
	k.m.Store(at, handler, 0)
	if _, err := c.InvokeSym("set_here", nr); err != nil {
		return err
	}
	_, err = c.InvokeSym("dr_free", nr)
	return errors.Join(err, k.m.take())
}

// watchEntry is where the list of a guest that has registered a watchpoint has a register, and the handler in it.
func (k *Kprobes) watchEntry(nr uint64) (at uint64, handler image.Field, err error) {
	list, _ := k.im.Symbol("kwatch_list")
	size, err := k.im.Layout("kwatch", image.Parts{"handler": &handler})
	return list.Addr + nr*size, handler, err
}

// watched is the address of what is to be watched.
func (k *Kprobes) watched(w Watch) (uint64, error) {
	if w.Type == WatchExecute {
		if f, ok := k.im.Func(w.Symbol); ok {
			return f.Entry + w.Offset, nil
		}
	}
	s, ok := k.im.Symbol(w.Symbol)
	if !ok {
		return 0, fmt.Errorf("watching %s: image %s has no such symbol: %w", w.Symbol, k.im.Name, ENOENT)
	}
	return s.Addr + w.Offset, nil
}

// RemoveWatch has the guest unregister the watchpoint of a debug register. When it returns, no handler runs.
func (k *Kprobes) RemoveWatch(c Caller, nr int) error {
	var err error
	if k.opt.Mutant == MutantWatchClearHere {
		err = k.clearHereAlone(c, uint64(nr))
	} else {
		_, err = c.InvokeSym("unregister_kwatch", uint64(nr))
	}
	if err == nil {
		k.note(c, EventWatch, "unregistered", uint64(nr), 0)
	}
	return err
}
