package kprobes

import (
	"fmt"
	"math"
	"slices"

	"kprobesim/image"
)

// Spec describes a probe that somebody outside of the guest wants. Handlers are guest functions.
// Experiments, scenarios of races and tests register by it. Guest code fills in its own
// structures.
type Spec struct {
	Kind      Kind
	Symbol    string
	Addr      uint64 // in the place of a symbol
	Offset    uint64
	Handler   string // pre, return handler or jprobe's function, by kind; "" for none
	Post      string // post handler, kprobes only
	Fault     string // fault handler, kprobes only
	Entry     string // entry handler, kretprobes only
	MaxActive int32  // instances of a kretprobe; 0 for the kernel's default
	DataSize  uint64 // user bytes of an instance
	Disabled  bool   // register without arming
}

// Probe is a registered probe that Add has made.
type Probe struct {
	Kind Kind
	Addr uint64 // of the struct kprobe; the struct kretprobe or jprobe begins there too

	name uint64
}

// Add allocates the guest structure, fills it in and registers it. What the API refuses is an
// Errno in the error's chain.
func (k *Kprobes) Add(c Caller, s Spec) (*Probe, error) {
	p, err := k.build(s)
	if err != nil {
		return nil, err
	}
	if err := k.Register(c, s.Kind, p.Addr); err != nil {
		k.release(p)
		return nil, fmt.Errorf("registering a probe at %s+%#x: %w%s", s.Symbol, s.Offset, err, k.because(s))
	}
	return p, nil
}

// because names the rule that keeps every probe away from a place, "" where none does.
func (k *Kprobes) because(s Spec) string {
	at := s.Addr
	if fn, ok := k.im.Func(s.Symbol); ok {
		at = fn.Entry
	}
	v, err := k.Judge(at + s.Offset)
	if err != nil || v.Denied == nil {
		return ""
	}
	return fmt.Sprintf(": %s (rule %s)", v.Denied.Text, v.Denied.Rule)
}

// build makes the structure of a probe and its name.
// The members are set as a module would set them before it registers: nothing of the API has run
// yet.
func (k *Kprobes) build(s Spec) (*Probe, error) {
	if s.Offset > math.MaxUint32 {
		return nil, fmt.Errorf("offset %#x of the probe at %s does not fit into an unsigned int: %w",
			s.Offset, s.Symbol, EINVAL)
	}
	addr, err := k.m.alloc(k.kind(s.Kind).size)
	if err != nil {
		return nil, fmt.Errorf("a structure for the probe at %s: %w", s.Symbol, err)
	}
	p := &Probe{Kind: s.Kind, Addr: addr}
	if err := k.setPlace(p, s); err != nil {
		k.release(p)
		return nil, err
	}
	l := &k.l.p
	k.m.Store(addr, l.offset, s.Offset)
	if s.Disabled {
		k.m.Store(addr, l.flags, flagDisabled)
	}
	if err := k.setHandlers(p, s); err != nil {
		k.release(p)
		return nil, err
	}
	return p, k.m.take()
}

// setPlace stores the name of the symbol, or the address in its place.
func (k *Kprobes) setPlace(p *Probe, s Spec) (err error) {
	if s.Symbol == "" && s.Addr != 0 {
		k.m.Store(p.Addr, k.l.p.addr, s.Addr)
		return nil
	}
	if p.name, err = k.m.alloc(uint64(len(s.Symbol)) + 1); err != nil {
		return fmt.Errorf("the name of symbol %s: %w", s.Symbol, err)
	}
	k.m.write(p.name, []byte(s.Symbol))
	k.m.Store(p.Addr, k.l.p.name, p.name)
	return nil
}

// handler is a guest function and the field that is to have its address.
type handler struct {
	name string
	at   image.Field
}

// Check holds what a probe is to have against its kind and against the interface of a year's kernels. The
// structures of all eras have all members, so a kernel would pass over what it does not know in
// silence. A year that is not known is no mistake here: the image of such a kernel is refused.
func (s Spec) Check(year int) error {
	i := slices.IndexFunc(apis(), func(a api) bool { return a.year == year })
	switch {
	case s.Kind != Kprobe && (s.Post != "" || s.Fault != ""):
		return fmt.Errorf("only kprobes have a post or fault handler, the probe at %s is none", s.Symbol)
	case s.Kind != Kretprobe && s.Entry != "":
		return fmt.Errorf("a probe at %s has no entry handler, only return probes have", s.Symbol)
	case i < 0:
		return nil
	case (s.Entry != "" || s.DataSize > 0) && !apis()[i].entry:
		return fmt.Errorf("return probes of %d have no entry handler and no data", year)
	case s.Fault != "" && apis()[i].faultless:
		return fmt.Errorf("probes of %d have no fault handler: it is gone from the interface", year)
	case s.Disabled && !apis()[i].disabled:
		return fmt.Errorf("probes of %d cannot be registered disabled: %w", year, ENOSYS)
	}
	return nil
}

// setHandlers stores the addresses of the handlers that the kind of probe has.
func (k *Kprobes) setHandlers(p *Probe, s Spec) error {
	if err := s.Check(k.era.Year); err != nil {
		return err
	}
	if s.Kind == Kretprobe {
		k.m.Store(p.Addr, k.l.r.maxactive, uint64(uint32(s.MaxActive)))
		k.m.Store(p.Addr, k.l.r.dataSize, s.DataSize)
	}
	return k.storeHandlers(p.Addr, k.handlers(s))
}

// storeHandlers stores the addresses of handlers into the structure at an address.
func (k *Kprobes) storeHandlers(at uint64, handlers []handler) error {
	for _, h := range handlers {
		if h.name == "" {
			continue
		}
		fn, ok := k.im.Func(h.name)
		if !ok || !fn.Typed {
			return fmt.Errorf("handler %s: image %s has no such function", h.name, k.im.Name)
		}
		k.m.Store(at, h.at, fn.Pointer)
	}
	return nil
}

func (k *Kprobes) handlers(s Spec) []handler {
	switch s.Kind {
	case Kretprobe:
		return []handler{{s.Handler, k.l.r.handler}, {s.Entry, k.l.r.entry}}
	case Jprobe:
		return []handler{{s.Handler, k.l.j.entry}}
	}
	l := &k.l.p
	return []handler{{s.Handler, l.pre}, {s.Post, l.post}, {s.Fault, l.fault}}
}

// Remove unregisters a probe that Add has made, waits for the grace period and frees the structure.
func (k *Kprobes) Remove(c Caller, p *Probe) error {
	if err := k.Unregister(c, p.Kind, p.Addr); err != nil {
		return err
	}
	k.release(p)
	return k.m.take()
}

// A caller has waited for the grace period before, or the probe has never been registered.
func (k *Kprobes) release(p *Probe) {
	k.m.free(p.Addr)
	if p.name != 0 {
		k.m.free(p.name)
	}
}
