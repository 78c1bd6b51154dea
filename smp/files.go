package smp

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kprobesim/image"
)

// VirtualFile is a file of the kernel, as debugfs and sysctl have them. Its text is made when somebody reads.
type VirtualFile struct {
	Path  string
	Read  func(c Caller) (string, error)
	Write func(c Caller, text string) error // nil: nobody may write
}

// errno is an error number of the files, positive here as package kprobes has them.
type errno uint16

// The numbers follow asm-generic/errno-base.h.
const (
	errNoEntry  errno = 2
	errBadFile  errno = 9
	errAccess   errno = 13
	errFault    errno = 14
	errManyOpen errno = 24
	errInvalid  errno = 22
)

// Error says the number's name and what it stands for here.
func (e errno) Error() string {
	return map[errno]string{
		errNoEntry: "-ENOENT: no such file in this kernel", errBadFile: "-EBADF: no open file has this number",
		errAccess: "-EACCES: the file cannot be written", errFault: "-EFAULT: the address is none of user mode",
		errManyOpen: "-EMFILE: too many open files", errInvalid: "-EINVAL: no such call, or a length that cannot be",
	}[e]
}

// Return converts the error to the value that a guest function returns for it: -e as a long.
func (e errno) Return() uint64 { return -uint64(e) }

// numbered is an error that the guest is told as a number.
type numbered interface {
	error
	Return() uint64
}

// openFile is a file that the guest has opened. All tasks share one table.
type openFile struct {
	file *VirtualFile
	text string // what is being read, made by the first read
	at   int    // how much of it was read
	made bool
}

const (
	maxOpen = 1024
	// maxTransfer bounds one read or write. No file is as long, and a wrong length takes no memory of the host.
	maxTransfer = 1 << 20
	maxPath     = 256
)

// AddFile makes a file known. A kernel has one file of a path, the last that was added.
func (k *Kernel) AddFile(f VirtualFile) {
	k.files = append(slices.DeleteFunc(k.files, func(o *VirtualFile) bool { return o.Path == f.Path }), &f)
}

// Paths lists the files in the order in which they were added.
func (k *Kernel) Paths() (paths []string) {
	for _, f := range k.files {
		paths = append(paths, f.Path)
	}
	return paths
}

func (k *Kernel) file(path string) (*VirtualFile, error) {
	for _, f := range k.files {
		if f.Path == path {
			return f, nil
		}
	}
	return nil, fmt.Errorf("%s: %w; it has %s", path, errNoEntry, strings.Join(k.Paths(), ", "))
}

// ReadFile returns the whole text of a file. The error of a path that the kernel does not have lists those that
// it has.
func (k *Kernel) ReadFile(c Caller, path string) (string, error) {
	f, err := k.file(path)
	if err != nil {
		return "", err
	}
	return f.Read(c)
}

// WriteFile writes a text into a file, as a shell's echo does.
func (k *Kernel) WriteFile(c Caller, path, text string) error {
	f, err := k.file(path)
	switch {
	case err != nil:
		return err
	case f.Write == nil:
		err = errAccess
	default:
		err = f.Write(c, text)
	}
	if err != nil {
		return fmt.Errorf("writing %q to %s: %w", text, path, err)
	}
	return nil
}

// fileLayout is where things are in struct file_call, and which ranges user mode may name.
type fileLayout struct {
	op, fd, buf, count      image.Field
	open, read, write, shut uint64
	user                    [][2]uint64
}

// layoutOfFiles is looked up at the first call, because few guests make one.
func (k *Kernel) layoutOfFiles() (*fileLayout, error) {
	if k.fileCalls != nil {
		return k.fileCalls, nil
	}
	l := &fileLayout{}
	if _, err := k.im.Layout("file_call", image.Parts{
		"op": &l.op, "fd": &l.fd, "buf": &l.buf, "count": &l.count,
	}); err != nil {
		return nil, err
	}
	for name, at := range map[string]*uint64{
		"FILE_OPEN": &l.open, "FILE_READ": &l.read, "FILE_WRITE": &l.write, "FILE_CLOSE": &l.shut,
	} {
		v, err := k.im.Enum(name)
		if err != nil {
			return nil, err
		}
		*at = uint64(v)
	}
	for _, name := range []string{".user.text", ".user.data", ".user.bss"} {
		if base, size, ok := k.im.Section(name); ok {
			l.user = append(l.user, [2]uint64{base, base + size})
		}
	}
	k.fileCalls = l
	return l, nil
}

// fileCall answers one call on a file: what it returns is a number of a file, of bytes, or of an error. An error
// without a number is a failure of the simulated machine.
func (k *Kernel) fileCall(c Caller, at uint64) uint64 {
	v, err := k.doFile(c, at)
	var n numbered
	switch {
	case err == nil:
		return v
	case errors.As(err, &n):
		return n.Return()
	}
	k.fail(fmt.Errorf("a call on a file by %q: %w", k.lookUp(k.Current(c)).name, err))
	return errFault.Return()
}

func (k *Kernel) doFile(c Caller, at uint64) (uint64, error) {
	l, err := k.layoutOfFiles()
	if err != nil {
		return 0, err
	}
	if !k.mayReach(c, at, uint64(l.count.Offset)+uint64(l.count.Size)) {
		return 0, errFault
	}
	op, fd := k.mem.Load(at, l.op), k.mem.Load(at, l.fd)
	buf, n := k.mem.Load(at, l.buf), k.mem.Load(at, l.count)
	if op == l.open {
		n = maxPath
	}
	switch {
	case n > maxTransfer:
		return 0, errInvalid
	case op != l.shut && op != l.open && !k.mayReach(c, buf, n), op == l.open && !k.mayReach(c, buf, 1):
		return 0, errFault
	case op == l.open:
		return k.openFile(buf)
	}
	f, err := k.opened(fd)
	if err != nil {
		return 0, err
	}
	switch op {
	case l.read:
		return k.readOpen(c, f, buf, n)
	case l.write:
		return k.writeOpen(c, f, buf, n)
	case l.shut:
		k.open[fd] = nil
		return 0, nil
	}
	return 0, errInvalid
}

// mayReach holds an address against what a user task may name. Tasks of the kernel may name everything.
func (k *Kernel) mayReach(c Caller, at, n uint64) bool {
	switch t := k.lookUp(k.Current(c)); {
	case t.level() == 0:
		return true
	case t.space != nil: // its pages are none that Go finds by the kernel's tables
		return false
	}
	for _, r := range k.fileCalls.user {
		if at >= r[0] && at <= r[1] && n <= r[1]-at {
			return true
		}
	}
	return false
}

// openFile takes the lowest number that is free, as open does.
func (k *Kernel) openFile(at uint64) (uint64, error) {
	path, err := k.text(at)
	if err != nil {
		return 0, err
	}
	f, err := k.file(path)
	if err != nil {
		return 0, err
	}
	for i, o := range k.open {
		if o == nil {
			k.open[i] = &openFile{file: f}
			return uint64(i), nil
		}
	}
	if len(k.open) == maxOpen {
		return 0, errManyOpen
	}
	k.open = append(k.open, &openFile{file: f})
	return uint64(len(k.open) - 1), nil
}

// text reads a string up to its zero byte. One that is longer than a path may be is no path.
func (k *Kernel) text(at uint64) (string, error) {
	var b strings.Builder
	for i := range uint64(maxPath) {
		v, err := k.g.Load(at+i, 1)
		switch {
		case err != nil:
			return "", errFault
		case v == 0:
			return b.String(), nil
		}
		b.WriteByte(byte(v))
	}
	return "", errNoEntry
}

func (k *Kernel) opened(fd uint64) (*openFile, error) {
	if fd >= uint64(len(k.open)) || k.open[fd] == nil {
		return nil, errBadFile
	}
	return k.open[fd], nil
}

// readOpen makes the text at the first read and hands it out piece by piece, so that a reader sees the state of
// one moment, however small its buffer is.
func (k *Kernel) readOpen(c Caller, f *openFile, buf, n uint64) (uint64, error) {
	if !f.made {
		text, err := f.file.Read(c)
		if err != nil {
			return 0, err
		}
		f.text, f.made = text, true
	}
	piece := f.text[f.at:min(uint64(len(f.text)), uint64(f.at)+n)]
	if k.g.WriteBytes(buf, []byte(piece)) != nil {
		return 0, errFault
	}
	f.at += len(piece)
	return uint64(len(piece)), nil
}

// writeOpen has the file's function take all that is written at once.
func (k *Kernel) writeOpen(c Caller, f *openFile, buf, n uint64) (uint64, error) {
	if f.file.Write == nil {
		return 0, errAccess
	}
	b := make([]byte, n)
	for i := range b {
		v, err := k.g.Load(buf+uint64(i), 1)
		if err != nil {
			return 0, errFault
		}
		b[i] = byte(v)
	}
	return n, f.file.Write(c, string(b))
}
