package kprobes

import (
	"fmt"
	"slices"
)

// prepareSite checks the instruction at an address and makes what a hit runs in its place.
// The slot is taken first, as the rules need its address: operands relative to the instruction are
// fixed for it.
func (k *Kprobes) prepareSite(c Caller, p, addr uint64) (*site, error) {
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
