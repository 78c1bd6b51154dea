// Package host gives packages that simulate the few services that they need of the machine they run on: memory, and bounds
// of what is kept for speed. Nothing here influences a result.
package host

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"runtime"
	"sync"
)

// Executable names the build that runs by the hash of its file: whatever changes a measurement changes that.
var Executable = sync.OnceValues(func() (string, error) {
	file, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(h, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
})

// FreeMemory collects garbage, which can take some milliseconds. It is called where a large part of the heap has just
// become free.
func FreeMemory() { runtime.GC() }
