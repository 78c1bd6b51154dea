package keeping

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
	"kprobesim/results/outdir"
)

// sweptToys are points enough for several shards.
func sweptToys(t *testing.T) *schema.Plan {
	t.Helper()
	p := require.Must(exptest.ToyLoader().Plan(exptest.ToyFiles(t), []string{"sweep={workload.hits=[1, 2, 3, 4, 5, 6]}"}))(t)
	return p
}

// shardOf measures the points of a shard into a directory, of which the point named bad fails.
func shardOf(t *testing.T, out, program string, shard Shard, p *schema.Plan, args []string, bad string) {
	t.Helper()
	s := require.Must(New(out, program, false))(t)
	defer func() { require.NoError(t, s.Close()) }()
	name := shard.String()
	if shard.Whole() {
		name = ""
	}
	require.NoError(t, s.Begin(Order{Program: outdir.Program{Version: program}, Args: args, Shard: name}))
	part := s.Part(shard, p)
	require.Equal(t, s.Kept(part), 0, "points that a new shard has")
	measure := s.Measure(func(pt *schema.Point) (*kinds.Measurement, error) {
		switch {
		case pt.Name == bad && shard.I%2 == 1:
			return nil, errNot
		case pt.Name == bad:
			return nil, fmt.Errorf("ended: %w", running.ErrInterrupted)
		}
		return exptest.ToyMeasure(pt)
	})
	for i := range part.Points {
		_, err := measure(&part.Points[i])
		require.Equal(t, err != nil, part.Points[i].Name == bad, "whether %s fails", part.Points[i].Name)
	}
	reused, err := s.Reused()
	require.That(t, err == nil && reused == 0, "%d reused, %v", reused, err)
	parted := *p
	parted.Parted = true
	require.That(t, s.Part(shard, &parted) == &parted, "a plan of one shard is parted again")
}

// TestMerge measures a plan in shards, each in a directory of its own or all in one, and merges them. Points of a shard that is left out
// are missing, and all others are as one run measures them; those that failed say why, and those that were interrupted are missing.
func TestMerge(t *testing.T) {
	p := sweptToys(t)
	args := []string{"run", "toy"}
	for n := 1; n <= 4; n++ {
		for without := range n + 1 {
			one, several := t.TempDir(), []string{}
			left, bad := map[string]bool{}, p.Points[5].Name
			failing := 0
			for i := 1; i <= n; i++ {
				shard := Shard{i, n}
				for _, pt := range (&Store{keys: schema.Keys{Program: "program"}}).Part(shard, p).Points {
					if left[pt.Name] = i == without; pt.Name == bad {
						failing = i
					}
				}
				out := filepath.Join(t.TempDir(), "shard[1]*") // which would be a pattern
				if n == 3 {
					out = one
				}
				if i != without {
					shardOf(t, out, "program", shard, p, args, bad)
				}
				if i != without && (n != 3 || len(several) == 0) {
					several = append(several, out)
				}
			}
			if len(several) == 0 {
				continue
			}
			s, o, err := Merge(several, "program")
			require.That(t, err == nil && reflect.DeepEqual(o.Args, args) && s.Strangers() == "", "%d shards: %+v, %v, %s", n, o, err, s.Strangers())
			require.NoError(t, s.Begin(Order{Args: args}))
			require.That(t, s.Begin(Order{Args: []string{"run", "other"}}) != nil, "another command was merged")
			found := 0
			for i := range p.Points {
				pt := &p.Points[i]
				m, err := s.Measure(nil)(pt)
				switch {
				case left[pt.Name] || pt.Name == bad && failing%2 == 0:
					require.That(t, m == nil && errors.Is(err, ErrMissing), "%s is there without its shard: %v, %v", pt.Name, m, err)
				case pt.Name == bad:
					found++
					require.That(t, m == nil && err != nil && err.Error() == errNot.Error(), "a point that failed: %v, %v", m, err)
				default:
					found++
					want := require.Must(exptest.ToyMeasure(pt))(t)
					require.That(t, err == nil && reflect.DeepEqual(m, want), "%s is %+v, %v; want %+v", pt.Name, m, err, want)
				}
			}
			reused, err := s.Reused()
			require.That(t, err == nil && reused == found, "%d pieces of %d were found, %v", reused, found, err)
			require.NoError(t, s.Close())
		}
	}
}

// TestMergeRefuses names shards that do not belong together, folders without any, and outcomes that differ.
func TestMergeRefuses(t *testing.T) {
	p, dir := sweptToys(t), t.TempDir()
	for name, c := range map[string]struct {
		program, arg string
		shard        Shard
	}{
		"a": {"program", "toy", Shard{1, 2}}, "b": {"program", "other", Shard{2, 2}}, "c": {"program, too", "toy", Shard{2, 2}}, "whole": {"program", "toy", Shard{}},
	} {
		shardOf(t, filepath.Join(dir, name), c.program, c.shard, p, []string{"run", c.arg}, "")
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "none"), 0o755))
	for _, c := range []struct{ dirs, want, left string }{
		{"a", "", ""},
		{"a c", "", "is of a program version program, too"},
		{"c", "has no shard of this program, which is ", "is of a program version program, too"},
		{"whole", "has no shard of this program", ""},
		{"a whole", "", ""},
		{"none", "none has nothing that a shard has kept: name the --out of the shards", ""},
		{"a none", "none has nothing", ""},
		{"a b", "are shards of two plans: the one is of `kprobesim run toy`, the other of `kprobesim run other`; move one of them away", ""},
	} {
		var dirs []string
		for _, d := range strings.Fields(c.dirs) {
			dirs = append(dirs, filepath.Join(dir, d))
		}
		s, _, err := Merge(dirs, "program")
		require.That(t, (err == nil) == (c.want == "") && (err == nil || strings.Contains(err.Error(), c.want)), "%s: %v, want %s", c.dirs, err, c.want)
		require.That(t, (c.left == "") == (s.Strangers() == "") && strings.Contains(s.Strangers(), c.left), "%s: %s, want %s", c.dirs, s.Strangers(), c.left)
		require.NoError(t, s.Close())
	}
	pt := &p.Points[0]
	s := require.Must(New(filepath.Join(dir, "more"), "program", true))(t)
	require.NoError(t, s.Begin(Order{Args: []string{"run", "toy"}, Shard: "2/2"}))
	for range 2 {
		_, err := s.Measure(func(*schema.Point) (*kinds.Measurement, error) {
			return &kinds.Measurement{Console: fmt.Sprint(time.Now())}, nil
		})(pt)
		require.NoError(t, err)
	}
	require.Equal(t, s.Kept(&schema.Plan{Points: p.Points[:3]}), 1, "of three points there are")
	require.NoError(t, s.Close())
	m, _, err := Merge([]string{filepath.Join(dir, "more")}, "program")
	require.NoError(t, err)
	_, err = m.Measure(nil)(pt)
	require.Error(t, err, "two shards have different outcomes of it", "two measurements")
	require.NoError(t, m.Close())
}

// TestPieces makes a piece of work once for each key and program, and again by a fresh store or when it failed. A merge makes none.
func TestPieces(t *testing.T) {
	dir, made := t.TempDir(), 0
	piece := func(s *Store, key Key) (int, error) {
		return Piece(s, key, func() (int, error) {
			if made++; made == 1 {
				return 0, errNot
			}
			return made, nil
		})
	}
	for i, c := range []struct {
		program string
		fresh   bool
		of      int
		want    int // 0 for an error
	}{{"one", false, 1, 0}, {"one", false, 1, 2}, {"one", false, 1, 2}, {"one", false, 2, 3}, {"other", false, 1, 4}, {"one", true, 1, 5}, {"one", false, 1, 5}, {"one", false, 2, 3}} {
		s := require.Must(New(dir, c.program, c.fresh))(t)
		require.NoError(t, s.Begin(Order{Shard: "1/1"}))
		got, err := piece(s, s.Key("piece %d", c.of))
		for range 2 {
			n, kept := s.Reused()
			require.That(t, kept == nil && n <= 1, "step %d: %d pieces were there, %v", i, n, kept)
		}
		require.That(t, got == c.want && errors.Is(err, errNot) == (c.want == 0), "step %d: %d, %v; want %d", i, got, err, c.want)
		require.NoError(t, s.Close())
	}
	files := require.Must(filepath.Glob(filepath.Join(dir, Folder, "one", "*"+extension)))(t)
	require.Equal(t, len(files), 4, "a file of the first order and one of each store that kept something")
	s, _, err := Merge([]string{dir}, "one")
	require.NoError(t, err)
	_, other := piece(s, s.Key("piece 1"))
	require.Error(t, other, "two shards have different outcomes", "a piece that was made twice")
	got, err := piece(s, s.Key("piece 2"))
	_, missing := piece(s, s.Key("piece 3"))
	require.That(t, got == 3 && err == nil && errors.Is(missing, ErrMissing) && made == 5, "%d, %v; %v; %d were made", got, err, missing, made)
	require.NoError(t, s.Close())
}

// TestManyLogs reads pieces of more files than are open at a time, twice.
func TestManyLogs(t *testing.T) {
	dir := t.TempDir()
	key := func(i int) Key { return Key{1, byte(i), byte(i >> 8)} }
	const files = mostOpen + 3
	for i := range files {
		l := require.Must(readLogs(filepath.Join(dir, "none")))(t)
		l.dir = dir
		require.NoError(t, l.put(key(i), fmt.Append(nil, i), nil))
		require.NoError(t, l.close())
	}
	l := require.Must(readLogs(dir))(t)
	for n := range 2 * files {
		got := ""
		require.NoError(t, l.get(key(n%files), func(body []byte) bool { got = string(body); return true }))
		require.That(t, got == fmt.Sprint(n%files) && len(l.open) <= mostOpen, "piece %d is %q, with %d files open", n%files, got, len(l.open))
	}
	require.NoError(t, l.close())
	require.Equal(t, len(l.open), 0, "files that are open behind the end")
}
