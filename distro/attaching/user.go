package attaching

import (
	"bytes"
	"debug/elf"
	"fmt"
	"strings"
)

// ownFile is the program in the machine, as a file.
const ownFile = "/init"

// User reports whether a way puts probes into programs.
func User(way string) bool {
	switch way {
	case Uprobe, Uretprobe, UprobeMulti, UretprobeMulti, UprobeSession, USDT:
		return true
	}
	return false
}

// userFile is a program or a library of the guest.
type userFile struct {
	*elf.File
	path    string
	content []byte
}

// file reads a file of the guest.
func (a *attacher) file(name string) (*userFile, error) {
	path, content, err := a.File(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.what, err)
	}
	f, err := elf.NewFile(bytes.NewReader(content))
	if err != nil || f.Machine != a.Machine() {
		return nil, fmt.Errorf("%s: %s is no program or library of %s", a.what, path, machineOf(a.Machine()).name)
	}
	return &userFile{f, path, content}, nil
}

// place is that of a probe in a program, as kernels want it: a file, and the offset in it. A target without a file is one of the
// program in the machine.
func (a *attacher) place() (path string, offset uint64, err error) {
	file, function, ok := strings.Cut(a.Target, ":")
	if !ok {
		file, function = ownFile, a.Target
	}
	b, err := a.file(file)
	if err != nil {
		return "", 0, err
	}
	at, size, err := b.find(function, elf.STT_FUNC)
	if err == nil && a.Offset > 0 && a.Offset >= size {
		err = fmt.Errorf("%d bytes in %s, and no place %#x", size, function, a.Offset)
	}
	if err == nil {
		err = a.Begins(b.content[min(at, uint64(len(b.content))):], a.Offset)
	}
	if err != nil {
		return "", 0, fmt.Errorf("%s: %s has %w", a.what, b.path, err)
	}
	return b.path, at + a.Offset, nil
}

// find is the offset in the file of a function or variable, and how many bytes it has. Of versions of a function it is that to which programs are linked now.
func (b *userFile) find(name string, kind elf.SymType) (at, size uint64, err error) {
	static, _ := b.Symbols()         // none where they were stripped
	dynamic, _ := b.DynamicSymbols() // none in a static program
	none := fmt.Errorf("no function %s", name)
	if len(static) == 0 {
		none = fmt.Errorf("no function %s among those that it exports, and was stripped of the names of others", name)
	}
	var found *elf.Symbol
	for _, s := range append(dynamic, static...) {
		plain, _, _ := strings.Cut(s.Name, "@")
		switch {
		case plain != name:
		case s.Section == elf.SHN_UNDEF:
			none = fmt.Errorf("%s from another file: name that", name)
		case elf.ST_TYPE(s.Info) == elf.STT_GNU_IFUNC:
			none = fmt.Errorf("several functions behind %s, one of which is chosen when the program starts: name that", name)
		case elf.ST_TYPE(s.Info) == kind && (found == nil || found.VersionIndex.IsHidden()):
			found = &s
		}
	}
	if found == nil {
		return 0, 0, none
	}
	at, ok := b.offset(found.Value)
	if !ok {
		return 0, 0, fmt.Errorf("%s outside of what is loaded", name)
	}
	return at, found.Size, nil
}

// offset is where an address lies in the file.
func (b *userFile) offset(addr uint64) (uint64, bool) {
	for _, p := range b.Progs {
		if p.Type == elf.PT_LOAD && addr >= p.Vaddr && addr-p.Vaddr < p.Filesz {
			return addr - p.Vaddr + p.Off, true
		}
	}
	return 0, false
}

// uprobe attaches to a function of a program, or to its return.
func (a *attacher) uprobe() error {
	kind, err := a.source("uprobe")
	if err != nil {
		return err
	}
	path, at, err := a.place()
	if err != nil {
		return err
	}
	m := a.Memory()
	attr := a.probe(kind, a.Way == Uretprobe)
	attr.u64(56, m.Text(path))
	attr.u64(64, at)
	return a.perf(m, attr)
}

// uprobeMulti attaches by one call to as many places of a file as it is told, here to one.
func (a *attacher) uprobeMulti() error {
	path, at, err := a.place()
	if err != nil {
		return err
	}
	m, attr := a.Memory(), make(fields, 64)
	attr.u32(0, uint32(a.fd))
	attr.u32(8, a.way.target.attached)
	attr.u64(16, m.Text(path))
	list := make(fields, 8)
	list.u64(0, at)
	attr.u64(24, m.put(list))
	attr.u32(48, 1)
	if a.Way == UretprobeMulti {
		attr.u32(52, 1)
	}
	_, err = bpf(a, a.what, linkCreate, m, attr)
	return err
}
