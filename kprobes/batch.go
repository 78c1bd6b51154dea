package kprobes

import (
	"cmp"
	"slices"
)

// pageSize is the memory of a batch, in bytes: 256 sites, as in the kernel.
const pageSize = 4096

// replaceBatch changes the text of a batch behind breakpoints, as many sites at once as there is
// room for. The guest finds the site of a breakpoint by bisection, so they go by address.
func (k *Kprobes) replaceBatch(c Caller, batch []*site, r rewrite) error {
	batch = slices.SortedFunc(slices.Values(batch), func(a, b *site) int { return cmp.Compare(a.addr, b.addr) })
	for part := range slices.Chunk(batch, int(pageSize/k.l.poke.size)) {
		if err := k.pokeBatch(c, part, r); err != nil {
			return err
		}
	}
	return nil
}

// pokeBatch has the guest change some sites together, which is one patch.
// The guest answers when every CPU has synchronized for the last step, so all sites change their
// state together.
func (k *Kprobes) pokeBatch(c Caller, batch []*site, r rewrite) error {
	at := k.vector
	for _, s := range batch {
		code, err := r.code(s)
		if err != nil {
			return err
		}
		k.storeLoc(at, s.addr, s.detour, code)
		at += k.l.poke.size
	}
	if err := k.pokeVector(c, len(batch)); err != nil {
		return err
	}
	for _, s := range batch {
		s.text = r.then
	}
	return nil
}

// pokeVector has the guest change the first n patch sites of the vector together, as one patch.
func (k *Kprobes) pokeVector(c Caller, n int) error {
	if err := k.m.take(); err != nil {
		return err
	}
	k.patch++
	_, err := c.InvokeSym("text_poke_bp_batch", k.vector, uint64(n), k.patch)
	return err
}

// storeLoc fills in a struct text_poke_loc. Nobody reads it before the guest has it, or after.
// Addresses are signed offsets of 32 bits from _text, so that a page has room for many.
func (k *Kprobes) storeLoc(at, addr, detour uint64, code []byte) {
	l := &k.l.poke
	k.m.Store(at, l.addr, addr-k.sym.text.Start)
	k.m.Store(at, l.detour, detour-k.sym.text.Start)
	k.m.Store(at, l.len, uint64(len(code)))
	k.m.write(at+l.text.Offset, code)
	if l.call.Size != 0 {
		k.m.Store(at, l.call, 0)
	}
}
