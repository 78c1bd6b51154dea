package keeping

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"kprobesim/experiments/schema"
	"kprobesim/results/outdir"
)

// Order says what a file of the store is part of. Shards that a merge joins have the same one but for Shard.
type Order struct {
	Program outdir.Program // that made it
	Args    []string       // of the command, without what no piece depends on
	Inputs  []outdir.Input // that the command has read
	Shard   string         // "" for a whole run
}

// Begin says what is kept from now on. A merge wants it to be what the shards were made from.
func (s *Store) Begin(o Order) (err error) {
	if s.merging {
		return s.made.differs(o)
	}
	if s.order, err = json.Marshal(o); err != nil || o.Shard == "" {
		return err
	}
	return s.logs[0].sign(s.order)
}

// differs says by what two orders are not of the same plan. A shard of a large sweep reads no files of others' combinations.
func (o Order) differs(other Order) error {
	if !slices.Equal(o.Args, other.Args) {
		return fmt.Errorf("the one is of `kprobesim %s`, the other of `kprobesim %s`", strings.Join(o.Args, " "), strings.Join(other.Args, " "))
	}
	for _, in := range o.Inputs {
		same := func(x outdir.Input) bool { return x.Kind == in.Kind && x.Name == in.Name }
		if slices.ContainsFunc(other.Inputs, same) && !slices.Contains(other.Inputs, in) {
			return fmt.Errorf("the %s %s is another one", in.Kind, in.Name)
		}
	}
	return nil
}

// shards calls f with the orders of the shards that wrote into a folder.
func (l *logs) shards(f func(file string, o Order) error) error {
	var err error
	for _, p := range l.known[Key{}] {
		var o Order
		body, readErr := l.body(Key{}, p)
		if readErr != nil || json.Unmarshal(body, &o) != nil || o.Shard == "" {
			continue // of a whole run, or damaged, and the pieces count all the same
		}
		err = errors.Join(err, f(l.files[p.log], o))
	}
	return err
}

// Merge returns what the shards of one plan have kept below directories of results, and the command that they are of. Shards of
// another plan are refused, and shards of another program are named.
func Merge(dirs []string, program string) (*Store, Order, error) {
	s := &Store{program: program, merging: true, keys: schema.Keys{Program: program}}
	var errs []error
	for _, out := range dirs {
		builds, err := outdir.Find(out, Folder+"/*/*"+extension)
		if err == nil && len(builds) == 0 {
			err = fmt.Errorf("%s has nothing that a shard has kept: name the --out of the shards", out)
		}
		errs = append(errs, err)
		for i, file := range builds {
			if dir := filepath.Dir(file); i == 0 || dir != filepath.Dir(builds[i-1]) {
				errs = append(errs, s.join(dir))
			}
		}
	}
	err := errors.Join(errs...)
	if err == nil && s.first == "" {
		err = fmt.Errorf("%s has no shard of this program, which is %s%s", strings.Join(dirs, ", "), outdir.This(), s.Strangers())
	}
	return s, s.made, err
}

// join adds a folder to a merge.
func (s *Store) join(dir string) error {
	l, err := readLogs(dir)
	if err != nil {
		return err
	}
	if filepath.Base(dir) != short(s.program) {
		return errors.Join(l.shards(func(file string, o Order) error {
			s.strangers = append(s.strangers, fmt.Sprintf("%s is of a program %s", file, o.Program))
			return nil
		}), l.close())
	}
	s.logs = append(s.logs, l)
	return l.shards(func(file string, o Order) error {
		if s.first == "" {
			s.first, s.made = file, o
		}
		if err := s.made.differs(o); err != nil {
			return fmt.Errorf("%s and %s are shards of two plans: %w; move one of them away", s.first, file, err)
		}
		return nil
	})
}

// Strangers says what a merge has left out: shards of other programs, and ends of files that were cut off.
func (s *Store) Strangers() string {
	said := slices.Clone(s.strangers)
	for _, l := range s.logs {
		for _, file := range l.torn {
			said = append(said, file+" is damaged or ends in the middle of a piece")
		}
	}
	if len(said) == 0 {
		return ""
	}
	return "; left out: " + strings.Join(said, ", ")
}
