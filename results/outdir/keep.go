package outdir

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// bring links what others have in the directory from into the directory to, which takes its place. What is there
// already stays, so that a killed writer can be followed by another one.
func (w dirWriter) bring(from, to string) error {
	if !exists(from) {
		return nil // there was nothing before
	}
	written, listed, err := Written(from)
	if err != nil {
		return err
	}
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == from {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		b := brought{from: path, to: filepath.Join(to, rel), early: to != w.dir}
		b.sum, b.ours = written[filepath.ToSlash(rel)]
		b.ours = b.ours || !listed && exists(b.to)
		return w.bringOne(b, d)
	})
}

// brought is one file on its way into another directory.
type brought struct {
	from, to string
	ours     bool
	early    bool   // its new directory is not in place yet, and may be thrown away
	sum      string // of what was written to from, if it is ours
}

// exists tells whether anything has a path.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// bringOne brings one entry of a directory.
func (w dirWriter) bringOne(b brought, d fs.DirEntry) error {
	switch {
	case d.IsDir():
		if info, err := os.Lstat(b.to); err == nil && !info.IsDir() {
			return fmt.Errorf("%s is in the way of a file of the same name; move it away", b.from)
		}
		return w.mkdir(b.to)
	case !d.Type().IsRegular():
		if b.early {
			return nil // a link, a pipe: it cannot have two names everywhere, so it comes last
		}
		for exists(b.to) {
			b.to += ".kept"
		}
		return w.rename(b.from, b.to)
	}
	text, err := os.ReadFile(b.from)
	if err != nil {
		return err
	}
	if b.ours && (b.sum == "" || b.sum == hash(text)) {
		return nil
	}
	for {
		there, err := os.ReadFile(b.to)
		if errors.Is(err, fs.ErrNotExist) {
			return w.link(b.from, b.to)
		}
		if err != nil || bytes.Equal(there, text) {
			return err
		}
		b.to += ".kept"
	}
}

// hash is the SHA-256 of bytes, as lists of files have it.
func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// asked is whether a change on disk may go on.
func (w dirWriter) asked(op, path string) error {
	if w.fault == nil {
		return nil
	}
	return w.fault(op, path)
}

func (w dirWriter) rename(from, to string) error {
	if err := w.asked("rename", from); err != nil {
		return err
	}
	return os.Rename(from, to)
}

func (w dirWriter) mkdir(dir string) error {
	if err := w.asked("mkdir", dir); err != nil {
		return err
	}
	return os.MkdirAll(dir, 0o755)
}

func (w dirWriter) remove(path string) error {
	if err := w.asked("remove", path); err != nil {
		return err
	}
	return os.RemoveAll(path)
}

// put writes a file; when it is told to fail it fails in the middle.
func (w dirWriter) put(path string, b []byte) error {
	if err := w.asked("write", path); err != nil {
		return errors.Join(err, os.WriteFile(path, b[:len(b)/2], 0o644))
	}
	return os.WriteFile(path, b, 0o644)
}

// link gives a file a second name, or copies it where there is no such thing.
func (w dirWriter) link(from, to string) error {
	if err := w.asked("link", from); err != nil {
		return err
	}
	if os.Link(from, to) == nil {
		return nil
	}
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return w.put(to, b)
}
