package outdir

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"strconv"
)

// WriteFile makes path hold the given bytes. It writes a file beside it and renames that, so that path holds the old
// bytes or the new ones, also when the disk is full or two do it at a time. What is there and no regular file, such as
// a device, is written to directly.
func WriteFile(path string, b []byte) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(path, b, 0o644)
	}
	aside, err := create(path)
	if err != nil {
		return err
	}
	_, err = aside.Write(b)
	err = errors.Join(err, aside.Close())
	if err == nil {
		err = os.Rename(aside.Name(), path)
	}
	if err == nil {
		return nil
	}
	if left := os.Remove(aside.Name()); left != nil && !errors.Is(left, fs.ErrNotExist) {
		err = errors.Join(err, left)
	}
	return err
}

// create makes a file beside path that nobody else has. os.CreateTemp would let only its owner read it.
func create(path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(path+"."+strconv.FormatUint(rand.Uint64(), 36)+".new", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}
