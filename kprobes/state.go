package kprobes

import (
	"fmt"
	"slices"
	"strings"

	"kprobesim/image"
)

// State describes one probe.
// It holds what debugfs shows and, beyond that, the reason why a probe is not optimized.
type State struct {
	Probe   uint64 // the struct kprobe
	Addr    uint64 // probed address
	Symbol  string
	Offset  uint64
	Mode    Mode
	Queued  bool     // the optimizer is going to change it
	NMissed uint64   // hits whose handlers did not run
	Unseen  uint64   // of a return probe: calls for which no instance was free
	Refusal *Refusal // why it is not and will not be optimized, nil otherwise
}

// State describes the struct kprobe at p, or that of the struct kretprobe if p is one.
func (k *Kprobes) State(p uint64) (State, error) {
	st := k.state(p)
	return st, k.m.take()
}

func (k *Kprobes) state(p uint64) State {
	st := State{Probe: p, Addr: k.m.Load(p, k.l.p.addr), Mode: Gone}
	st.Symbol, st.Offset = k.nameOf(st.Addr)
	st.NMissed = k.m.Load(p, k.l.p.nmissed)
	if pre := k.m.Load(p, k.l.p.pre); pre == k.sym.returnPre || k.users.size != 0 && pre == k.users.returnPre {
		st.Unseen = k.m.Load(p-k.l.r.kp.Offset, k.l.r.nmissed)
	}
	s := k.siteOf(p)
	if s == nil {
		st.Refusal = Refuse(RuleGone, p, "the probe at %#x is not registered", p)
		return st
	}
	st.Mode, st.Queued = k.mode(s, p), s.queue != queueNone
	if k.flags(s.head)&flagOptimized == 0 {
		st.Refusal = k.why(s)
	}
	return st
}

// Disabled includes a probe that is enabled while all are disarmed: its text is clear.
func (k *Kprobes) mode(s *site, p uint64) Mode {
	switch {
	case k.flags(p)&flagGone != 0:
		return Gone
	case k.disabled(p) || s.text == textClear:
		return Disabled
	case s.text == textJump:
		return Optimized
	case s.text == textCall:
		return Ftrace
	case s.runs == Boosted && k.m.Load(s.head, k.l.p.post) != 0:
		return Stepped
	case s.runs != noMode:
		return s.runs
	case k.learned(s):
		return k.arch.Then
	}
	return k.arch.First
}

// learned reports whether the hits so far have found a quicker way. Behind a jump back nothing is left
// to call a post handler.
func (k *Kprobes) learned(s *site) bool {
	i := slices.Index(k.arch.Members, k.arch.Learned)
	return i >= 0 && k.m.Load(s.head, k.l.p.arch[i]) == 1 &&
		(k.arch.Then != Boosted || k.m.Load(s.head, k.l.p.post) == 0)
}

// why names the rule that keeps a site from being optimized.
// What the kernel's build rules out comes before switches and handlers, as nothing lifts it. A
// probe in the region comes last, behind the rules on the text itself, as those stay when it goes.
func (k *Kprobes) why(s *site) *Refusal {
	if s.refusal != nil && (s.refusal.Rule == RuleUnsupported || s.refusal.Rule == RulePreempt) {
		return s.refusal
	}
	passing := k.blocked(s)
	if passing != nil && passing.Rule != RuleProbeInRegion || s.refusal == nil {
		return passing
	}
	return s.refusal
}

// nameOf gives an address as symbol and offset.
func (k *Kprobes) nameOf(addr uint64) (string, uint64) {
	name, off, ok := k.im.In(addr)
	if !ok {
		return "", addr
	}
	return name, off
}

// List is the text of debugfs kprobes/list: one line a probe, in the order of the hash table.
// The columns follow Documentation/kprobes.txt: address, kind, symbol and offset, module,
// state.
func (k *Kprobes) List() (string, error) {
	var b strings.Builder
	for i := range uint64(hashBuckets) {
		for _, head := range k.hlist(k.sym.table+i*uint64(k.l.list.Size), k.hash()) {
			k.listHead(&b, head)
		}
	}
	return b.String(), k.m.take()
}

// listHead writes the lines of one address: the probe, or the children of the aggregate.
func (k *Kprobes) listHead(b *strings.Builder, head uint64) {
	if k.m.Load(head, k.l.p.pre) != k.sym.aggrPre {
		k.listLine(b, head, head)
		return
	}
	for _, p := range k.children(head) {
		k.listLine(b, p, head)
	}
}

// listLine has an address with all of its digits, two for a byte, as the kernel prints pointers.
func (k *Kprobes) listLine(b *strings.Builder, p, head uint64) {
	l := &k.l.p
	kind := "k"
	switch {
	case k.m.Load(p, l.pre) == k.sym.returnPre:
		kind = "r"
	case k.m.Load(p, l.brk) != 0:
		kind = "j"
	}
	addr := k.m.Load(p, l.addr)
	name, off := k.nameOf(addr)
	_, name = image.SplitName(name) // the module has a column of its own
	if name == "" {                 // outside of all functions, where kernels of 2005 take probes
		fmt.Fprintf(b, "%0*x  %s  %0*x %s\n", 2*l.addr.Size, addr, kind, 2*l.addr.Size, addr, listFlags(k.flags(p), k.flags(head)))
		return
	}
	in := " "
	if m := k.moduleAt(addr); m != nil {
		in = m.name
	}
	fmt.Fprintf(b, "%0*x  %s  %s+0x%x  %s %s\n",
		2*l.addr.Size, addr, kind, name, off, in, listFlags(k.flags(p), k.flags(head)))
}

// listFlags shows the probe's own flags, and whether the address is optimized.
func listFlags(own, head uint64) string {
	var s string
	switch {
	case own&flagGone != 0:
		s = "[GONE]"
	case own&flagDisabled != 0:
		s = "[DISABLED]"
	}
	if head&flagOptimized != 0 {
		s += "[OPTIMIZED]"
	}
	if head&flagFtrace != 0 {
		s += "[FTRACE]"
	}
	return s
}
