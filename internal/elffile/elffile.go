// Package elffile opens ELF files of any origin. It words what debug/elf says for people, and turns a panic of a reader
// into an error. What a file must contain is for its reader to say.
package elffile

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
)

// Bytes is io.ReaderAt over a file in memory, without the state of bytes.Reader. Package debug/elf reads through it
// without a copy of the file.
type Bytes []byte

// ReadAt implements io.ReaderAt.
func (b Bytes) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off >= int64(len(b)) {
		return 0, io.EOF
	}
	n := copy(p, b[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Advice says what to do about a file.
type Advice struct {
	Foreign string // that is no ELF file
	Damaged string // that is empty, truncated or damaged
}

// Open reads the headers. b stays in use and must not change. An empty or foreign file is told from a damaged one,
// because the remedies differ.
func (a Advice) Open(b []byte) (*elf.File, error) {
	switch {
	case len(b) == 0:
		return nil, errors.New("file is empty: " + a.Damaged)
	case len(b) < len(elf.ELFMAG) || string(b[:len(elf.ELFMAG)]) != elf.ELFMAG:
		return nil, errors.New("is no ELF file: " + a.Foreign)
	}
	f, err := elf.NewFile(Bytes(b))
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("file is truncated (headers point behind its %d bytes): %s", len(b), a.Damaged)
	}
	if err != nil {
		return nil, fmt.Errorf("damaged ELF headers (%w): %s", err, a.Damaged)
	}
	return f, nil
}

// Guard reads a file by read, and returns its error. Packages debug/elf and debug/dwarf promise no panics, but they were
// not made for files of any origin: a panic is the error of a damaged file.
func (a Advice) Guard(read func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("damaged file (%v): %s", r, a.Damaged)
		}
	}()
	return read()
}
