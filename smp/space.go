package smp

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"kprobesim/image"
)

// pageSize is that of user space, in bytes, on every instruction set.
const pageSize = 4096

// Costs of what the simulator does with pages in the kernel's stead, in cycles. They are orders of magnitude. No hit
// of a probe contains one.
const (
	costPage = 500  // finding or allocating one
	costCopy = 1000 // its content
)

// MaxSpaces is how many address spaces a machine can have had: the processor with the fewest numbers for them has 8
// bits of it.
const MaxSpaces = 255

// File is a file that user space is mapped from. Its pages in memory are shared by all who map it.
type File struct {
	Inode   uint64 // struct inode
	Base    uint64 // the virtual address at which the program is linked
	content []byte
	cached  map[uint64]uint64 // struct page by index
	unheard map[uint64]bool   // pages of which the hook for those that come in has not been told to the end
}

// Space is the address space of one process.
type Space struct {
	MM      uint64 // struct mm_struct
	task    uint64 // whose space it is
	areas   []area
	swapped map[uint64][]byte // contents by address

	arriving []arriving // newest last; some of them have arrived
	owned    []uint64   // what goes with the space: pages, tables and structures
}

// area is a struct vm_area_struct.
type area struct {
	vma, start, end uint64
	pages           uint64 // its array
	file            *File
	offset          uint64 // bytes from the start of the file
}

// spaceLayout is where things are in the structures of linux/mm.h.
type spaceLayout struct {
	inodeSize, pageSize, vmaSize, mmSize, startSize uint64

	ino, isize                                            image.Field
	inode, index, address, private, fresh                 image.Field // of struct page
	vmMM, vmStart, vmEnd, vmNext, vmFlags, vmOff, vmInode image.Field
	vmPages, vmPlaces                                     image.Field
	mmap, pgd, context, faults                            image.Field
	startMM, startFn, startArg, startStack                image.Field
	flagRead, flagWrite, flagExec, rootSize, top          uint64
}

// Pages is memory whose pages come and go: *sim.Machine.
type Pages interface {
	Free(va uint64) error
	ReadBytes(va uint64, n int) ([]byte, error)
}

// spaces holds what the services know of address spaces.
type spaces struct {
	l       *spaceLayout // nil while nobody has asked
	list    []*Space     // living ones, in the order in which they came up
	files   []*File
	dead    []*Space
	numbers uint64 // that have been given away
	pages   Pages
}

// Spaces reports whether the image's tasks can have address spaces of their own.
func Spaces(im *image.Image) bool {
	_, ok := im.Symbol("process_thread")
	return ok
}

// layOut finds the structures.
func (k *Kernel) layOut() (*spaceLayout, error) {
	if k.spaces.l != nil {
		return k.spaces.l, nil
	}
	if !Spaces(k.im) {
		return nil, fmt.Errorf("image %s has no address spaces of user tasks: use one with the option userprobes", k.im.Name)
	}
	l := &spaceLayout{}
	for _, s := range []struct {
		name  string
		size  *uint64
		parts image.Parts
	}{
		{"inode", &l.inodeSize, image.Parts{"i_ino": &l.ino, "i_size": &l.isize}},
		{"page", &l.pageSize, image.Parts{
			"inode": &l.inode, "index": &l.index, "address": &l.address, "private": &l.private, "fresh": &l.fresh,
		}},
		{"vm_area_struct", &l.vmaSize, image.Parts{
			"vm_mm": &l.vmMM, "vm_start": &l.vmStart, "vm_end": &l.vmEnd, "vm_next": &l.vmNext, "vm_flags": &l.vmFlags,
			"vm_pgoff": &l.vmOff, "vm_inode": &l.vmInode, "pages": &l.vmPages, "places": &l.vmPlaces,
		}},
		{"mm_struct", &l.mmSize, image.Parts{"mmap": &l.mmap, "pgd": &l.pgd, "context": &l.context, "faults": &l.faults}},
		{"process_start", &l.startSize, image.Parts{
			"mm": &l.startMM, "fn": &l.startFn, "arg": &l.startArg, "stack": &l.startStack,
		}},
	} {
		var err error
		if *s.size, err = k.im.Layout(s.name, s.parts); err != nil {
			return nil, err
		}
	}
	if err := k.readNumbers(l); err != nil {
		return nil, err
	}
	k.spaces.l = l
	return l, nil
}

// readNumbers takes what the image says of rights and of tables.
func (k *Kernel) readNumbers(l *spaceLayout) error {
	l.flagRead, l.flagWrite, l.flagExec = 1, 2, 4
	for _, v := range []struct {
		name string
		at   *uint64
	}{{"user_stack_top", &l.top}, {"user_root_size", &l.rootSize}} {
		s, ok := k.im.Symbol(v.name)
		if !ok {
			return fmt.Errorf("image %s has no variable %s", k.im.Name, v.name)
		}
		*v.at = k.mem.Load(s.Addr, k.pointer())
	}
	return k.mem.Err
}

// alloc takes zeroed memory.
func (k *Kernel) alloc(size, align uint64) (uint64, error) {
	at, err := k.g.Alloc(size, align)
	if err != nil {
		return 0, err
	}
	return at, k.g.WriteBytes(at, make([]byte, size))
}

// newFile makes a file of some bytes, which a program would map at base.
func (k *Kernel) newFile(content []byte, base uint64) (*File, error) {
	l, err := k.layOut()
	if err != nil {
		return nil, err
	}
	f := &File{Base: base, content: slices.Clone(content), cached: map[uint64]uint64{}, unheard: map[uint64]bool{}}
	if f.Inode, err = k.alloc(l.inodeSize, 64); err != nil {
		return nil, err
	}
	k.spaces.files = append(k.spaces.files, f)
	k.mem.Store(f.Inode, l.ino, uint64(len(k.spaces.files)))
	k.mem.Store(f.Inode, l.isize, uint64(len(content)))
	return f, k.mem.Err
}

// Program is the file of what the image has for user mode: its pages as they were linked.
func (k *Kernel) Program() (*File, error) {
	segs := k.userSegments()
	if len(segs) == 0 {
		return nil, fmt.Errorf("image %s has no code for user mode", k.im.Name)
	}
	base := segs[0].VA
	last := segs[len(segs)-1]
	content := make([]byte, last.VA+uint64(len(last.Data))-base)
	for _, s := range segs {
		copy(content[s.VA-base:], s.Data)
	}
	return k.newFile(content, base)
}

// userSegments lists the segments of user mode, by address.
func (k *Kernel) userSegments() []image.Segment {
	segs := slices.DeleteFunc(slices.Clone(k.im.Segments), func(s image.Segment) bool { return !s.User || s.MemSize == 0 })
	slices.SortFunc(segs, func(a, b image.Segment) int { return cmp.Compare(a.VA, b.VA) })
	return segs
}

// flush has no CPU go on with what the memory of a page of code held before, where software keeps instruction caches in
// step with what is stored. Others may run meanwhile.
func (k *Kernel) flush(c Caller, page uint64) error {
	if !k.flushes() {
		return nil
	}
	at := k.mem.Load(page, k.spaces.l.address)
	_, err := c.InvokeSym("flush_icache_range", at, at+pageSize)
	return err
}

func (k *Kernel) flushes() bool {
	_, ok := k.im.Func("flush_icache_range")
	return ok && len(k.cpus) > 1
}

// page allocates a page of memory and its structure.
func (k *Kernel) page(content []byte) (uint64, error) {
	l := k.spaces.l
	p, err := k.alloc(l.pageSize, 64)
	if err != nil {
		return 0, err
	}
	at, err := k.alloc(pageSize, pageSize)
	if err != nil {
		return 0, err
	}
	k.mem.Store(p, l.address, at)
	return p, k.g.WriteBytes(at, content)
}

// read is the page of a file, and whether it had to be read.
func (k *Kernel) read(c Caller, f *File, index uint64) (p uint64, fresh bool, err error) {
	if p, ok := f.cached[index]; ok {
		return p, false, nil
	}
	c.Charge(costCopy)
	from := min(index*pageSize, uint64(len(f.content)))
	to := min(from+pageSize, uint64(len(f.content)))
	if p, err = k.page(f.content[from:to]); err != nil {
		return 0, false, err
	}
	if err := k.flush(c, p); err != nil {
		return 0, false, err
	}
	if other, ok := f.cached[index]; ok { // read on another CPU meanwhile
		return other, false, k.freePage(p, k.mem.Load(p, k.spaces.l.address))
	}
	k.mem.Store(p, k.spaces.l.inode, f.Inode)
	k.mem.Store(p, k.spaces.l.index, index)
	f.cached[index] = p
	hook, _ := k.im.Symbol("user_page_hook")
	f.unheard[p] = k.mem.Load(hook.Addr, k.pointer()) != 0
	return p, true, k.mem.Err
}

// private makes a page that one space has alone.
func (k *Kernel) private(c Caller, s *Space, a *area, address uint64, content []byte) (uint64, error) {
	c.Charge(costCopy)
	p, err := k.page(content)
	if err != nil {
		return 0, err
	}
	s.owned = append(s.owned, p, k.mem.Load(p, k.spaces.l.address))
	k.mem.Store(p, k.spaces.l.private, 1)
	if a.file != nil {
		k.mem.Store(p, k.spaces.l.inode, a.file.Inode)
		k.mem.Store(p, k.spaces.l.index, (a.offset+address-a.start)/pageSize)
		s.arriving = append(s.arriving, arriving{p, address, a})
		return p, errors.Join(k.flush(c, p), k.mem.Err)
	}
	return p, k.mem.Err
}

// find returns the space and the area of a struct vm_area_struct.
func (k *Kernel) find(vma uint64) (*Space, *area) {
	for _, s := range k.spaces.list {
		for i := range s.areas {
			if s.areas[i].vma == vma {
				return s, &s.areas[i]
			}
		}
	}
	return nil, nil
}

// slot is the address of the pointer to the page that is mapped.
func (k *Kernel) slot(a *area, address uint64) uint64 {
	return a.pages + (address-a.start)/pageSize*uint64(k.im.Bits/8)
}

func (k *Kernel) pointer() image.Field { return image.Field{Size: k.im.Bits / 8} }

// userPage answers the guest's user_page: which page an access gets.
// A page that the access may not write is copied. What was swapped out comes back as it was.
func (k *Kernel) userPage(c Caller, vma, address uint64, write bool) (uint64, error) {
	c.Charge(costPage)
	s, a := k.find(vma)
	if s == nil {
		return 0, nil
	}
	l := k.spaces.l
	if content, ok := s.swapped[address]; ok {
		delete(s.swapped, address)
		return k.fresh(k.private(c, s, a, address, content))
	}
	if a.file == nil {
		return k.private(c, s, a, address, nil)
	}
	p, read, err := k.read(c, a.file, (a.offset+address-a.start)/pageSize)
	if there := k.mem.Load(k.slot(a, address), k.pointer()); there != 0 {
		p = there
	}
	switch {
	case err != nil:
		return 0, err
	case write:
		content, err := k.spaces.pages.ReadBytes(k.mem.Load(p, l.address), pageSize)
		if err != nil {
			return 0, err
		}
		return k.fresh(k.private(c, s, a, address, content))
	case read || a.file.unheard[p]: // a second task must not see the page before the hook is done with it
		return k.fresh(p, nil)
	}
	return p, nil
}

// fresh marks a page that the hook is to hear of.
func (k *Kernel) fresh(p uint64, err error) (uint64, error) {
	if err == nil {
		k.mem.Store(p, k.spaces.l.fresh, 1)
	}
	return p, err
}

// userTable answers the guest's user_table.
func (k *Kernel) userTable(mm uint64) (uint64, error) {
	at, err := k.alloc(pageSize, pageSize)
	for _, s := range k.spaces.list {
		if s.MM == mm {
			s.owned = append(s.owned, at)
		}
	}
	return at, err
}

// bindSpaces gives the natives of address spaces their functions, where the image has them.
func (k *Kernel) bindSpaces(bind func(name string, f func(Caller, func(int) uint64) (uint64, error))) {
	bind("user_page", func(c Caller, arg func(int) uint64) (uint64, error) {
		return k.userPage(c, arg(0), arg(1), arg(2) != 0)
	})
	bind("user_table", func(_ Caller, arg func(int) uint64) (uint64, error) { return k.userTable(arg(0)) })
}

// Heard says that the hook has been told of a page that comes in, and is done.
func (k *Kernel) Heard(page uint64) {
	for _, f := range k.spaces.files {
		delete(f.unheard, page)
	}
}

// Place is where in a file the page of an address lies, for a struct vm_area_struct; false for memory without a file.
func (k *Kernel) Place(vma, address uint64) (inode, offset uint64, ok bool) {
	s, a := k.find(vma)
	if s == nil || a.file == nil {
		return 0, 0, false
	}
	return a.file.Inode, a.offset + address&^(pageSize-1) - a.start, true
}

// arriving is a copy of a page of a file that no task sees yet.
type arriving struct {
	page, address uint64
	at            *area
}

// coming are the copies on their way, as pages. Those that have arrived are forgotten.
func (k *Kernel) coming(s *Space, f *File, offset uint64) (list []Mapped) {
	s.arriving = slices.DeleteFunc(s.arriving, func(x arriving) bool {
		return k.mem.Load(k.slot(x.at, x.address), k.pointer()) == x.page
	})
	for _, x := range s.arriving {
		if x.at.file == f && x.at.offset+x.address-x.at.start == offset {
			list = append(list, Mapped{x.page, k.mem.Load(x.page, k.spaces.l.address), x.at.vma})
		}
	}
	return list
}

// Pages are all copies in memory of the page at an offset of a file: the one that tasks share, and copies of tasks that
// have written it. Address of user space and area belong to one mapping, 0 where nobody maps the page now.
func (k *Kernel) Pages(f *File, offset uint64) []Mapped {
	var list []Mapped
	add := func(m Mapped) {
		i := slices.IndexFunc(list, func(o Mapped) bool { return o.Page == m.Page })
		if i < 0 {
			list = append(list, m)
		} else if list[i].VMA == 0 {
			list[i] = m
		}
	}
	offset &^= pageSize - 1
	if p, ok := f.cached[offset/pageSize]; ok {
		add(Mapped{Page: p, Address: k.mem.Load(p, k.spaces.l.address)})
	}
	for _, s := range k.spaces.list {
		for _, m := range k.coming(s, f, offset) {
			add(m)
		}
		for i := range s.areas {
			a := &s.areas[i]
			at := a.start + offset - a.offset
			if a.file != f || at < a.start || at >= a.end {
				continue
			}
			if m, ok := k.Page(s, at); ok {
				add(m)
			}
		}
	}
	return list
}
