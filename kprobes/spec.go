package kprobes

import (
	"fmt"
	"math"
)

// Kind is what a Spec asks for.
type Kind uint8

// The kinds of probes.
const (
	Kprobe Kind = iota
	Kretprobe
)

// Spec describes a probe that somebody outside of the guest wants. Handlers are guest functions.
type Spec struct {
	Kind      Kind
	Symbol    string
	Offset    uint64
	Handler   string // pre handler of a kprobe, return handler of a kretprobe; "" for none
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
	Addr uint64 // of the struct kprobe; the struct kretprobe begins there too

	name uint64
}

// Add allocates the guest structure, fills it in and registers it. What the API refuses is an
// Errno in the error's chain.
func (k *Kprobes) Add(c Caller, s Spec) (*Probe, error) {
	p, err := k.build(s)
	if err != nil {
		return nil, err
	}
	register := k.RegisterKprobe
	if s.Kind == Kretprobe {
		register = k.RegisterKretprobe
	}
	if err := register(c, p.Addr); err != nil {
		k.release(p)
		return nil, fmt.Errorf("registering a probe at %s+%#x: %w", s.Symbol, s.Offset, err)
	}
	return p, nil
}

// build makes the structure of a probe and its name.
func (k *Kprobes) build(s Spec) (*Probe, error) {
	if s.Offset > math.MaxUint32 {
		return nil, fmt.Errorf("offset %#x of the probe at %s does not fit into an unsigned int: %w",
			s.Offset, s.Symbol, EINVAL)
	}
	size := k.l.p.size
	if s.Kind == Kretprobe {
		size = k.l.r.size
	}
	addr, err := k.m.alloc(size)
	if err != nil {
		return nil, fmt.Errorf("a structure for the probe at %s: %w", s.Symbol, err)
	}
	p := &Probe{Kind: s.Kind, Addr: addr}
	if p.name, err = k.m.alloc(uint64(len(s.Symbol)) + 1); err != nil {
		k.release(p)
		return nil, fmt.Errorf("the name of symbol %s: %w", s.Symbol, err)
	}
	k.m.write(p.name, []byte(s.Symbol))
	l := &k.l.p
	k.m.store(addr, l.name, p.name)
	k.m.store(addr, l.offset, s.Offset)
	if s.Disabled {
		k.m.store(addr, l.flags, flagDisabled)
	}
	if err := k.setHandlers(p, s); err != nil {
		k.release(p)
		return nil, err
	}
	return p, k.m.take()
}

// setHandlers stores the addresses of the handlers that the kind of probe has.
func (k *Kprobes) setHandlers(p *Probe, s Spec) error {
	l, r := &k.l.p, &k.l.r
	type handler struct {
		name string
		at   field
	}
	hs := []handler{{s.Handler, l.pre}, {s.Post, l.post}, {s.Fault, l.fault}}
	if s.Kind == Kretprobe {
		if s.Post != "" || s.Fault != "" {
			return fmt.Errorf("a return probe at %s has no post or fault handler", s.Symbol)
		}
		hs = []handler{{s.Handler, r.handler}, {s.Entry, r.entry}}
		k.m.store(p.Addr, r.maxactive, uint64(uint32(s.MaxActive)))
		k.m.store(p.Addr, r.dataSize, s.DataSize)
	} else if s.Entry != "" {
		return fmt.Errorf("a probe at %s has no entry handler, only return probes have", s.Symbol)
	}
	for _, h := range hs {
		if h.name == "" {
			continue
		}
		sym, ok := k.im.Symbol(h.name)
		if !ok || !sym.Func {
			return fmt.Errorf("handler %s: image %s has no such function", h.name, k.im.Name)
		}
		k.m.store(p.Addr, h.at, sym.Addr)
	}
	return nil
}

// Remove unregisters a probe that Add has made, waits for the grace period and frees the structure.
func (k *Kprobes) Remove(c Caller, p *Probe) error {
	unregister := k.UnregisterKprobes
	if p.Kind == Kretprobe {
		unregister = k.UnregisterKretprobes
	}
	if err := unregister(c, p.Addr); err != nil {
		return err
	}
	k.release(p)
	return k.m.take()
}

func (k *Kprobes) release(p *Probe) {
	k.m.free(p.Addr)
	if p.name != 0 {
		k.m.free(p.name)
	}
}

// Enable and Disable switch a probe on and off.
func (k *Kprobes) Enable(c Caller, p *Probe) error { return k.EnableKprobe(c, p.Addr) }

// Disable is the counterpart of Enable.
func (k *Kprobes) Disable(c Caller, p *Probe) error { return k.DisableKprobe(c, p.Addr) }
