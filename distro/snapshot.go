package distro

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"kprobesim/sim"
)

// A snapshot begins with a magic, which names its version, and the fingerprint of what it goes on with.
const snapshotMagic = "kprobesim snapshot 7\n"

// maxWindow bounds what the reader of a snapshot holds, in bytes. Snapshot needs a sixteenth.
const maxWindow = 64 << 20

// Snapshot returns the state of a machine that Run has returned, so that another process goes on with it
// (Config.From). It holds the memory, and everything that decides about time: caches, predictors, instructions in
// flight.
func Snapshot(c Config, m *sim.Machine) ([]byte, error) {
	b, err := m.Keep()
	if err != nil {
		return nil, err
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return nil, err
	}
	mark, err := c.Fingerprint()
	if err != nil {
		return nil, err
	}
	return z.EncodeAll(b, append([]byte(snapshotMagic), mark[:]...)), nil
}

// restore makes a machine the one of a snapshot.
func (c *Config) restore(m *sim.Machine) error {
	b, found := bytes.CutPrefix(c.From, []byte(snapshotMagic))
	mark, err := c.Fingerprint()
	switch {
	case err != nil:
		return err
	case !found || len(b) < len(mark):
		return errors.New("snapshot: this is none of this version of the program: boot again and write another one")
	case !bytes.Equal(b[:len(mark)], mark[:]):
		return errors.New("snapshot: it was written with another kernel, machine description, board, number of CPUs or size of memory: " +
			"give the same, or boot again")
	}
	// What is unpacked goes into the RAM by pieces: a buffer for all of it would cost the host as much again.
	z, err := zstd.NewReader(bytes.NewReader(b[len(mark):]), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return err
	}
	defer z.Close()
	if err := survive(func() error { return m.Restore(z) }); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	return nil
}

// Remember has Recall find what somebody knows of a machine that has booted to a place. Another process may ask.
func (c *Config) Remember(place string, known []byte) {
	if c.Kept == nil {
		return
	}
	if key, err := c.origin(place); err == nil {
		c.Kept.Save(key, known)
	}
}

// Recall returns what Remember was given for the same configuration and place, or false.
func (c *Config) Recall(place string) ([]byte, bool) {
	if c.Kept == nil {
		return nil, false
	}
	key, err := c.origin(place)
	if err != nil {
		return nil, false // a machine that cannot be told from others is not kept
	}
	return c.Kept.Load(key)
}
