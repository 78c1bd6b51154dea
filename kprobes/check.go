package kprobes

import (
	"slices"

	"kprobesim/image"
)

// kprobe.flags.
// The bits follow linux/kprobes.h in 2.6.34.
const (
	flagGone      = 1
	flagDisabled  = 2
	flagOptimized = 4
	flagFtrace    = 8
	flagEntry     = 16 // KPROBE_FLAG_ON_FUNC_ENTRY, from 5.18
)

func (k *Kprobes) flags(p uint64) uint64 { return k.m.Load(p, k.l.p.flags) }

func (k *Kprobes) setFlag(p, flag uint64)   { k.m.Store(p, k.l.p.flags, k.flags(p)|flag) }
func (k *Kprobes) clearFlag(p, flag uint64) { k.m.Store(p, k.l.p.flags, k.flags(p)&^flag) }

// disabled holds for a probe that is gone too: neither is armed or called.
func (k *Kprobes) disabled(p uint64) bool { return k.flags(p)&(flagGone|flagDisabled) != 0 }

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
