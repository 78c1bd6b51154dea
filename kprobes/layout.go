package kprobes

import (
	"fmt"

	"kprobesim/image"
)

// field is a member of a structure in guest memory.
type field struct {
	off  uint64
	size int
}

// kprobeLayout is where things are in struct kprobe.
type kprobeLayout struct {
	size                        uint64
	next, pprev                 field // hlist
	listNext, listPrev          field
	nmissed, addr, name, offset field
	pre, post, fault, brk       field // handlers
	flags                       field
	arch                        []field // Arch.Members, in their order
	learned                     field   // Arch.Learned, if there is one
}

// retLayout is where things are in struct kretprobe and struct kretprobe_instance.
type retLayout struct {
	size, instSize                                               uint64
	kp, handler, entry, maxactive, nmissed, dataSize, free, lock field
	instNext, instPprev, instRP                                  field
}

// jumpLayout is where things are in struct jprobe.
type jumpLayout struct {
	size      uint64
	kp, entry field
}

// optLayout is where things are in struct optimized_kprobe, which aggregates are. In kernels without it
// they are a struct kprobe.
type optLayout struct {
	size                        uint64
	kp, copied, insn, insnsSize field
}

// pokeLayout is where things are in struct text_poke_loc.
type pokeLayout struct {
	size                    uint64
	addr, detour, len, text field
}

// layout is what debug information says about the structures of the API.
type layout struct {
	p    kprobeLayout
	r    retLayout
	j    jumpLayout
	o    optLayout
	poke pokeLayout
	list field // a pointer to a list_head or hlist_head: its first member
}

// member pairs a path in a structure with where to keep its offset.
type member struct {
	path string
	at   *field
}

func members(im *image.Image, name string, size *uint64, ms []member) error {
	st, err := im.Struct(name)
	if err != nil {
		return err
	}
	if size != nil {
		*size = uint64(st.Size)
	}
	for _, m := range ms {
		f, err := st.Field(m.path)
		if err != nil {
			return fmt.Errorf("struct %s: %w", name, err)
		}
		*m.at = field{uint64(f.Offset), int(f.Size)}
	}
	return nil
}

// structure is one that Go reads or writes, and what of it.
type structure struct {
	name     string
	size     *uint64
	members  []member
	optional bool // the kernel may do without
}

// newLayout finds the structures in the debug information. A kernel that optimizes has two more.
func newLayout(im *image.Image, arch *Arch, optimizes bool) (*layout, error) {
	l := &layout{list: field{0, im.Bits / 8}}
	for _, s := range append(l.structures(arch), l.optimizerStructures(!optimizes)...) {
		if _, err := im.Struct(s.name); err != nil && s.optional {
			continue
		}
		if err := members(im, s.name, s.size, s.members); err != nil {
			return nil, err
		}
	}
	if l.o.size == 0 {
		l.o.size, l.o.kp = l.p.size, field{0, int(l.p.size)}
	}
	return l, nil
}

// structures lists what every kernel has.
func (l *layout) structures(arch *Arch) []structure {
	p, r, j := &l.p, &l.r, &l.j
	return []structure{
		{name: "kprobe", size: &p.size, members: append([]member{
			{"hlist.next", &p.next},
			{"hlist.pprev", &p.pprev},
			{"list.next", &p.listNext},
			{"list.prev", &p.listPrev},
			{"nmissed", &p.nmissed},
			{"addr", &p.addr},
			{"symbol_name", &p.name},
			{"offset", &p.offset},
			{"pre_handler", &p.pre},
			{"post_handler", &p.post},
			{"fault_handler", &p.fault},
			{"break_handler", &p.brk},
			{"flags", &p.flags},
		}, p.archMembers(arch)...)},
		{name: "kretprobe", size: &r.size, members: []member{
			{"kp", &r.kp},
			{"handler", &r.handler},
			{"entry_handler", &r.entry},
			{"maxactive", &r.maxactive},
			{"nmissed", &r.nmissed},
			{"data_size", &r.dataSize},
			{"free_instances", &r.free},
			{"lock", &r.lock},
		}},
		{name: "kretprobe_instance", size: &r.instSize, members: []member{
			{"hlist.next", &r.instNext}, {"hlist.pprev", &r.instPprev}, {"rp", &r.instRP},
		}},
		{name: "jprobe", size: &j.size, members: []member{{"kp", &j.kp}, {"entry", &j.entry}}},
	}
}

// archMembers are those that the architecture has in struct kprobe.
func (p *kprobeLayout) archMembers(arch *Arch) (ms []member) {
	p.arch = make([]field, len(arch.Members))
	for i, path := range arch.Members {
		ms = append(ms, member{path, &p.arch[i]})
	}
	if arch.Learned != "" {
		ms = append(ms, member{arch.Learned, &p.learned})
	}
	return ms
}

// optimizerStructures lists what kernels have that can change several bytes of text.
func (l *layout) optimizerStructures(optional bool) []structure {
	o, poke := &l.o, &l.poke
	return []structure{
		{name: "optimized_kprobe", size: &o.size, optional: optional, members: []member{
			{"kp", &o.kp},
			{"optinsn.copied_insn", &o.copied},
			{"optinsn.insn", &o.insn},
			{"optinsn.size", &o.insnsSize},
		}},
		{name: "text_poke_loc", size: &poke.size, optional: optional, members: []member{
			{"addr", &poke.addr}, {"detour", &poke.detour}, {"len", &poke.len}, {"text", &poke.text},
		}},
	}
}
