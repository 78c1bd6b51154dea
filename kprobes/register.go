package kprobes

import "errors"

// RegisterKprobe registers the struct kprobe at p. Errors are of type Errno as far as the API
// knows them; others are failures of the simulated machine.
func (k *Kprobes) RegisterKprobe(c Caller, p uint64) error {
	return k.locked(c, func() error { return k.register(c, p) })
}

// locked runs f under kprobe_mutex and reports a sticky failure of guest memory.
func (k *Kprobes) locked(c Caller, f func() error) error {
	if err := k.smp.Lock(c, &k.mutex); err != nil {
		return err
	}
	err := f()
	k.smp.Unlock(c, &k.mutex)
	if broken := k.m.take(); broken != nil {
		return broken
	}
	return err
}

// kprobe.flags.
const (
	flagGone      = 1
	flagDisabled  = 2
	flagOptimized = 4
)

func (k *Kprobes) register(c Caller, p uint64) error {
	c.Charge(k.opt.Costs.Register)
	l := &k.l.p
	addr, err := k.resolve(p)
	if err != nil {
		return err
	}
	k.m.store(p, l.addr, addr)
	if k.siteOf(p) != nil || !k.probeable(addr) {
		return EINVAL
	}
	flags := uint64(0)
	if k.era.Disabled {
		flags = k.m.load(p, l.flags) & flagDisabled
	}
	k.m.store(p, l.flags, flags)
	k.m.store(p, l.nmissed, 0)
	k.listInit(p)
	k.note(c, EventProbe, "registered", p, addr)
	if s := k.site(addr); s != nil {
		return k.join(c, s, p)
	}
	s, err := k.prepare(c, p, addr)
	if err != nil {
		return err
	}
	k.add(s)
	if !k.disabled(p) && !k.allDisarmed {
		if err := k.arm(c, s); err != nil {
			return err
		}
	}
	return k.tryOptimize(c, s)
}

// resolve finds the probed address: a symbol or an address, never both, plus the offset.
func (k *Kprobes) resolve(p uint64) (uint64, error) {
	l := &k.l.p
	addr, name := k.m.load(p, l.addr), k.m.load(p, l.name)
	if (addr == 0) == (name == 0) {
		return 0, EINVAL
	}
	if name != 0 {
		fn, ok := k.im.Func(k.m.name(name))
		if !ok {
			return 0, EINVAL
		}
		addr = fn.Entry
	}
	return addr + k.m.load(p, l.offset), nil
}

// prepare checks the address and makes the out-of-line copy.
func (k *Kprobes) prepare(c Caller, p, addr uint64) (*site, error) {
	code, err := k.codeAt(c, addr)
	if err != nil {
		return nil, err
	}
	slot, ok := k.slots.take()
	if !ok {
		return nil, ENOMEM
	}
	k.note(c, EventSlot, "taken", p, slot)
	cp, err := k.arch.Prepare(code, addr, slot)
	if errors.Is(err, EILSEQ) && !k.era.Boundaries {
		cp, err = Copy{Code: code[:min(len(code), k.arch.SlotSize-1)]}, nil
	}
	if err != nil {
		k.slots.give(slot)
		return nil, err
	}
	k.m.write(slot, cp.Code)
	l := &k.l.p
	k.m.store(p, l.insn, slot)
	k.m.store(p, l.boostable, k.boostable(cp, addr))
	k.m.store(p, l.opcode, uint64(code[0]))
	return &site{addr: addr, head: p, slot: slot, orig: code[:min(len(code), k.arch.JumpSize)]}, nil
}

// codeAt reads the code from an address to the end of its function. In eras that look no closer,
// an address inside an instruction is as good, and so is one outside of all functions.
func (k *Kprobes) codeAt(c Caller, addr uint64) ([]byte, error) {
	fn, ok := k.text(addr)
	switch {
	case !k.era.Boundaries && !ok:
		return k.m.read(addr, k.arch.SlotSize), nil
	case !k.era.Boundaries:
		return fn.Code[addr-fn.Start:], nil
	case !ok:
		return nil, EILSEQ
	}
	c.Charge(k.opt.Costs.Analyze * int64(addr-fn.Start))
	if err := k.arch.Boundary(fn, addr); err != nil {
		return nil, err
	}
	return fn.Code[addr-fn.Start:], nil
}

// boostable is the first value of ainsn.boostable: 0 lets the guest write the jump back after the
// first single step, -1 forbids it.
func (k *Kprobes) boostable(cp Copy, addr uint64) uint64 {
	if k.opt.Boost && cp.Boostable && !k.faults(addr) {
		return 0
	}
	return 0xffffffff
}

func (k *Kprobes) flags(p uint64) uint64 { return k.m.load(p, k.l.p.flags) }

func (k *Kprobes) setFlag(p, flag uint64)   { k.m.store(p, k.l.p.flags, k.flags(p)|flag) }
func (k *Kprobes) clearFlag(p, flag uint64) { k.m.store(p, k.l.p.flags, k.flags(p)&^flag) }

func (k *Kprobes) disabled(p uint64) bool { return k.flags(p)&(flagGone|flagDisabled) != 0 }
