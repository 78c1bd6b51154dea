package smp

import (
	"fmt"
	"slices"
)

// Process says what a task with an address space of its own does.
type Process struct {
	Thread
	Program *File
	// WritableText lets the task write its code: the first store gives it a copy of the page.
	WritableText bool
}

// stackPages is the size of a process's stack.
const stackPages = 8

// SpawnProcess starts a task in user mode with an address space of its own. No page of it is there yet. The file is
// mapped where it is linked: code and data that all processes share until one writes them, behind them memory
// that begins as zeros, and a stack.
func (k *Kernel) SpawnProcess(c Caller, p Process) (task uint64, s *Space, err error) {
	fail := func(err error) (uint64, *Space, error) {
		return 0, nil, fmt.Errorf("process %s: %w", p.Name, err)
	}
	l, err := k.layOut()
	if err != nil {
		return fail(err)
	}
	fn, ok := k.l.symbol(p.Fn)
	if !ok {
		return fail(fmt.Errorf("the image has no function %s", p.Fn))
	}
	// The pages that those share are global: every address space would have them.
	if k.user.shared {
		return fail(fmt.Errorf("user tasks without address spaces have run on this machine: use either kind"))
	}
	if err := k.prepareUser(c); err != nil {
		return fail(err)
	}
	if s, err = k.newSpace(c, p); err != nil {
		return fail(err)
	}
	start, err := k.alloc(l.startSize, 64)
	if err != nil {
		return fail(err)
	}
	s.owned = append(s.owned, start)
	k.mem.Store(start, l.startMM, s.MM)
	k.mem.Store(start, l.startFn, fn)
	k.mem.Store(start, l.startArg, p.Arg)
	k.mem.Store(start, l.startStack, l.top-k.opt.Layout.Stack)
	body, _ := k.l.symbol("process_thread")
	if s.task, err = k.create(c, p.Thread, body, start, 0); err != nil {
		return fail(err)
	}
	k.tasks[s.task].space = s
	return s.task, s, nil
}

// newSpace makes an address space with the areas of a process.
func (k *Kernel) newSpace(c Caller, p Process) (*Space, error) {
	l := k.spaces.l
	k.release()
	if k.spaces.numbers == MaxSpaces {
		return nil, fmt.Errorf("a machine has numbers for %d address spaces in its life", MaxSpaces)
	}
	k.spaces.numbers++
	s := &Space{swapped: map[uint64][]byte{}}
	var err error
	if s.MM, err = k.own(s, l.mmSize, 64); err != nil {
		return nil, err
	}
	root := uint64(0)
	if l.rootSize > 0 {
		if root, err = k.own(s, l.rootSize, l.rootSize); err != nil {
			return nil, err
		}
	}
	k.mem.Store(s.MM, l.pgd, root)
	k.mem.Store(s.MM, l.context, k.spaces.numbers)
	if err := k.mapProgram(s, p); err != nil {
		return nil, err
	}
	if err := k.link(s); err != nil {
		return nil, err
	}
	k.spaces.list = append(k.spaces.list, s)
	_, err = c.InvokeSym("init_space", s.MM)
	return s, err
}

// own allocates what goes with a space.
func (k *Kernel) own(s *Space, size, align uint64) (uint64, error) {
	at, err := k.alloc(size, align)
	s.owned = append(s.owned, at)
	return at, err
}

// mapProgram adds the areas of a program.
func (k *Kernel) mapProgram(s *Space, p Process) error {
	l, f := k.spaces.l, p.Program
	up := func(v uint64) uint64 { return (v + pageSize - 1) &^ (pageSize - 1) }
	for _, g := range k.userSegments() {
		flags := l.flagRead
		if g.Write || p.WritableText {
			flags |= l.flagWrite
		}
		if g.Exec {
			flags |= l.flagExec
		}
		from, middle, to := g.VA, up(g.VA+uint64(len(g.Data))), up(g.VA+g.MemSize)
		if err := k.addArea(s, area{start: from, end: min(middle, to), file: f, offset: from - f.Base}, flags); err != nil {
			return err
		}
		if middle < to {
			if err := k.addArea(s, area{start: middle, end: to}, l.flagRead|l.flagWrite); err != nil {
				return err
			}
		}
	}
	return k.addArea(s, area{start: l.top - stackPages*pageSize, end: l.top}, l.flagRead|l.flagWrite)
}

// addArea makes a struct vm_area_struct.
func (k *Kernel) addArea(s *Space, a area, flags uint64) (err error) {
	l := k.spaces.l
	if a.vma, err = k.own(s, l.vmaSize, 64); err != nil {
		return err
	}
	n := (a.end - a.start) / pageSize * uint64(k.im.Bits/8)
	if a.pages, err = k.own(s, n, 64); err != nil {
		return err
	}
	places, err := k.own(s, n, 64)
	if err != nil {
		return err
	}
	k.mem.Store(a.vma, l.vmMM, s.MM)
	k.mem.Store(a.vma, l.vmStart, a.start)
	k.mem.Store(a.vma, l.vmEnd, a.end)
	k.mem.Store(a.vma, l.vmFlags, flags)
	k.mem.Store(a.vma, l.vmPages, a.pages)
	k.mem.Store(a.vma, l.vmPlaces, places)
	if a.file != nil {
		k.mem.Store(a.vma, l.vmInode, a.file.Inode)
		k.mem.Store(a.vma, l.vmOff, a.offset/pageSize)
	}
	s.areas = append(s.areas, a)
	return k.mem.Err
}

// link chains the areas in the order of their addresses, in which they were added.
func (k *Kernel) link(s *Space) error {
	l := k.spaces.l
	k.mem.Store(s.MM, l.mmap, s.areas[0].vma)
	for i, a := range s.areas[1:] {
		k.mem.Store(s.areas[i].vma, l.vmNext, a.vma)
	}
	return k.mem.Err
}

// release frees the spaces of tasks that have left their CPU for good.
func (k *Kernel) release() {
	k.spaces.dead = slices.DeleteFunc(k.spaces.dead, func(s *Space) bool {
		if k.mem.Load(s.task, k.l.onCPU) != 0 {
			return false
		}
		for _, at := range s.owned {
			k.fail(k.spaces.pages.Free(at))
		}
		k.spaces.list = slices.DeleteFunc(k.spaces.list, func(o *Space) bool { return o == s })
		return true
	})
}

// area finds that of an address.
func (s *Space) area(address uint64) *area {
	i := slices.IndexFunc(s.areas, func(a area) bool { return a.start <= address && address < a.end })
	if i < 0 {
		return nil
	}
	return &s.areas[i]
}

// Mapped is a page of a space: its structure, where the kernel sees it, and the structure of its area.
type Mapped struct{ Page, Address, VMA uint64 }

// Page returns what is mapped at an address; false where nothing is.
func (k *Kernel) Page(s *Space, address uint64) (Mapped, bool) {
	a := s.area(address)
	if a == nil {
		return Mapped{}, false
	}
	p := k.mem.Load(k.slot(a, address), k.pointer())
	if p == 0 {
		return Mapped{VMA: a.vma}, false
	}
	return Mapped{Page: p, Address: k.mem.Load(p, k.spaces.l.address), VMA: a.vma}, k.mem.Err == nil
}

// Touch brings the page of an address in as an access of its task would, which does not run meanwhile: see TouchStopped.
func (k *Kernel) Touch(c Caller, s *Space, address uint64, write bool) error {
	access := uint64(2) // as one that met no page
	if write {
		access |= 1
	}
	if m, ok := k.Page(s, address); ok && (!write || k.mem.Load(m.Page, k.spaces.l.private) != 0) {
		return nil
	}
	ok, err := c.InvokeSym("bring_user_page", s.MM, address, access)
	if err == nil && ok&0xffffffff == 0 {
		err = fmt.Errorf("%#x is no address of user space that may be accessed so", address)
	}
	return err
}

// TouchStopped is Touch while the machine stands still. A task that runs on another CPU may bring the page in as well, or be in the
// middle of a hit in the page whose place a copy takes, and end the hit in the copy.
func (k *Kernel) TouchStopped(c Caller, s *Space, address uint64, write bool) error {
	return k.remap(c, address, func(c Caller) error { return k.Touch(c, s, address, write) })
}

// PageOut takes the page of an address from a space. One of the space alone goes to swap. One of a file
// stays in memory for others: see Drop.
func (k *Kernel) PageOut(c Caller, s *Space, address uint64) error {
	return k.takeOwn(c, s, address, func(m Mapped) error {
		content, err := k.spaces.pages.ReadBytes(m.Address, pageSize)
		s.swapped[address&^(pageSize-1)] = content
		return err
	})
}

// Discard gives up a space's own copy of the page at an address, in memory or in swap. The next access gets what the
// file has.
func (k *Kernel) Discard(c Caller, s *Space, address uint64) error {
	delete(s.swapped, address&^(pageSize-1))
	if m, ok := k.Page(s, address); !ok || k.mem.Load(m.Page, k.spaces.l.private) == 0 {
		return nil
	}
	return k.takeOwn(c, s, address, func(Mapped) error { return nil })
}

// takeOwn takes the page of an address from a space. If it is the space's own, keep is called before it is freed.
func (k *Kernel) takeOwn(c Caller, s *Space, address uint64, keep func(m Mapped) error) error {
	var own Mapped
	err := k.remap(c, address, func(c Caller) error {
		m, ok := k.Page(s, address)
		if !ok {
			return nil
		}
		if k.mem.Load(m.Page, k.spaces.l.private) != 0 {
			own = m
			if err := keep(m); err != nil {
				return err
			}
		}
		_, err := c.InvokeSym("unmap_user_page", m.VMA, address&^(pageSize-1))
		return err
	})
	if err != nil || own.Page == 0 {
		return err
	}
	s.owned = slices.DeleteFunc(s.owned, func(at uint64) bool { return at == own.Page || at == own.Address })
	s.arriving = slices.DeleteFunc(s.arriving, func(x arriving) bool { return x.page == own.Page })
	return k.freePage(own.Page, own.Address)
}

// Drop takes a page of a file from memory, and from every space that maps it. The next access reads the file.
func (k *Kernel) Drop(c Caller, f *File, offset uint64) error {
	index := offset / pageSize
	p, ok := f.cached[index]
	if !ok {
		return nil
	}
	at := f.Base + index*pageSize
	err := k.remap(c, at, func(c Caller) error {
		delete(f.cached, index)
		delete(f.unheard, p)
		for _, s := range k.spaces.list {
			a := s.area(at)
			if a == nil || a.file != f || k.mem.Load(k.slot(a, at), k.pointer()) != p {
				continue
			}
			if _, err := c.InvokeSym("unmap_user_page", a.vma, at); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return k.freePage(p, k.mem.Load(p, k.spaces.l.address))
}

// remap has f change entries while the machine stands still, and all CPUs forget them. There is no lock of the page
// tables: a task that is bringing the page in, or is in the middle of a hit in it, would go on with a page that is no
// more.
func (k *Kernel) remap(c Caller, address uint64, f func(Caller) error) error {
	if err := k.StopMachine(c, f); err != nil {
		return err
	}
	return k.OnEachCPU(c, "forget_user_entry", address&^(pageSize-1))
}

func (k *Kernel) freePage(page, address uint64) error {
	if err := k.spaces.pages.Free(address); err != nil {
		return err
	}
	return k.spaces.pages.Free(page)
}

// Faults is how many pages were brought in for a space.
func (k *Kernel) Faults(s *Space) uint64 { return k.mem.Load(s.MM, k.spaces.l.faults) }
