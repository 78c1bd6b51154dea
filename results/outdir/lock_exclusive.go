//go:build !unix || solaris || aix || illumos

package outdir

import (
	"errors"
	"io/fs"
	"os"
)

// tryLock makes the file, which there must not be. A killed process leaves it, and the message says so.
func tryLock(path string) (unlock func() error, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil, errLocked
	}
	if err == nil {
		err = f.Close()
	}
	return func() error { return os.Remove(path) }, err
}
