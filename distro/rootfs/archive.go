package rootfs

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/xi2/xz"

	"kprobesim/distro"
)

// Most bounds the bytes of a folder or an archive, packed or not.
const Most = 1 << 30

// mostDeflated is how many bytes one byte of gzip becomes at most (zlib's technical details: 1032).
const mostDeflated = 1032

// xzWindow bounds the dictionary of xz, in bytes: that of its highest preset.
const xzWindow = 64 << 20

// Heads by which archives are known.
const (
	gzipHead = "\x1f\x8b"
	zstdHead = "\x28\xb5\x2f\xfd"
	xzHead   = "\xfd7zXZ\x00"
	cpioHead = "070701"
	cpioSum  = "070702" // the same with checksums, which nobody looks at
)

// Archive adds the files of an archive. Of an image it also tells how its program runs; nil for other archives. Of images those for
// programs of x86-64 are taken.
func (t Tree) Archive(b []byte) (*Image, error) { return t.ArchiveOf(elf.EM_X86_64, b) }

// ArchiveOf is Archive for programs of an instruction set.
func (t Tree) ArchiveOf(machine elf.Machine, b []byte) (*Image, error) {
	b, err := Unpack(b, Most)
	switch {
	case err != nil:
		return nil, err
	case bytes.HasPrefix(b, []byte(cpioHead)) || bytes.HasPrefix(b, []byte(cpioSum)):
		return nil, t.cpio(b)
	case isImage(b):
		return t.image(platforms(machine), b)
	}
	return nil, t.tar(b, false)
}

// Unpack unpacks bytes that gzip, zstd or xz has packed, up to some bytes. Others stay as they are.
func Unpack(b []byte, limit int) ([]byte, error) {
	var r io.Reader
	var size uint32 // as far as it is known
	switch {
	case bytes.HasPrefix(b, []byte(gzipHead)):
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return nil, fmt.Errorf("damaged: %w", err)
		}
		r, size = z, binary.LittleEndian.Uint32(b[len(b)-4:]) // RFC 1952, 2.3.1
	case bytes.HasPrefix(b, []byte(zstdHead)):
		z, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(Most))
		if err != nil {
			return nil, fmt.Errorf("damaged: %w", err)
		}
		defer z.Close()
		r = z
	case bytes.HasPrefix(b, []byte(xzHead)):
		z, err := xz.NewReader(bytes.NewReader(b), xzWindow)
		if err != nil {
			return nil, fmt.Errorf("damaged: %w", err)
		}
		r = z
	case len(b) > limit:
		return nil, tooLarge()
	default:
		return b, nil
	}
	room := int(min(int64(size), int64(limit), mostDeflated*int64(len(b)))) // a small file may say anything of its size
	out := bytes.NewBuffer(make([]byte, 0, room+1+bytes.MinRead))
	if _, err := out.ReadFrom(io.LimitReader(r, int64(limit)+1)); err != nil {
		return nil, fmt.Errorf("damaged: %w", err)
	}
	if out.Len() > limit {
		return nil, tooLarge()
	}
	return out.Bytes(), nil
}

func tooLarge() error {
	return fmt.Errorf("has more than %d bytes: make an archive or a folder of what the program needs", Most)
}

// tar adds the files of a tar archive. A hard link becomes another file with the same content. A layer has files that take
// others away, which are passed by, and its files go in place of folders too.
func (t Tree) tar(b []byte, layer bool) error {
	in := bytes.NewReader(b)
	r, left := tar.NewReader(in), int64(Most)
	for n := 0; ; n++ {
		h, err := r.Next()
		switch {
		case err == io.EOF && (n > 0 || layer):
			return nil
		case err != nil && n > 0:
			return fmt.Errorf("damaged behind its first %d files: %w", n, err)
		case err != nil:
			return errors.New("is neither a folder nor an archive of the kinds tar and cpio, packed by gzip, zstd or xz or not")
		case outside(h.Name), h.Typeflag == tar.TypeLink && outside(h.Linkname):
			return fmt.Errorf("%s: leads out of the root: make the archive again, with paths inside of it", h.Name)
		case layer && strings.HasPrefix(path.Base(h.Name), whiteout):
			continue
		}
		if left -= h.Size; left < 0 { // the size that it has when it is unpacked, however little of it is there
			return fmt.Errorf("%s: %w", h.Name, tooLarge())
		}
		f := distro.File{Name: h.Name, Mode: uint32(h.FileInfo().Mode() & fs.ModePerm)}
		switch h.Typeflag {
		case tar.TypeReg, tar.TypeGNUSparse:
			f.Mode |= Regular
			if f.Data, err = content(b[len(b)-in.Len():], r, h); err != nil {
				return fmt.Errorf("%s: damaged: %w", h.Name, err)
			}
		case tar.TypeDir:
			f.Mode |= Folder
		case tar.TypeSymlink:
			f.Mode, f.Data = Link|0o777, []byte(h.Linkname)
		case tar.TypeLink:
			to, ok := t[t.place(h.Linkname)]
			if !ok {
				return fmt.Errorf("%s: the other name %s of this file comes not before it", h.Name, h.Linkname)
			}
			f.Mode, f.Data = to.Mode, to.Data
		default:
			continue // devices
		}
		if at := t.place(h.Name); layer && at != "" && (f.Mode&typeMask != Folder || t[at].Mode&typeMask != Folder) {
			t.remove(at)
		}
		t.Put(f)
	}
}

// content returns the bytes of a file: a part of the archive, which is large and stays in memory anyway, or of a sparse file a copy
// with its holes.
func content(rest []byte, r io.Reader, h *tar.Header) ([]byte, error) {
	sparse := h.Typeflag == tar.TypeGNUSparse
	for key := range h.PAXRecords {
		sparse = sparse || strings.HasPrefix(key, "GNU.sparse.")
	}
	switch {
	case sparse:
		return io.ReadAll(r)
	case h.Size > int64(len(rest)):
		return nil, io.ErrUnexpectedEOF
	}
	return rest[:h.Size:h.Size], nil
}

// outside reports a path that leads out of the root.
func outside(name string) bool {
	name = path.Clean(strings.TrimLeft(name, "/"))
	return name == ".." || strings.HasPrefix(name, "../")
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
