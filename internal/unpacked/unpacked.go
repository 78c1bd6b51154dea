// Package unpacked keeps packaged kernels in their unpacked form in the user's folder for caches, by content. To unpack one takes
// a second of the host, and to read it again a tenth. Nothing depends on the folder: a kernel that is not there, or is
// damaged, is unpacked again.
package unpacked

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
)

// Folder is a folder of unpacked kernels. None keeps anything.
type Folder string

// None is no folder.
const None Folder = ""

const (
	most  = 4       // kernels that a folder keeps
	least = 1 << 20 // bytes of a kernel that is kept: smaller ones are unpacked at once, and would drive others out
)

// UserCache returns the folder of the present user, or None for one who has no folder for caches.
func UserCache() Folder {
	dir, err := os.UserCacheDir()
	if err != nil {
		return None
	}
	return Folder(filepath.Join(dir, "kprobesim", "kernels"))
}

// file names the file for packed bytes.
func (f Folder) file(packed []byte) string {
	sum := sha256.Sum256(packed)
	return filepath.Join(string(f), hex.EncodeToString(sum[:]))
}

// Load returns the unpacked form of packed bytes. A file that is cut off or changed counts as none: the hash of the content
// stands in front of it.
func (f Folder) Load(packed []byte) ([]byte, bool) {
	if f == None {
		return nil, false
	}
	b, err := os.ReadFile(f.file(packed))
	if err != nil || len(b) < sha256.Size {
		return nil, false
	}
	content := b[sha256.Size:]
	sum := sha256.Sum256(content)
	return content, bytes.Equal(sum[:], b[:sha256.Size])
}

// Save keeps the unpacked form of packed bytes, and drops the oldest kernels beyond the bound. A reader finds a file whole or
// not at all. A folder that cannot be written keeps nothing, which costs time and nothing else.
func (f Folder) Save(packed, content []byte) {
	if f == None || len(content) < least || os.MkdirAll(string(f), 0o700) != nil {
		return
	}
	t, err := os.CreateTemp(string(f), "new-")
	if err != nil {
		return
	}
	sum := sha256.Sum256(content)
	_, err = t.Write(sum[:])
	if err == nil {
		_, err = t.Write(content)
	}
	if closed := t.Close(); err == nil {
		err = closed
	}
	if err != nil || os.Rename(t.Name(), f.file(packed)) != nil {
		_ = os.Remove(t.Name()) // what is left is found by no name
		return
	}
	f.drop()
}

// drop removes the oldest files beyond the bound.
func (f Folder) drop() {
	all, err := os.ReadDir(string(f))
	if err != nil || len(all) <= most {
		return
	}
	age := func(d os.DirEntry) int64 {
		info, err := d.Info()
		if err != nil {
			return 0
		}
		return info.ModTime().UnixNano()
	}
	slices.SortFunc(all, func(a, b os.DirEntry) int { return cmp.Compare(age(a), age(b)) })
	for _, d := range all[:len(all)-most] {
		_ = os.Remove(filepath.Join(string(f), d.Name())) // it is tried again the next time
	}
}
