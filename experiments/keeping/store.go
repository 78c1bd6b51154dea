// Package keeping keeps measurements on disk, so that a run that ends early loses none that is finished and the next
// one does not make them again. A measurement is addressed by the hash of all that it follows from, the program
// included, so nothing has ever to be thrown away because it is out of date.
package keeping

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"kprobesim/experiments/kinds"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/results/outdir"
)

// Folder is the name of the store below the directory of the results.
const Folder = ".points"

// programs is how many builds of the program have their measurements kept.
const programs = 4

// Store has the measurements that one build of the program made.
type Store struct {
	root    string // of all builds
	dir     string
	program string
	fresh   bool

	mu     sync.Mutex
	reused int
	failed error // the first measurement that could not be kept

	most uint64 // bytes by which measurements of an estimate have raised what the process has
	cpus int64  // the largest number of CPUs of a point that an estimate measured
}

// New returns the store below a directory of results. Program names the build of the program. A fresh store has its
// measurements made again, and keeps them.
func New(out, program string, fresh bool) *Store {
	root := filepath.Join(out, Folder)
	return &Store{root: root, dir: filepath.Join(root, short(program)), program: program, fresh: fresh}
}

func short(hash string) string { return hash[:min(16, len(hash))] }

// Program names the build that runs by the hash of its file: whatever changes a measurement changes that.
func Program() (string, error) {
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
}

// Entry is the kept measurement of a point.
type Entry struct {
	Measurement *kinds.Measurement
	Took        time.Duration // of the host
}

// magic begins each file; the hash of what follows is behind it.
const magic = "kprobesim measurement 1\n"

// Load returns what is kept of a point. A file that is cut off or damaged counts as none.
func (s *Store) Load(p *schema.Point) (*Entry, bool) {
	b, err := os.ReadFile(s.file(p))
	if err != nil {
		return nil, false
	}
	rest, ok := bytes.CutPrefix(b, []byte(magic))
	if !ok || len(rest) < sha256.Size {
		return nil, false
	}
	sum, body := [sha256.Size]byte(rest), rest[sha256.Size:]
	if sha256.Sum256(body) != sum {
		return nil, false
	}
	e := &Entry{}
	if err := gob.NewDecoder(bytes.NewReader(body)).Decode(e); err != nil || e.Measurement == nil {
		return nil, false
	}
	return e, true
}

// Save keeps the measurement of a point. A reader finds it whole or not at all.
func (s *Store) Save(p *schema.Point, e *Entry) error {
	var body bytes.Buffer
	if err := gob.NewEncoder(&body).Encode(e); err != nil {
		return err
	}
	sum := sha256.Sum256(body.Bytes())
	file := s.file(p)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return errors.Join(outdir.WriteFile(file, slices.Concat([]byte(magic), sum[:], body.Bytes())), s.use())
}

func (s *Store) file(p *schema.Point) string {
	key := p.Key(s.program)
	return filepath.Join(s.dir, key[:2], key[2:])
}

// Measure is a measure that takes what is kept, and keeps what it has to make.
func (s *Store) Measure(inner running.Measure) running.Measure {
	return func(p *schema.Point) (*kinds.Measurement, error) {
		if !s.fresh {
			if e, ok := s.Load(p); ok {
				s.mu.Lock()
				s.reused++
				s.mu.Unlock()
				return e.Measurement, nil
			}
		}
		start := time.Now()
		m, err := inner(p)
		if err != nil {
			return nil, err
		}
		if err := s.Save(p, &Entry{m, time.Since(start)}); err != nil {
			s.mu.Lock()
			if s.failed == nil {
				s.failed = err
			}
			s.mu.Unlock()
		}
		return m, nil
	}
}

// Reused is how many measurements were there already, and the error of the first one that could not be kept.
func (s *Store) Reused() (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return s.reused, fmt.Errorf("a measurement was not kept: %w", s.failed)
	}
	return s.reused, nil
}

// abandoned is the age at which a file of an unfinished write has no writer any more.
const abandoned = time.Hour

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

// Tidy removes what killed runs left half written, and the measurements of all but the latest builds of the program
// and of those that are in use.
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
	return errors.Join(err, s.removeHalf())
}

// removeHalf removes unfinished writes.
func (s *Store) removeHalf() error {
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".new") {
			return err
		}
		info, err := d.Info()
		if err != nil || time.Since(info.ModTime()) < abandoned {
			return err
		}
		return os.Remove(path)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing is kept yet, or another run tidied at the same time
	}
	return err
}
