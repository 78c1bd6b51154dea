package kprobes

import (
	"errors"
	"fmt"
	"iter"

	"kprobesim/smp"
)

// UserSpec describes a probe of user space that somebody outside of the guest wants. Handlers are guest functions of
// the kernel.
type UserSpec struct {
	File      *smp.File
	Symbol    string // in the file
	Offset    uint64
	Handler   string // before the instruction; of a return probe: at the return
	Post      string
	Fault     string
	Return    bool  // a return probe, by a handler of the guest and a second probe at its trampoline
	MaxActive int32 // instances of a return probe; 0 for the default
}

// UserProbe is a registered probe of user space.
type UserProbe struct {
	Addr uint64 // of the struct kprobe
	rp   uint64 // of the struct kretprobe, 0 for none
	user uint64 // of the struct uprobe
	file *smp.File
	off  uint64 // in the file
	at   uint64 // in user space
}

// AddUser makes the structures of a probe and registers it. It is inserted nowhere yet. A return probe needs the
// trampoline's probe, too: AddTrampoline.
func (k *Kprobes) AddUser(c Caller, s UserSpec) (*UserProbe, error) {
	if k.users.size == 0 {
		return nil, fmt.Errorf("a probe of user space at %s: %w", s.Symbol, ENOSYS)
	}
	fn, ok := k.im.Func(s.Symbol)
	if !ok {
		return nil, fmt.Errorf("a probe of user space: the image has no function %s", s.Symbol)
	}
	p := &UserProbe{file: s.File, at: fn.Entry + s.Offset}
	p.off = p.at - s.File.Base
	if err := k.buildUser(c, p, s); err != nil {
		return nil, errors.Join(err, k.releaseUser(p))
	}
	if err := k.RegisterUser(c, p.Addr); err != nil {
		return nil, errors.Join(fmt.Errorf("registering a probe of user space at %s+%#x: %w", s.Symbol, s.Offset, err),
			k.releaseUser(p))
	}
	return p, nil
}

// AddTrampoline makes the probe to which return probed functions of a file return.
func (k *Kprobes) AddTrampoline(c Caller, f *smp.File) (*UserProbe, error) {
	return k.AddUser(c, UserSpec{File: f, Symbol: "user_trampoline", Handler: "user_trampoline_hit"})
}

// buildUser allocates the structures and fills them in as a module would.
func (k *Kprobes) buildUser(c Caller, p *UserProbe, s UserSpec) (err error) {
	size, pre := k.l.p.size, k.l.p.pre
	if s.Return {
		size, pre = k.l.r.size, k.l.r.handler
	}
	at, err := k.m.alloc(size)
	if err != nil {
		return err
	}
	if p.Addr = at; s.Return {
		p.rp, p.Addr = at, at+k.l.r.kp.Offset
	}
	if p.user, err = k.m.alloc(k.users.size); err != nil {
		return err
	}
	k.m.Store(p.Addr, k.users.user, p.user)
	k.m.Store(p.user, k.users.inode, s.File.Inode)
	k.m.Store(p.user, k.users.offset, p.off)
	if err := k.storeHandlers(at, []handler{{s.Handler, pre}, {s.Post, k.l.p.post}, {s.Fault, k.l.p.fault}}); err != nil {
		return err
	}
	if s.Return {
		k.m.Store(p.Addr, k.l.p.pre, k.users.returnPre)
		k.m.Store(p.rp, k.l.r.maxactive, uint64(uint32(s.MaxActive)))
		return k.allocInstances(c, p.rp)
	}
	return k.m.take()
}

// RemoveUserProbe takes a probe out of every page, unregisters it and frees its structures.
func (k *Kprobes) RemoveUserProbe(c Caller, p *UserProbe) error {
	if err := k.Unwatch(p); err != nil {
		return err
	}
	if err := k.awaitInsertions(c, p); err != nil {
		return err
	}
	for again := true; again; { // copies may have been made of pages that were still to come
		removed := false
		if err := k.eachPage(p, func() error { return k.removeUser(c, p.Addr, &removed) }); err != nil {
			return err
		}
		again = removed && k.opt.Mutant != MutantUserOnePass
	}
	if p.rp != 0 { // nobody takes an instance any more, and tasks in a handler are waited for below
		if err := k.orphan(c, p.rp); err != nil {
			return err
		}
	}
	if err := k.UnregisterUser(c, p.Addr); err != nil {
		return err
	}
	if p.rp != 0 {
		k.freeInstances(p.rp)
	}
	return k.releaseUser(p)
}

// awaitInsertions waits until no page that comes in is about to get the breakpoint of a probe that is not watched any more.
// Where no lock guards hits, a removal would pass the page before the breakpoint is there.
func (k *Kprobes) awaitInsertions(c Caller, p *UserProbe) error {
	_, inode, offset := k.place(p.Addr)
	s := k.userSite(inode, offset)
	if s == nil || k.opt.Mutant == MutantUserNoWait {
		return k.m.take()
	}
	return k.smp.Wait(c, &s.inserted, func() bool { return s.inserting == 0 })
}

func (k *Kprobes) releaseUser(p *UserProbe) error {
	for _, at := range []uint64{p.start(), p.user} {
		if at != 0 {
			k.m.free(at)
		}
	}
	return k.m.take()
}

// start is where the allocation of the probe begins.
func (p *UserProbe) start() uint64 {
	if p.rp != 0 {
		return p.rp
	}
	return p.Addr
}

// InsertEverywhere puts a probe into every copy of its page that is in memory, and has the caller's hook put it into
// those that come in later.
func (k *Kprobes) InsertEverywhere(c Caller, p *UserProbe) error {
	if err := k.Watch(p); err != nil {
		return err
	}
	return k.eachPage(p, func() error {
		if err := k.InsertUser(c, p.Addr); !errors.Is(err, EEXIST) {
			return err
		}
		return nil
	})
}

// eachPage calls f with the structure filled in for each copy of the page.
func (k *Kprobes) eachPage(p *UserProbe, f func() error) error {
	for _, m := range k.smp.Pages(p.file, p.off) {
		k.aim(p, m)
		if err := f(); err != nil {
			return err
		}
	}
	return k.m.take()
}

// aim fills in what an insertion or a removal is told.
func (k *Kprobes) aim(p *UserProbe, m smp.Mapped) { k.told(p.user, p.at, m.VMA, m.Page) }

// told fills in a struct uprobe, which a probe has one of. Its user sees to it that nobody else does until it has been read,
// so no other CPU goes on here.
func (k *Kprobes) told(u, addr, vma, page uint64) {
	k.m.Access.Store(u, k.users.addr, addr)
	k.m.Access.Store(u, k.users.vma, vma)
	k.m.Access.Store(u, k.users.page, page)
}

// InsertInto puts a probe into one page.
func (k *Kprobes) InsertInto(c Caller, p *UserProbe, m smp.Mapped) error {
	k.aim(p, m)
	return k.InsertUser(c, p.Addr)
}

// Watch has the guest's hook insert the probe into pages that come in. The hook itself is switched on by the first one.
func (k *Kprobes) Watch(p *UserProbe) error {
	at, ok := k.watchSlot(p.Addr)
	if !ok {
		if at, ok = k.watchSlot(0); !ok {
			return fmt.Errorf("the guest's caller has room for %d probes", k.users.watchedSize/uint64(k.l.list.Size))
		}
	}
	k.m.Store(at, k.l.list, p.Addr)
	hook, _ := k.im.Symbol("user_page_hook")
	fn, _ := k.im.Func("user_page_came")
	if k.opt.Mutant != MutantUserNoHook {
		k.m.Store(hook.Addr, k.l.list, fn.Pointer)
	}
	return k.m.take()
}

// Unwatch is the counterpart of Watch.
func (k *Kprobes) Unwatch(p *UserProbe) error {
	if at, ok := k.watchSlot(p.Addr); ok {
		k.m.Store(at, k.l.list, 0)
	}
	return k.m.take()
}

// pageCame inserts the watched probes of a page's place into it, before its task sees it. Nothing comes between looking
// for a probe and reading what its insertion is told, of which a probe has one copy. A probe that is not watched any more
// when the lock of all hits is there is left out: its removals may have gone by.
func (k *Kprobes) pageCame(c Caller, page, vma, address uint64) error {
	inode, from, ok := k.smp.Place(vma, address)
	if !ok {
		return nil
	}
	for at, p := range k.watchList() {
		if p == 0 {
			continue
		}
		u, file, offset := k.place(p)
		if file != inode || offset-from >= pageBytes {
			continue
		}
		k.told(u, address+offset-from, vma, page)
		err := k.insertUser(c, p, func() bool { return k.m.Load(at, k.l.list) == p })
		switch {
		case err == nil:
			k.m.Store(k.users.reinserted, k.l.list, k.m.Load(k.users.reinserted, k.l.list)+1)
		case errors.Is(err, EEXIST):
			if err := k.showInserted(c, file, offset, k.m.Load(page, k.users.address)+offset-from); err != nil {
				return err
			}
		case !errors.Is(err, ENODATA):
			return err
		}
	}
	k.smp.Heard(page)
	return k.m.take()
}

// showInserted makes a breakpoint visible to fetches that another task has stored and may not have made visible yet: the page is
// mapped behind this.
func (k *Kprobes) showInserted(c Caller, inode, offset, at uint64) error {
	s := k.userSite(inode, offset)
	if k.arch.Flush == "" || s == nil || s.inserting == 0 {
		return nil
	}
	_, err := c.InvokeSym(k.arch.Flush, at, at+uint64(len(k.arch.Breakpoint)))
	return err
}

// watchList returns where each entry of the guest's list is, and what it is at that moment.
func (k *Kprobes) watchList() iter.Seq2[uint64, uint64] {
	return func(yield func(at, p uint64) bool) {
		for i := range k.users.watchedSize / uint64(k.l.list.Size) {
			if at := k.users.watched + i*uint64(k.l.list.Size); !yield(at, k.m.Load(at, k.l.list)) {
				return
			}
		}
	}
}

// watchSlot is where the guest's list has a pointer.
func (k *Kprobes) watchSlot(p uint64) (uint64, bool) {
	for at, watched := range k.watchList() {
		if watched == p {
			return at, true
		}
	}
	return 0, false
}

// InsertShared puts a probe into the page that all tasks share, and into no copy of it. The page must be in memory.
func (k *Kprobes) InsertShared(c Caller, p *UserProbe) error {
	pages := k.smp.Pages(p.file, p.off)
	if len(pages) == 0 {
		return fmt.Errorf("the page at %#x of the file is not in memory: touch it first", p.off)
	}
	return k.InsertInto(c, p, pages[0])
}
