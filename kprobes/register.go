package kprobes

import (
	"fmt"
	"slices"

	"kprobesim/image"
)

// RegisterKprobe registers the struct kprobe at p. Errors are of type Errno as far as the API
// knows them; others are failures of the simulated machine.
func (k *Kprobes) RegisterKprobe(c Caller, p uint64) error {
	return k.locked(c, func() error { return k.register(c, p) })
}

// locked runs a call of the API. A kernel without Kprobes has the calls, and none of them does anything.
func (k *Kprobes) locked(c Caller, f func() error) error {
	if k.absent {
		return ENOSYS
	}
	return k.alone(c, f)
}

// Absent reports whether the kernel is built without Kprobes. It loads modules all the same.
func (k *Kprobes) Absent() bool { return k.absent }

// alone runs f under kprobe_mutex and reports a sticky failure of guest memory.
// The mutex sleeps, so tasks alone can wait for it. The failure goes first, because the answer of f may rest on what
// could not be read.
func (k *Kprobes) alone(c Caller, f func() error) error {
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
// The bits are those of linux/kprobes.h in 2.6.34.
const (
	flagGone      = 1
	flagDisabled  = 2
	flagOptimized = 4
	flagFtrace    = 8
	flagEntry     = 16 // KPROBE_FLAG_ON_FUNC_ENTRY, from 5.18
)

// register does what kprobes of all kinds have in common, under kprobe_mutex. It clears what an
// earlier registration has left in the structure: callers may use one again. Of the flags, a caller
// sets only KPROBE_FLAG_DISABLED, from 2.6.30 on.
func (k *Kprobes) register(c Caller, p uint64) error {
	c.Charge(k.opt.Costs.Register)
	l := &k.l.p
	addr, err := k.resolve(p)
	if err != nil {
		return err
	}
	k.m.Store(p, l.addr, addr)
	if k.siteOf(p) != nil {
		return EINVAL
	}
	if denied := k.barred(addr); denied != nil {
		return denied.Errno
	}
	k.m.Store(p, l.flags, k.firstFlags(p, addr))
	k.m.Store(p, l.nmissed, 0)
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

// firstFlags are the flags of a probe that is being registered at an address.
func (k *Kprobes) firstFlags(p, addr uint64) (flags uint64) {
	if k.era.disabled {
		flags = k.flags(p) & flagDisabled
	}
	if k.entryAt(addr) == addr {
		flags |= flagFtrace
	}
	if k.era.located && k.startsFunction(addr) {
		flags |= flagEntry
	}
	return flags
}

// startsFunction tells whether a symbol begins at an address.
func (k *Kprobes) startsFunction(addr uint64) bool {
	_, off, ok := k.im.At(addr)
	return ok && off == 0
}

// resolve finds the probed address: a symbol or an address, never both, plus the offset.
// Both is EINVAL by Documentation/kprobes.txt, and neither by the code of 2.6.33.
func (k *Kprobes) resolve(p uint64) (uint64, error) {
	l := &k.l.p
	addr, name := k.m.Load(p, l.addr), k.m.Load(p, l.name)
	if (addr == 0) == (name == 0) {
		return 0, EINVAL
	}
	if name != 0 {
		fn, ok := k.im.Func(k.m.name(name))
		if !ok || k.vanished(fn.Entry) {
			return 0, k.era.missing
		}
		addr = fn.Entry
	}
	addr += k.m.Load(p, l.offset)
	if k.era.located && k.nowhere(addr) {
		return 0, k.era.missing
	}
	return addr, nil
}

// vanished tells whether an address is that of a module's text that is there no more.
func (k *Kprobes) vanished(addr uint64) bool {
	m := k.moduleAt(addr)
	return m != nil && m.gone
}

// nowhere tells whether neither the kernel nor a module has anything at an address. What is linked at 0 are per-CPU data,
// which lie elsewhere.
func (k *Kprobes) nowhere(addr uint64) bool {
	if m := k.moduleAt(addr); m != nil {
		return m.gone
	}
	if sym, _, ok := k.im.At(addr); ok && sym.Module != "" { // its data
		return false
	}
	return !k.sym.farText.Contains(addr) && !slices.ContainsFunc(k.im.Segments, func(s image.Segment) bool {
		return !s.User && s.VA != 0 && addr >= s.VA && addr-s.VA < s.MemSize
	})
}

// prepare checks the address and makes what a hit runs in the place of the instruction there.
// The slot is taken first, as the rules need its address: operands relative to the instruction are
// fixed for it.
func (k *Kprobes) prepare(c Caller, p, addr uint64) (*site, error) {
	if fn, ok := k.text(addr); ok && k.era.Boundaries {
		c.Charge(k.opt.Costs.Analyze * int64(addr-fn.Start))
	}
	code, denied := k.codeAt(addr)
	if denied != nil {
		return nil, denied.Errno
	}
	if k.entryAt(addr) == addr {
		return &site{addr: addr, head: p, orig: code[:k.reach()]}, nil
	}
	slot, ok := k.slots.take()
	if !ok {
		return nil, ENOMEM
	}
	cp, err := k.copyOf(code, addr, slot)
	if err == nil {
		err = k.storeMembers(p, cp.Members)
	}
	if err != nil || len(cp.Code) == 0 {
		k.slots.give(slot)
		slot = 0
	}
	if err != nil {
		return nil, err
	}
	if slot != 0 {
		k.note(c, EventSlot, "taken", p, slot)
		k.writeCode(c, slot, cp.Code)
	}
	return &site{addr: addr, head: p, slot: slot, orig: code[:min(len(code), k.reach())], runs: cp.Runs}, nil
}

// copyOf makes what a hit runs in the place of the instruction at the start of code.
func (k *Kprobes) copyOf(code []byte, addr, slot uint64) (Copy, error) {
	return k.arch.Prepare(Insn{
		Code: code, Addr: addr, Slot: slot, Boost: k.opt.Boost && !k.faults(addr), Blind: !k.era.Boundaries,
		Year: k.era.Year,
	})
}

// storeMembers fills in what the architecture keeps in a struct kprobe.
func (k *Kprobes) storeMembers(p uint64, values []Value) error {
	for _, v := range values {
		i := slices.Index(k.arch.Members, v.Member)
		if i < 0 {
			return fmt.Errorf("rules of %s prepare %s, which is none of their members", k.arch.Name, v.Member)
		}
		number := v.Number
		if v.Func != "" {
			fn, ok := k.im.Func(v.Func)
			if !ok || !fn.Typed {
				return fmt.Errorf("image %s has no function %s, by which %s runs the probed instruction",
					k.im.Name, v.Func, k.arch.Name)
			}
			number = fn.Pointer
		}
		k.m.Store(p, k.l.p.arch[i], number)
	}
	return nil
}

// writeCode stores code that nobody executes yet and makes it visible to fetching.
func (k *Kprobes) writeCode(c Caller, addr uint64, code []byte) {
	k.m.write(addr, code)
	if k.arch.Flush != "" {
		_, err := c.InvokeSym(k.arch.Flush, addr, addr+uint64(len(code)))
		k.m.Fail(err, "flushing code", addr)
	}
}

// reach is the most bytes of text that this kernel changes at a site.
func (k *Kprobes) reach() int {
	if k.jump == nil {
		return len(k.arch.Breakpoint)
	}
	return k.arch.Reach()
}

// codeAt reads the code from an address to the end of its function. In eras that look no closer,
// an address inside an instruction is as good, and so is one outside of all functions. There is always
// room for a breakpoint.
func (k *Kprobes) codeAt(addr uint64) ([]byte, *Denial) {
	fn, ok := k.text(addr)
	switch entry := k.entryAt(addr); {
	case addr%k.arch.Align != 0:
		return nil, deny(RuleUnaligned, EINVAL, addr, "instructions stand at multiples of %d bytes", k.arch.Align)
	case entry != 0 && entry != addr:
		return nil, deny(RuleInCall, EILSEQ, addr, "%#x lies in the nop of ftrace at %#x", addr, entry)
	case !ok && k.era.Boundaries:
		return nil, deny(RuleBoundary, EILSEQ, addr, "%#x is in no function", addr)
	case ok && fn.End()-addr < uint64(len(k.arch.Breakpoint)):
		return nil, deny(RuleBoundary, EILSEQ, addr, "%s has no room for a breakpoint", fn.At(addr))
	case !ok:
		return k.m.read(addr, k.arch.SlotSize), nil
	case k.era.Boundaries && k.arch.Boundary != nil && k.arch.Boundary(fn, addr) != nil:
		return nil, deny(RuleBoundary, EILSEQ, addr, "no instruction starts at %s", fn.At(addr))
	}
	return fn.Code[addr-fn.Start:], nil
}

func (k *Kprobes) flags(p uint64) uint64 { return k.m.Load(p, k.l.p.flags) }

func (k *Kprobes) setFlag(p, flag uint64)   { k.m.Store(p, k.l.p.flags, k.flags(p)|flag) }
func (k *Kprobes) clearFlag(p, flag uint64) { k.m.Store(p, k.l.p.flags, k.flags(p)&^flag) }

// disabled holds for a probe that is gone too: neither is armed or called.
func (k *Kprobes) disabled(p uint64) bool { return k.flags(p)&(flagGone|flagDisabled) != 0 }
