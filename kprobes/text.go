package kprobes

import (
	"fmt"
	"slices"

	"kprobesim/image"
)

// symbols are the addresses in the image that Kprobes works with. What a kernel does not have is 0.
// Spans come from symbols of the linker script, the others are functions and variables of the
// guest.
type symbols struct {
	text, noProbes, entry, slots, detours, template Span
	farText                                         Span     // beside the kernel, as modules are
	nmis                                            Span     // a CPU executes it also while the machine stands still
	library                                         Span     // what modules call
	marks, calls                                    []uint64 // of the detour template, and what detours call
	table, instances                                uint64   // hash tables
	boostAllowed, allowOptimization, allDisarmed    uint64
	aggrPre, aggrPost, aggrFault, aggrBreak         uint64
	returnPre, jprobePre, jprobeBreak               uint64
	pokeListener, pokeUnsynced, pokeStopped         uint64
	pokeOne, pokeBatch                              uint64   // notifiers of the two protocols
	flushOmitted                                    uint64   // steps of keeping caches in step
	trampoline                                      uint64   // where return probed functions return to
	entryTrampoline                                 uint64   // what a probed function calls first
	entries                                         []uint64 // nops by which functions begin, sorted
	oneHit, hitCPU                                  uint64   // of a kernel with one lock for all hits
	exceptions                                      []uint64 // faulting instructions, sorted
	blacklist                                       []Span
}

// wanted is a symbol and where to keep its address.
type wanted struct {
	name string
	at   *uint64
}

// lookUp finds the symbols. Which of them an image must have depends on what its kernel can do.
// Protected functions are the exception: an image without one has nothing to protect.
func (s *symbols) lookUp(im *image.Image, era era, arch *Arch, jump *Optimizer) error {
	for _, group := range slices.Concat(s.groups(im, era, arch, jump), s.ofOptimizing(jump)) {
		for _, w := range group.symbols {
			f, ok := im.Func(w.name)
			if !ok && group.needed {
				return fmt.Errorf("image %s has no symbol %s, which Kprobes needs: build it from headers and "+
					"linker script of this version", im.Name, w.name)
			}
			if *w.at = f.Entry; group.pointers {
				*w.at = f.Pointer
			}
		}
	}
	for _, name := range slices.Concat(era.protected, era.Protected) {
		if f, ok := im.Func(name); ok {
			s.blacklist = append(s.blacklist, extent(im, f.Entry, f.Size))
		}
	}
	return nil
}

// symbolGroup lists symbols that a kernel has all or none of.
type symbolGroup struct {
	needed   bool // the image must have them
	pointers bool // what a pointer in C holds is wanted, not where the code is
	symbols  []wanted
}

// groups lists the symbols of kernels, but for those that can write jumps.
func (s *symbols) groups(im *image.Image, era era, arch *Arch, jump *Optimizer) []symbolGroup {
	_, traced := im.Symbol("__start_mcount_loc")
	return []symbolGroup{
		{true, false, []wanted{
			{"_text", &s.text.Start},
			{"_etext", &s.text.End},
			{"__kprobes_text_start", &s.noProbes.Start},
			{"__kprobes_text_end", &s.noProbes.End},
			{"__slots_start", &s.slots.Start},
			{"__slots_end", &s.slots.End},
			{"probe_table", &s.table},
			{"switch_disarmed", &s.allDisarmed},
		}},
		{true, true, []wanted{
			{"group_before", &s.aggrPre},
			{"group_after", &s.aggrPost},
			{"group_fault", &s.aggrFault},
			{"group_break", &s.aggrBreak},
			{"return_probe_entered", &s.returnPre},
		}},
		{!slices.Contains(era.lacks, "register_jprobe"), true, []wanted{{"jprobe_divert", &s.jprobePre}, {"jprobe_resume", &s.jprobeBreak}}},
		{!era.Hooks, false, []wanted{{"instance_table", &s.instances}}},
		{era.EntryCall != nil && traced, false, []wanted{{"entry_trampoline", &s.entryTrampoline}}},
		{era.Boost && arch.Then == Boosted, false, []wanted{{"switch_boost", &s.boostAllowed}}},
		{arch.StopsToRestore || jump != nil && jump.patches(PatchStop), false, []wanted{{"text_poke_stopped", &s.pokeStopped}}},
		{false, false, []wanted{
			{"the_hit", &s.oneHit}, {"hit_cpu", &s.hitCPU}, // one CPU at a time handles a hit
			{"__crowd_start", &s.farText.Start}, {"__crowd_end", &s.farText.End}, // text for many probes
			{"__lib_text_start", &s.library.Start}, {"__lib_text_end", &s.library.End}, // what modules call
			{"flush_omitted", &s.flushOmitted}, // software keeps instruction caches in step
			{"kretprobe_trampoline", &s.trampoline},
		}},
		{false, false, []wanted{{"__nmi_text_start", &s.nmis.Start}, {"__nmi_text_end", &s.nmis.End}}}, // what NMIs execute and takes probes
	}
}

// ofOptimizing lists what an image has that can optimize, of the template and of the protocols what the
// optimizer uses.
func (s *symbols) ofOptimizing(o *Optimizer) []symbolGroup {
	if o == nil {
		return nil
	}
	list := []wanted{
		{"__entry_text_start", &s.entry.Start},
		{"__entry_text_end", &s.entry.End},
		{"__detours_start", &s.detours.Start},
		{"__detours_end", &s.detours.End},
		{"switch_jumps", &s.allowOptimization},
		{"detour_template", &s.template.Start},
		{"detour_template_end", &s.template.End},
	}
	s.marks, s.calls = make([]uint64, len(o.Marks)), make([]uint64, len(o.Calls))
	for i, name := range o.Marks {
		list = append(list, wanted{"detour_template_" + name, &s.marks[i]})
	}
	for i, name := range o.Calls {
		list = append(list, wanted{name, &s.calls[i]})
	}
	if o.behindBreakpoints() {
		list = append(list, wanted{"text_poke_listener", &s.pokeListener}, wanted{"text_poke_unsynced", &s.pokeUnsynced})
	}
	if o.patches(PatchBreakpoint) && !o.Vectors {
		list = append(list, wanted{"text_poke_nb", &s.pokeOne})
	}
	if o.patches(PatchBatch) {
		list = append(list, wanted{"text_poke_batch_nb", &s.pokeBatch})
	}
	return []symbolGroup{{true, false, list}}
}

// readExceptions reads the exception table: pairs of pointers, the instruction and its fix-up.
// Kernels of the eras have absolute pointers there; the relative ones of later kernels are left
// out.
func (k *Kprobes) readExceptions() {
	ptr, table := k.l.list, k.between("__start___ex_table", "__stop___ex_table")
	for a := table.Start; a < table.End; a += uint64(2 * ptr.Size) {
		k.sym.exceptions = append(k.sym.exceptions, k.m.Load(a, ptr))
	}
	slices.Sort(k.sym.exceptions)
}

// faults reports whether the exception table names the instruction at addr.
func (k *Kprobes) faults(addr uint64) bool {
	_, found := slices.BinarySearch(k.sym.exceptions, addr)
	return found
}

// kernelText tells whether an address is that of code of the kernel itself.
func (k *Kprobes) kernelText(addr uint64) bool {
	return k.sym.text.Contains(addr) || k.sym.library.Contains(addr)
}

// barred holds an address against kernel text and the functions that a hit itself may execute; nil where neither
// keeps a probe away. Native slots are refused as well: a CPU that fetches one calls Go and executes nothing there.
func (k *Kprobes) barred(addr uint64) *Denial {
	s, m := &k.sym, k.moduleAt(addr)
	switch sym, _, ok := k.im.At(addr); {
	case m == nil && !k.kernelText(addr) && !s.farText.Contains(addr), m != nil && m.gone:
		return deny(RuleText, k.notText(addr), addr, "%#x is in no text of the kernel", addr)
	case m != nil && m.leaving:
		return deny(RuleText, k.era.missing, addr, "%#x is in a module that goes", addr)
	case s.noProbes.Contains(addr):
		return deny(RuleKprobesText, EINVAL, addr, "a hit itself may execute %#x (__kprobes)", addr)
	case s.slots.Contains(addr), s.detours.Contains(addr):
		return deny(RuleOutOfLine, EINVAL, addr, "%#x is in a slot or a detour buffer", addr)
	case slices.ContainsFunc(s.blacklist, func(b Span) bool { return b.Contains(addr) }):
		return deny(RuleBlacklist, EINVAL, addr, "%s is a function without probes", k.im.SymbolText(addr))
	case ok && sym.Section == ".native":
		return deny(RuleNative, EINVAL, addr, "%s is a call out of the simulated machine", k.im.SymbolText(addr))
	}
	return nil
}

// notText is the error of a probe at an address outside of text.
func (k *Kprobes) notText(addr uint64) Errno {
	if k.era.located && k.nowhere(addr) {
		return k.era.missing
	}
	return EINVAL
}

// text reads the function around an address as it was before any probe.
// The rules judge what the compiler made. A breakpoint that is left is then none of Kprobes.
func (k *Kprobes) text(addr uint64) (Text, bool) {
	sym, _, ok := k.im.At(addr)
	if !ok {
		return Text{}, false
	}
	code := extent(k.im, sym.Addr, sym.Size)
	fn := Text{Name: k.im.CName(sym.Name), Start: sym.Addr, Code: k.m.read(sym.Addr, int(code.End-code.Start))}
	i, _ := k.search(fn.Start)
	for ; i < len(k.sites) && k.sites[i].addr < fn.End(); i++ {
		copy(fn.Code[k.sites[i].addr-fn.Start:], k.sites[i].orig)
	}
	return fn, true
}

// extent is the code of a function of so many bytes. One of which the image says none ends in front of the next symbol: only
// symbols of assembler sources have no size. A page bounds the search behind the last symbol.
func extent(im *image.Image, start, size uint64) Span {
	if size > 0 {
		return Span{start, start + size}
	}
	const limit = 4096
	own, _, _ := im.At(start)
	end := start + 1
	for end < start+limit {
		s, _, ok := im.At(end)
		if !ok || s.Addr != own.Addr {
			break
		}
		end++
	}
	return Span{start, end}
}

// ForbidInModule keeps probes away from the functions that the table of a loaded module lists (NOKPROBE_SYMBOL), until
// ForgetModule. Kernels that do not know such tables of modules do not look at them.
func (k *Kprobes) ForbidInModule(table Span) error {
	if !k.era.ofModules {
		return nil
	}
	return k.forbid(table)
}

// ForgetModule forgets what the tables of a module listed, whose text vanishes.
func (k *Kprobes) ForgetModule(text Span) {
	k.sym.blacklist = slices.DeleteFunc(k.sym.blacklist, func(s Span) bool { return text.Contains(s.Start) })
	k.sym.entries = slices.DeleteFunc(k.sym.entries, text.Contains)
}

// forbid keeps probes away from the functions that a table of pointers lists.
func (k *Kprobes) forbid(table Span) error {
	if !k.era.blacklist {
		return nil
	}
	ptr := k.l.list
	for at := table.Start; at+uint64(ptr.Size) <= table.End; at += uint64(ptr.Size) {
		entry := k.im.Callee(k.m.Load(at, ptr))
		sym, off, ok := k.im.At(entry)
		if !ok || off != 0 {
			return fmt.Errorf("the table of functions without probes lists %#x, where no function begins", entry)
		}
		k.sym.blacklist = append(k.sym.blacklist, extent(k.im, entry, sym.Size))
	}
	return k.m.take()
}

// forbidListed is forbid of the kernel's own table.
func (k *Kprobes) forbidListed() error {
	return k.forbid(k.between("__start_kprobe_blacklist", "__stop_kprobe_blacklist"))
}

// between returns what lies between two symbols of the image; nothing where one of them is missing.
func (k *Kprobes) between(start, end string) Span {
	from, ok := k.im.Symbol(start)
	to, ok2 := k.im.Symbol(end)
	if !ok || !ok2 {
		return Span{}
	}
	return Span{from.Addr, to.Addr}
}
