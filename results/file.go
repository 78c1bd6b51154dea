package results

import (
	"errors"
	"os"
)

// WriteFile makes path hold the given bytes. It writes a file beside it and renames that, so that path holds the old
// bytes or the new ones, also when the disk is full. What is there and no regular file, such as a device, is
// written to directly.
func WriteFile(path string, b []byte) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(path, b, 0o644)
	}
	aside := path + ".new"
	err := os.WriteFile(aside, b, 0o644)
	if err == nil {
		err = os.Rename(aside, path)
	}
	if err == nil {
		return nil
	}
	if left := os.Remove(aside); left != nil && !errors.Is(left, os.ErrNotExist) {
		err = errors.Join(err, left)
	}
	return err
}
