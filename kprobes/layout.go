package kprobes

import (
	"slices"

	"kprobesim/image"
)

// kprobeLayout is where things are in struct kprobe.
// Every image has layouts of its own, by its ABI and configuration: none is assumed here.
type kprobeLayout struct {
	size                        uint64
	next, pprev                 image.Field // hlist
	listNext, listPrev          image.Field
	nmissed, addr, name, offset image.Field
	pre, post, fault, brk       image.Field // handlers
	flags                       image.Field
	arch                        []image.Field // Arch.Members, in their order
}

// retLayout is where things are in struct kretprobe and struct kretprobe_instance.
type retLayout struct {
	size, instSize                                               uint64
	kp, handler, entry, maxactive, nmissed, dataSize, free, lock image.Field
	used                                                         image.Field // chain of instances, where there is one
	hook, instHook, readers                                      image.Field // of kernels with Era.Hooks
	hookSize                                                     uint64
	hookRP, hookPool, hookCount                                  image.Field // struct return_hook
	instNext, instPprev, instRP                                  image.Field
}

// jumpLayout is where things are in struct jprobe.
type jumpLayout struct {
	size      uint64
	kp, entry image.Field
}

// optLayout is where things are in the guest's struct jump_probe, which aggregates are. In kernels without
// it they are a struct kprobe.
// The handle of an aggregate is its kp, since the hash table and the handlers know it.
type optLayout struct {
	size                        uint64
	kp, copied, insn, insnsSize image.Field
}

// hitLayout is where things are in the guest's struct hit_record: what is remembered between the exceptions
// of a hit.
type hitLayout struct {
	size                uint64
	probe, stage, child image.Field
}

// pokeLayout is where things are in struct text_poke_loc.
// It is the guest's own structure for PatchBatch, no interface of a kernel.
type pokeLayout struct {
	size                    uint64
	addr, detour, len, text image.Field
	call                    image.Field // where a patch may be one to a call
}

// layout holds the structures of the API, from debug information.
// Members that an architecture or an era does not have keep size zero and are never asked for.
type layout struct {
	p    kprobeLayout
	r    retLayout
	j    jumpLayout
	o    optLayout
	hit  hitLayout
	poke pokeLayout
	list image.Field // a pointer to a list_head or hlist_head: its first member
}

// structure is one that Go reads or writes, and what of it.
type structure struct {
	name     string
	size     *uint64
	members  image.Parts
	optional bool // the kernel may do without
}

// newLayout finds the structures in the debug information. A kernel that optimizes has two more.
// Where aggregates are a plain struct kprobe, its kp is the whole of it at offset 0, so the same
// code serves both.
func newLayout(im *image.Image, arch *Arch, jump *Optimizer, e era) (*layout, error) {
	l := &layout{list: image.Field{Size: im.Bits / 8}}
	for _, s := range slices.Concat(l.structures(arch), l.optimizerStructures(arch, jump), l.eraStructures(e)) {
		if _, err := im.Struct(s.name); err != nil && s.optional {
			continue
		}
		size, err := im.Layout(s.name, s.members)
		if err != nil {
			return nil, err
		}
		*s.size = size
	}
	if l.o.size == 0 {
		l.o.size, l.o.kp = l.p.size, image.Field{Size: int(l.p.size)}
	}
	return l, l.findUsed(im)
}

// findUsed finds the chain of instances in use, which kernels have that keep return instances on two.
func (l *layout) findUsed(im *image.Image) error {
	st, err := im.Struct("kretprobe")
	if err != nil {
		return err
	}
	if f, err := st.Field("used_instances"); err == nil {
		l.r.used = f
	}
	return nil
}

// structures lists what every kernel has.
func (l *layout) structures(arch *Arch) []structure {
	p, r, j := &l.p, &l.r, &l.j
	return []structure{
		{name: "kprobe", size: &p.size, members: p.archMembers(arch, image.Parts{
			"hlist.next":    &p.next,
			"hlist.pprev":   &p.pprev,
			"list.next":     &p.listNext,
			"list.prev":     &p.listPrev,
			"nmissed":       &p.nmissed,
			"addr":          &p.addr,
			"symbol_name":   &p.name,
			"offset":        &p.offset,
			"pre_handler":   &p.pre,
			"post_handler":  &p.post,
			"fault_handler": &p.fault,
			"break_handler": &p.brk,
			"flags":         &p.flags,
		})},
		{name: "kretprobe", size: &r.size, members: image.Parts{
			"kp":             &r.kp,
			"handler":        &r.handler,
			"entry_handler":  &r.entry,
			"maxactive":      &r.maxactive,
			"nmissed":        &r.nmissed,
			"data_size":      &r.dataSize,
			"free_instances": &r.free,
			"lock":           &r.lock,
		}},
		{name: "kretprobe_instance", size: &r.instSize, members: image.Parts{
			"hlist.next": &r.instNext, "hlist.pprev": &r.instPprev, "rp": &r.instRP,
		}},
		{name: "jprobe", size: &j.size, optional: true, members: image.Parts{"kp": &j.kp, "entry": &j.entry}},
		{name: "hit_record", size: &l.hit.size, optional: true, members: image.Parts{
			"now.probe": &l.hit.probe, "now.stage": &l.hit.stage, "child": &l.hit.child,
		}},
	}
}

// archMembers adds those that the architecture has in struct kprobe.
func (p *kprobeLayout) archMembers(arch *Arch, parts image.Parts) image.Parts {
	p.arch = make([]image.Field, len(arch.Members))
	for i, path := range arch.Members {
		parts[path] = &p.arch[i]
	}
	return parts
}

// eraStructures lists what kernels have in addition whose return instances are on lists of tasks, or whose functions
// can be probed by a call.
func (l *layout) eraStructures(e era) (list []structure) {
	r := &l.r
	if e.Hooks {
		list = []structure{
			{name: "kretprobe", size: &r.size, members: image.Parts{"hook": &r.hook}},
			{name: "kretprobe_instance", size: &r.instSize, members: image.Parts{"hook": &r.instHook, "readers": &r.readers}},
			{name: "return_hook", size: &r.hookSize, members: image.Parts{
				"rp": &r.hookRP, "pool": &r.hookPool, "instances": &r.hookCount,
			}},
		}
	}
	if e.EntryCall != nil {
		list = append(list, structure{name: "text_poke_loc", size: &l.poke.size, members: image.Parts{"call": &l.poke.call}})
	}
	return list
}

// optimizerStructures lists what kernels have that can change several bytes of text. One without jumps may
// have them too. A jump no longer than a breakpoint leaves no tail.
func (l *layout) optimizerStructures(arch *Arch, jump *Optimizer) []structure {
	o, poke := &l.o, &l.poke
	probe := image.Parts{"kp": &o.kp, "detour": &o.insn, "moved": &o.insnsSize}
	if arch.Reach() > len(arch.Breakpoint) {
		probe["tail"] = &o.copied
	}
	return []structure{
		{name: "jump_probe", size: &o.size, optional: jump == nil, members: probe},
		{name: "text_poke_loc", size: &poke.size, optional: jump == nil || !jump.patches(PatchBatch), members: image.Parts{
			"addr": &poke.addr, "detour": &poke.detour, "len": &poke.len, "text": &poke.text,
		}},
	}
}
