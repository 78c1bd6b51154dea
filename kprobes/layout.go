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
	size                           uint64
	next, pprev                    field // hlist
	listNext, listPrev             field
	nmissed, addr, name, offset    field
	pre, post, fault, brk          field // handlers
	opcode, insn, boostable, flags field
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

// optLayout is where things are in struct optimized_kprobe.
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

// member pairs a path in a structure with where to keep its place.
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

func newLayout(im *image.Image) (*layout, error) {
	l := &layout{list: field{0, im.Bits / 8}}
	p, r, j, o, poke := &l.p, &l.r, &l.j, &l.o, &l.poke
	for _, s := range []struct {
		name string
		size *uint64
		ms   []member
	}{
		{"kprobe", &p.size, []member{
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
			{"opcode", &p.opcode},
			{"ainsn.insn", &p.insn},
			{"ainsn.boostable", &p.boostable},
			{"flags", &p.flags},
		}},
		{"kretprobe", &r.size, []member{
			{"kp", &r.kp},
			{"handler", &r.handler},
			{"entry_handler", &r.entry},
			{"maxactive", &r.maxactive},
			{"nmissed", &r.nmissed},
			{"data_size", &r.dataSize},
			{"free_instances", &r.free},
			{"lock", &r.lock},
		}},
		{"kretprobe_instance", &r.instSize, []member{
			{"hlist.next", &r.instNext}, {"hlist.pprev", &r.instPprev}, {"rp", &r.instRP},
		}},
		{"jprobe", &j.size, []member{{"kp", &j.kp}, {"entry", &j.entry}}},
		{"optimized_kprobe", &o.size, []member{
			{"kp", &o.kp},
			{"optinsn.copied_insn", &o.copied},
			{"optinsn.insn", &o.insn},
			{"optinsn.size", &o.insnsSize},
		}},
		{"text_poke_loc", &poke.size, []member{
			{"addr", &poke.addr}, {"detour", &poke.detour}, {"len", &poke.len}, {"text", &poke.text},
		}},
	} {
		if err := members(im, s.name, s.size, s.ms); err != nil {
			return nil, err
		}
	}
	return l, nil
}
