package rootfs

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"

	"kprobesim/distro"
)

// most bounds the bytes of an archive that is unpacked.
const most = 1 << 30

// Heads by which archives are known.
const (
	gzipHead = "\x1f\x8b"
	cpioHead = "070701"
	cpioSum  = "070702" // the same with checksums, which nobody looks at
)

// Archive adds the files of an archive.
func (t Tree) Archive(b []byte) error {
	if bytes.HasPrefix(b, []byte(gzipHead)) {
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return err
		}
		if b, err = io.ReadAll(io.LimitReader(z, most+1)); err != nil {
			return fmt.Errorf("damaged: %w", err)
		}
		if len(b) > most {
			return fmt.Errorf("has more than %d bytes", most)
		}
	}
	if bytes.HasPrefix(b, []byte(cpioHead)) || bytes.HasPrefix(b, []byte(cpioSum)) {
		return t.cpio(b)
	}
	return t.tar(b)
}

// tar adds the files of a tar archive. A hard link becomes another file with the same content.
func (t Tree) tar(b []byte) error {
	r := tar.NewReader(bytes.NewReader(b))
	for n := 0; ; n++ {
		h, err := r.Next()
		switch {
		case err == io.EOF && n > 0:
			return nil
		case err != nil:
			return errors.New("is neither a folder nor an archive of the kinds tar and cpio, packed by gzip or not")
		}
		f := distro.File{Name: h.Name, Mode: uint32(h.FileInfo().Mode() & fs.ModePerm)}
		switch h.Typeflag {
		case tar.TypeReg:
			f.Mode |= Regular
			if f.Data, err = io.ReadAll(r); err != nil {
				return fmt.Errorf("%s: damaged: %w", h.Name, err)
			}
		case tar.TypeDir:
			f.Mode |= Folder
		case tar.TypeSymlink:
			f.Mode, f.Data = Link|0o777, []byte(h.Linkname)
		case tar.TypeLink:
			to, ok := t.Find(h.Linkname)
			if !ok {
				return fmt.Errorf("%s: the other name %s of this file comes not before it", h.Name, h.Linkname)
			}
			f.Mode, f.Data = to.Mode, to.Data
		default:
			continue // devices
		}
		t.Put(f)
	}
}

// cpio adds the files of an archive as kernels unpack it: heads of a magic and 13 numbers of eight hexadecimal digits. Of a file
// with several names the last one alone has the content.
func (t Tree) cpio(b []byte) error {
	const head, last = 110, "TRAILER!!!"
	links := map[uint64][]string{}
	for at := 0; ; {
		if at+head > len(b) {
			return errors.New("the cpio archive is cut off")
		}
		number := func(i int) uint64 {
			n, err := strconv.ParseUint(string(b[at+6+8*i:at+14+8*i]), 16, 32)
			if err != nil {
				n = 1 << 32 // more than there can be
			}
			return n
		}
		inode, mode, size, nameSize := number(0), number(1), number(6), number(11)
		name, data := uint64(at)+head, (uint64(at)+head+nameSize+3)&^3
		if string(b[at:at+6]) != cpioHead && string(b[at:at+6]) != cpioSum || nameSize == 0 || data+size > uint64(len(b)) {
			return fmt.Errorf("the cpio archive is damaged at byte %d", at)
		}
		f := distro.File{Name: string(b[name : name+nameSize-1]), Mode: uint32(mode), Data: b[data : data+size]}
		if f.Name == last {
			return nil
		}
		switch f.Mode & typeMask {
		case Regular, Folder, Link:
			t.Put(f)
		}
		if f.Mode&typeMask == Regular {
			links[inode] = append(links[inode], f.Name)
			t.share(links[inode], f, number(4) > 1)
		}
		at = int((data + size + 3) &^ 3)
	}
}

// share gives the other names of a file its content.
func (t Tree) share(names []string, f distro.File, several bool) {
	if !several || len(f.Data) == 0 {
		return
	}
	for _, n := range names {
		f.Name = n
		t.Put(f)
	}
}
