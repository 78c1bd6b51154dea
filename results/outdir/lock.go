package outdir

import (
	"errors"
	"fmt"
	"time"
)

// errLocked is the answer of tryLock when another process has the lock.
var errLocked = errors.New("another run is writing there")

// lockWait bounds the time that a writer waits for others, each of which takes far less than a second.
const lockWait = time.Minute

// lockFile takes the lock of a path, which every writer of one place takes, and makes the file. It ends with the
// process that has it. unlock removes the file.
func lockFile(path string) (unlock func() error, err error) {
	for end := time.Now().Add(lockWait); ; time.Sleep(5 * time.Millisecond) {
		unlock, err = tryLock(path)
		if !errors.Is(err, errLocked) {
			return unlock, err
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("%w: wait for it to end, or remove %s if none is", err, path)
		}
	}
}
