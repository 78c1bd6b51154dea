// Package keeping keeps measurements and other pieces of work on disk, so that a run that ends early loses none that is
// finished and the next one does not make them again. A piece is addressed by the hash of all that it follows from, the
// program included, so nothing has ever to be thrown away because it is out of date. Shards of a run keep theirs in files
// of their own, and a merge reads all of them.
package keeping

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"kprobesim/experiments/kinds"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
)

// Folder is the name of the store below the directory of the results.
const Folder = ".points"

// programs is how many builds of the program have their measurements kept.
const programs = 4

// Store has the pieces of work that one build of the program finished.
type Store struct {
	root    string // of all builds
	dir     string
	program string
	fresh   bool
	keys    schema.Keys
	order   []byte // what its files say that they are part of
	logs    []*logs

	merging   bool     // makes nothing
	first     string   // file of the first shard that is merged
	made      Order    // of that
	strangers []string // shards of other programs

	mu     sync.Mutex
	reused int
	failed error // the first piece that could not be kept
}

// New returns the store below a directory of results. Program names the build of the program. A fresh store has its
// measurements made again, and keeps them.
func New(out, program string, fresh bool) (*Store, error) {
	root := filepath.Join(out, Folder)
	s := &Store{root: root, dir: filepath.Join(root, short(program)), program: program, fresh: fresh, keys: schema.Keys{Program: program}, order: []byte("{}")}
	return s, s.read(s.dir)
}

// read finds what the files of a folder hold.
func (s *Store) read(dir string) error {
	l, err := readLogs(dir)
	if err != nil {
		return fmt.Errorf("what earlier runs have kept cannot be read: %w", err)
	}
	s.logs = append(s.logs, l)
	return nil
}

func short(hash string) string { return hash[:min(16, len(hash))] }

// Close ends the use of a store.
func (s *Store) Close() (err error) {
	for _, l := range s.logs {
		err = errors.Join(err, l.close())
	}
	return err
}

// Key identifies a piece of work by what it follows from beside the program.
func (s *Store) Key(format string, from ...any) Key {
	return sha256.Sum256(fmt.Appendf([]byte(s.program+" "), format, from...))
}

// Piece finds a piece of work, or has it made and keeps it. A merge makes nothing.
func Piece[T any](s *Store, key Key, make func() (T, error)) (v T, err error) {
	found, err := find(s, key, func(*T) bool { return true })
	switch {
	case found != nil || err != nil:
		return *cmp.Or(found, &v), err
	case s.merging:
		return v, ErrMissing
	}
	if v, err = make(); err == nil {
		s.keep(key, &v)
	}
	return v, err
}

// ErrMissing is the error of a piece that no shard has finished.
var ErrMissing = errors.New("no shard has finished it")

// find reads a piece that an earlier run finished, the latest one that does, or nil. Where shards overlap, a merge wants
// them to agree.
func find[T any](s *Store, key Key, does func(*T) bool) (found *T, err error) {
	if s.fresh {
		return nil, nil
	}
	var first []byte
	for _, l := range s.logs {
		err = errors.Join(err, l.get(key, func(body []byte) bool {
			v := new(T)
			if gob.NewDecoder(bytes.NewReader(body)).Decode(v) != nil || !does(v) {
				return false
			}
			if found == nil {
				found, first = v, body
			} else if !bytes.Equal(first, body) {
				err = errors.New("two shards have different outcomes of it: one of them is damaged, or this program has a defect")
			}
			return !s.merging
		}))
	}
	if found != nil {
		s.mu.Lock()
		s.reused++
		s.mu.Unlock()
	}
	return found, err
}

// keep keeps a piece, or notes that it could not.
func (s *Store) keep(key Key, v any) {
	var body bytes.Buffer
	err := gob.NewEncoder(&body).Encode(v)
	if err == nil {
		err = errors.Join(s.logs[0].put(key, body.Bytes(), s.order), s.use())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = err
	}
}

// entry is how the measurement of a point ended.
type entry struct {
	Measurement *kinds.Measurement
	Failed      string // why there is none
}

// Measure is a measure that takes what is kept, and keeps what it has to make. A point that failed is measured again, but for
// a merge, which reports it as the run would.
func (s *Store) Measure(inner running.Measure) running.Measure {
	return func(p *schema.Point) (*kinds.Measurement, error) {
		key := s.keys.Of(p)
		kept, err := find(s, key, func(e *entry) bool { return e.Measurement != nil })
		if kept == nil && err == nil && s.merging {
			kept, err = find(s, key, func(*entry) bool { return true })
			err = cmp.Or(err, ErrMissing)
			if kept != nil {
				err = errors.New(kept.Failed)
			}
			return nil, err
		}
		if kept != nil || err != nil {
			return cmp.Or(kept, &entry{}).Measurement, err
		}
		m, err := inner(p)
		switch {
		case err == nil:
			s.keep(key, &entry{Measurement: m})
		case !running.Ended(err):
			s.keep(key, &entry{Failed: err.Error()})
		}
		return m, err
	}
}

// Kept counts the points of a plan that something is kept of.
func (s *Store) Kept(p *schema.Plan) (n int) {
	for i := range p.Points {
		if len(s.logs[0].known) > 0 && s.logs[0].known[s.keys.Of(&p.Points[i])] != nil {
			n++
		}
	}
	return n
}

// Reused is how many pieces were there already, and the error of the first one that could not be kept.
func (s *Store) Reused() (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return s.reused, fmt.Errorf("a measurement was not kept: %w", s.failed)
	}
	return s.reused, nil
}

// unused is how long a build has kept nothing and begun no run when its measurements may be removed. Another build may
// have a run under way.
const unused = 24 * time.Hour

// use notes that this build is in use.
func (s *Store) use() error {
	now := time.Now()
	if err := os.Chtimes(s.dir, now, now); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil // nothing is kept yet
}

// Tidy removes the measurements of all but the latest builds of the program and of those that are in use.
func (s *Store) Tidy() error {
	builds, err := os.ReadDir(s.root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err = errors.Join(err, s.use())
	type build struct {
		path string
		used time.Time
	}
	var all []build
	for _, b := range builds {
		info, statErr := b.Info()
		if statErr != nil || !b.IsDir() {
			continue // it is gone, or somebody else's
		}
		all = append(all, build{filepath.Join(s.root, b.Name()), info.ModTime()})
	}
	slices.SortFunc(all, func(a, b build) int { return b.used.Compare(a.used) })
	for i, b := range all {
		if i >= programs && b.path != s.dir && time.Since(b.used) > unused {
			err = errors.Join(err, os.RemoveAll(b.path))
		}
	}
	return err
}
