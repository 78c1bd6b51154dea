//go:build unix && !solaris && !aix && !illumos

package outdir

import (
	"errors"
	"os"
	"syscall"
)

// tryLock makes the file and locks it. The process that has the lock removes the file, so the lock of a
// file that is no longer there does not count.
func tryLock(path string) (unlock func() error, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return nil, errors.Join(errLocked, f.Close())
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	mine, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if there, err := os.Stat(path); err != nil || !os.SameFile(mine, there) {
		return nil, errors.Join(errLocked, f.Close())
	}
	return func() error { return errors.Join(os.Remove(path), f.Close()) }, nil
}
