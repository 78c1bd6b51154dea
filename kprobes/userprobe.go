package kprobes

import (
	"bytes"
	"errors"
	"slices"

	"kprobesim/image"
	"kprobesim/sim"
	"kprobesim/smp"
)

// userLayout is where things are in struct uprobe, and what else probes of user space read. Its size is zero where the
// kernel has none.
type userLayout struct {
	size                           uint64
	user                           image.Field // of struct kprobe
	inode, offset, addr, vma, page image.Field // of struct uprobe
	address                        image.Field // of struct page: where the kernel sees it
	returnPre, trampolinePre       uint64      // handlers as a pointer in C holds them
	watched, watchedSize           uint64
	reinserted                     uint64
}

// userSite is one registered probe of user space.
type userSite struct {
	p             uint64
	inode, offset uint64
	orig          []byte // what the breakpoint replaces, once it has been inserted
	slot          uint64
	code          uint64 // guest memory from which text_poke copies
	inserting     int    // insertions on their way into pages
	inserted      smp.Queue
}

const pageBytes = 4096

// findUsers finds what probes of user space need. A kernel without them has nothing of it.
func (k *Kprobes) findUsers() error {
	u := &k.users
	if _, err := k.im.Struct("uprobe"); err != nil {
		return nil // this kernel has no probes of user space
	}
	if _, err := k.im.Layout("kprobe", image.Parts{"user": &u.user}); err != nil {
		return err
	}
	if _, err := k.im.Layout("page", image.Parts{"address": &u.address}); err != nil {
		return err
	}
	for _, w := range []struct {
		name string
		at   *uint64
	}{{"user_return_entered", &u.returnPre}, {"user_trampoline_hit", &u.trampolinePre}} {
		fn, _ := k.im.Func(w.name)
		*w.at = fn.Pointer
	}
	list, _ := k.im.Symbol("user_watched")
	u.watched, u.watchedSize = list.Addr, list.Size
	count, _ := k.im.Symbol("user_reinserted")
	u.reinserted = count.Addr
	var err error
	u.size, err = k.im.Layout("uprobe", image.Parts{
		"inode": &u.inode, "offset": &u.offset, "addr": &u.addr, "vma": &u.vma, "page": &u.page,
	})
	return err
}

// userNatives are the four calls of 2004, one of them under two names.
func (k *Kprobes) userNatives() []native {
	if k.users.size == 0 {
		return nil
	}
	return []native{
		{"register_kprobe_user", func(c *sim.Call) error { return k.RegisterUser(c, c.Arg(0)) }},
		{"unregister_kprobe_user", func(c *sim.Call) error { return k.UnregisterUser(c, c.Arg(0)) }},
		{"insert_kprobe_user", func(c *sim.Call) error { return k.InsertUser(c, c.Arg(0)) }},
		{"insert_kprobe_userspace", func(c *sim.Call) error { return k.InsertUser(c, c.Arg(0)) }},
		{"user_page_came", func(c *sim.Call) error { return k.pageCame(c, c.Arg(0), c.Arg(1), c.Arg(2)) }},
		{"remove_kprobe_user", func(c *sim.Call) error { return k.RemoveUser(c, c.Arg(0)) }},
	}
}

// place reads the file and the offset of a probe's struct uprobe.
func (k *Kprobes) place(p uint64) (u, inode, offset uint64) {
	if u = k.m.Load(p, k.users.user); u == 0 {
		return 0, 0, 0
	}
	return u, k.m.Load(u, k.users.inode), k.m.Load(u, k.users.offset)
}

// userSite finds the probe of a place, nil where there is none.
func (k *Kprobes) userSite(inode, offset uint64) *userSite {
	i := slices.IndexFunc(k.userSites, func(s *userSite) bool { return s.inode == inode && s.offset == offset })
	if i < 0 {
		return nil
	}
	return k.userSites[i]
}

// RegisterUser registers the probe of a place in a file: p->user->inode and offset, and handlers. No code changes: the
// probe is prepared and armed when it is inserted into a page. A second probe of the place is EEXIST; a kernel without
// probes of user space says ENOSYS.
func (k *Kprobes) RegisterUser(c Caller, p uint64) error {
	if k.users.size == 0 {
		return ENOSYS
	}
	return k.register(c, kind{steps: []step{k.checkPlace, k.insertPlace}}, p)
}

// checkPlace refuses what names no place, and a place that has a probe.
func (k *Kprobes) checkPlace(c Caller, r *registration) error {
	c.Charge(k.opt.Costs.Register)
	u, inode, offset := k.place(r.p)
	switch {
	case u == 0 || inode == 0:
		return EINVAL
	case k.userSite(inode, offset) != nil:
		return EEXIST
	}
	r.place = &userSite{p: r.p, inode: inode, offset: offset}
	return nil
}

// insertPlace makes hits find the probe.
func (k *Kprobes) insertPlace(c Caller, r *registration) error {
	return k.quietly(c, func() (err error) {
		k.m.Store(r.p, k.l.p.addr, 0)
		k.m.Store(r.p, k.l.p.nmissed, 0)
		k.m.Store(r.p, k.l.p.flags, 0)
		k.listInit(r.p)
		if err := k.storeMembers(r.p, k.opcode(k.arch.Breakpoint)); err != nil {
			return err
		}
		k.hlistAdd(k.bucket(k.sym.table, r.place.inode*r.place.offset), r.p, k.hash())
		if r.place.code, err = k.m.alloc(pokeBytes); err != nil {
			return err
		}
		k.userSites = append(k.userSites, r.place)
		return k.m.take()
	})
}

// opcode is the member of struct kprobe that keeps what the breakpoint replaces.
func (k *Kprobes) opcode(code []byte) []Value {
	var v uint64
	for i := range k.arch.Breakpoint {
		at := i
		if k.big() {
			at = len(k.arch.Breakpoint) - 1 - i
		}
		v |= uint64(code[i]) << (8 * at)
	}
	return []Value{{Member: "opcode", Number: v}}
}

// big reports whether the guest's bytes of a word begin with the most significant one.
func (k *Kprobes) big() bool { return k.im.Order.Uint16([]byte{0, 1}) == 1 }

// UnregisterUser takes a probe out of the table, and waits until no CPU is in it. All insertions must have been
// removed. What is not registered is left alone.
func (k *Kprobes) UnregisterUser(c Caller, p uint64) error {
	if k.users.size == 0 {
		return ENOSYS
	}
	c.Charge(k.opt.Costs.Unregister)
	_, inode, offset := k.place(p)
	s := k.userSite(inode, offset)
	if s == nil || s.p != p {
		return k.m.take()
	}
	err := k.quietly(c, func() error {
		k.hlistDel(p, k.hash())
		k.userSites = slices.DeleteFunc(k.userSites, func(o *userSite) bool { return o == s })
		return k.m.take()
	})
	if err == nil {
		err = k.grace(c)
	}
	if s.slot != 0 {
		k.note(c, EventSlot, "freed", p, s.slot)
	}
	k.slots.give(s.slot)
	k.m.free(s.code)
	return errors.Join(err, k.m.take())
}

// userToggled finds the struct uprobe of a probe and the registered place that it names, whose breakpoint comes or goes.
func (k *Kprobes) userToggled(c Caller, p uint64) (u uint64, s *userSite, err error) {
	if k.users.size == 0 {
		return 0, nil, ENOSYS
	}
	c.Charge(k.opt.Costs.Toggle)
	u, inode, offset := k.place(p)
	if s = k.userSite(inode, offset); s == nil {
		return 0, nil, ENODATA
	}
	return u, s, nil
}

// InsertUser puts the breakpoint of a registered place into one page in memory: p->user->page, at the offset of
// p->user->addr in it. ENODATA: the place has no probe. EEXIST: a breakpoint is there. EINVAL: the
// instruction cannot be probed; a system call is one of those, since the kernel would be entered in the middle of a
// hit.
func (k *Kprobes) InsertUser(c Caller, p uint64) error {
	return k.insertUser(c, p, func() bool { return true })
}

// insertUser asks again whether the insertion is wanted when nothing can come in between any more.
func (k *Kprobes) insertUser(c Caller, p uint64, wanted func() bool) error {
	u, s, err := k.userToggled(c, p)
	if err != nil {
		return err
	}
	addr := k.m.Load(u, k.users.addr)
	at := k.seen(u)
	room := min(k.arch.SlotSize, int(pageBytes-addr%pageBytes))
	code := k.m.read(at, room)
	switch {
	case k.m.Err != nil:
		return k.m.take()
	case addr%k.arch.Align != 0 || len(code) < len(k.arch.Breakpoint):
		return EINVAL
	case bytes.HasPrefix(code, k.arch.Breakpoint):
		return EEXIST
	case k.arch.SystemCall != nil && k.arch.SystemCall(code):
		return EINVAL
	}
	return k.quietly(c, func() error {
		if k.userSite(s.inode, s.offset) != s || !wanted() { // it went while the lock was waited for
			return ENODATA
		}
		if err := k.m.atOnce(func() error { return k.prepareUser(c, s, addr, code) }); err != nil {
			return err
		}
		s.inserting++ // before anybody can come in between: a removal would not wait
		k.m.Store(s.p, k.l.p.addr, addr)
		k.storeUser(c, s, at, k.arch.Breakpoint)
		s.inserting--
		k.smp.Wake(c, &s.inserted)
		k.note(c, EventProbe, "inserted", s.p, addr)
		return k.m.take()
	})
}

// pokeBytes is more than any breakpoint.
const pokeBytes = 16

// storeUser stores code that others may be executing, and makes it visible before anything can come in between on this CPU:
// who waits for it might not let the caller run.
func (k *Kprobes) storeUser(c Caller, s *userSite, at uint64, code []byte) {
	k.m.write(s.code, code)
	_, err := c.InvokeSym("text_poke_patch", at, s.code, uint64(len(code)), 0, 0)
	k.m.Fail(err, "storing code", at)
}

// seen is where the kernel sees the instruction of an insertion.
func (k *Kprobes) seen(u uint64) uint64 {
	return k.m.Load(k.m.Load(u, k.users.page), k.users.address) + k.m.Load(u, k.users.addr)%pageBytes
}

// prepareUser makes what a hit runs in the place of the instruction. Where it is stepped that is the instruction
// itself.
func (k *Kprobes) prepareUser(c Caller, s *userSite, addr uint64, code []byte) error {
	if s.orig != nil {
		return nil
	}
	members := k.opcode(code)
	if k.arch.First == Emulated {
		slot, ok := k.slots.take()
		if !ok {
			return ENOMEM
		}
		cp, err := k.arch.Prepare(Insn{Code: code, Addr: addr, Slot: slot, Boost: true, Blind: !k.era.Boundaries, Year: k.era.Year})
		if err != nil {
			k.slots.give(slot)
			return err
		}
		s.slot, members = slot, cp.Members
		k.note(c, EventSlot, "taken", s.p, slot)
		k.m.write(slot, cp.Code)
	}
	s.orig = code[:len(k.arch.Breakpoint)]
	return k.storeMembers(s.p, members)
}

// RemoveUser takes the breakpoint out of one page again. ENODATA: the place has no probe. A page that has none stays
// as it is.
func (k *Kprobes) RemoveUser(c Caller, p uint64) error {
	var removed bool
	return k.removeUser(c, p, &removed)
}

// removeUser sets removed if there was a breakpoint.
func (k *Kprobes) removeUser(c Caller, p uint64, removed *bool) error {
	u, s, err := k.userToggled(c, p)
	if err != nil {
		return err
	}
	at := k.seen(u)
	restore := func(c Caller) error { k.storeUser(c, s, at, s.orig); return nil }
	quietly := k.quietly
	if k.opt.Mutant == MutantUserUnlocked {
		quietly = func(_ Caller, f func() error) error { return f() }
	}
	return quietly(c, func() error {
		if s.orig != nil && bytes.Equal(k.m.read(at, len(k.arch.Breakpoint)), k.arch.Breakpoint) {
			*removed = true
			if err := k.restoreUser(c, restore); err != nil {
				return err
			}
			k.note(c, EventProbe, "removed", s.p, k.m.Load(u, k.users.addr))
		}
		return k.m.take()
	})
}

// restoreUser stores an instruction in the place of a breakpoint. Where the kernel asks what the breakpoint is by reading
// it, nobody may be on the way to that.
func (k *Kprobes) restoreUser(c Caller, store func(Caller) error) error {
	if !k.arch.StopsToRestore || k.smp.CPUs() == 1 || k.opt.Mutant == MutantUserUnlocked {
		return store(c)
	}
	k.patch++
	return k.stopped(c, store)
}

// quietly runs f while no CPU is in a hit, in kernels where one lock guards all hits. A caller that is in one has the
// lock: a page may come in under a handler.
func (k *Kprobes) quietly(c Caller, f func() error) error {
	if k.sym.hitCPU == 0 || k.smp.CPUs() == 1 || k.holds(c.CPU()) {
		return f()
	}
	flags, err := c.InvokeSym("lock_instances", 0)
	if err != nil {
		return err
	}
	err = f()
	if _, broken := c.InvokeSym("unlock_instances", 0, flags); broken != nil {
		return broken
	}
	return err
}
