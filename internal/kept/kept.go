// Package kept keeps what takes the host seconds to make in the user's folder for caches, by what it is made of: packaged
// kernels in their unpacked form, and machines that have booted. To read one takes a tenth of a second. Nothing depends on the
// folder: what is not there, or is damaged, is made again.
package kept

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"kprobesim/internal/host"
)

// Folder is a folder of such files. None keeps anything.
type Folder struct {
	path string
	most int           // files that it keeps
	by   func() string // returns what the content depends on beside the key, "" where that is not known; nil for nothing
}

// None is no folder.
var None Folder

// least is the size of the smallest content that is kept, in bytes: less is made at once, and would drive others out.
const least = 1 << 20

// Kernels returns the present user's folder for unpacked kernels, or None for one who has no folder for caches.
func Kernels() Folder { return user("kernels", 4) }

// Boots returns the present user's folder for machines that have booted. Another build of this program makes other ones, so
// its executable is part of what they are found by. It is read when somebody asks, and where it cannot be nothing is kept.
func Boots() Folder {
	f := user("boots", 8)
	f.by = func() string {
		sum, _ := host.Executable() // "" where it cannot be read
		return sum
	}
	return f
}

func user(name string, most int) Folder {
	dir, err := os.UserCacheDir()
	if err != nil {
		return None
	}
	return Folder{path: filepath.Join(dir, "kprobesim", name), most: most}
}

// file names the file for a key; false where nothing is kept.
func (f Folder) file(key []byte) (string, bool) {
	h := sha256.New()
	if f.by != nil {
		by := f.by()
		if by == "" {
			return "", false
		}
		h.Write([]byte(by))
	}
	h.Write(key)
	return filepath.Join(f.path, hex.EncodeToString(h.Sum(nil))), f.path != ""
}

// Load returns the content that was kept for a key. A file that is cut off or changed counts as none: the hash of the content
// stands in front of it.
func (f Folder) Load(key []byte) ([]byte, bool) {
	file, ok := f.file(key)
	if !ok {
		return nil, false
	}
	b, err := os.ReadFile(file)
	if err != nil || len(b) < sha256.Size {
		return nil, false
	}
	now := time.Now()
	_ = os.Chtimes(file, now, now) // drop goes by it
	content := b[sha256.Size:]
	sum := sha256.Sum256(content)
	return content, bytes.Equal(sum[:], b[:sha256.Size])
}

// Save keeps the content for a key, and drops those beyond the bound that were not used for longest. A reader finds a file whole or not at all. A
// folder that cannot be written keeps nothing, which costs time and nothing else.
func (f Folder) Save(key, content []byte) {
	file, ok := f.file(key)
	if !ok || len(content) < least || os.MkdirAll(f.path, 0o700) != nil {
		return
	}
	t, err := os.CreateTemp(f.path, "new-")
	if err != nil {
		return
	}
	sum := sha256.Sum256(content)
	_, err = io.Copy(t, io.MultiReader(bytes.NewReader(sum[:]), bytes.NewReader(content)))
	if errors.Join(err, t.Close()) != nil || os.Rename(t.Name(), file) != nil {
		_ = os.Remove(t.Name()) // what is left is found by no name
		return
	}
	f.drop()
}

// drop removes files beyond the bound.
func (f Folder) drop() {
	all, _ := os.ReadDir(f.path) // as many as can be seen
	age := func(d os.DirEntry) int64 {
		info, err := d.Info()
		if err != nil {
			return 0
		}
		return info.ModTime().UnixNano()
	}
	slices.SortFunc(all, func(a, b os.DirEntry) int { return cmp.Compare(age(a), age(b)) })
	for _, d := range all[:max(len(all)-f.most, 0)] {
		_ = os.Remove(filepath.Join(f.path, d.Name())) // it is tried again the next time
	}
}
