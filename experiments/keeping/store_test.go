package keeping_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/keeping"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/reports"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// TestKeptEqualsMeasured keeps a point of every kind and loads it: records, profile and accounts stay the
// same.
func TestKeptEqualsMeasured(t *testing.T) {
	out := t.TempDir()
	store := opened(t, out)
	names := map[string]string{exptest.E5410: "o"}
	for kind := range exptest.Small {
		p := exptest.SmallPlan(t, kind)
		names[kind] = p.Points[0].Name
		if testing.Short() {
			break
		}
	}
	for name, point := range names {
		pt := exptest.PointOf(t, name, point, exptest.Small[name]...)
		m := require.Must(kinds.Measure(pt))(t)
		_, err := store.Measure(func(*schema.Point) (*kinds.Measurement, error) { return m, nil })(pt)
		require.NoError(t, err)
		e := require.Must(opened(t, out).Measure(nil)(pt))(t)
		want := require.Must(reports.Records(pt, m))(t)
		got, err := reports.Records(pt, e)
		require.That(t, err == nil && reflect.DeepEqual(got, want), "%s: other records, %v", name, err)
		require.That(t, reflect.DeepEqual(e, m), "%s: other measurement:\n%+v\n%+v", name, e, m)
	}
}

// TestKeySaysWhatCounts changes what a point follows from, one thing at a time, and what it does not.
func TestKeySaysWhatCounts(t *testing.T) {
	plain := exptest.PointOf(t, exptest.E5410, "k").Key("program")
	seen := map[keeping.Key]string{plain: "the point itself"}
	other := func(what string, key keeping.Key) {
		require.Equal(t, seen[key], "", "%s has the key of", what)
		seen[key] = what
	}
	other("another program", exptest.PointOf(t, exptest.E5410, "k").Key("another"))
	for _, set := range []string{
		"workload.hits=999", "workload.warmup=63", "workload.target=work_checksum", "workload.args=[1]",
		"seed=1", "replicate=1", "budget=2 s", "kernel.hz=100", "kernel.memory=32 MiB", "kernel.cpus=2",
		"machine.event.mispredict.cycles=99", "machine.clock.frequency=3 GHz", "machine.cache.l1d.latency=9",
		"points.k.handler=handler_count", "workload.latencies=true",
	} {
		other(set, exptest.PointOf(t, exptest.E5410, "k", set).Key("program"))
	}
	for _, point := range []string{"b", "o", "r", "rb", "ro"} {
		other(point, exptest.PointOf(t, exptest.E5410, point).Key("program"))
	}
	p := exptest.PointOf(t, exptest.E5410, "k")
	p.Image = &schema.Image{Image: p.Image.Image, Hash: "sha256:other"}
	other("another image", p.Key("program"))
	for _, set := range []string{"title=x", "name=y", "figures=[]", "workload.hits=1000"} {
		require.That(t, exptest.PointOf(t, exptest.E5410, "k", set).Key("program") == plain, "%s is another measurement", set)
	}
}

// opened is the store below out as another process finds it.
func opened(t *testing.T, out string) *keeping.Store {
	t.Helper()
	s := require.Must(keeping.New(out, "program", false))(t)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// TestDamagedIsNotKept cuts a file of two points off at every length and changes each of its bytes. Points that are found then equal
// those that were kept, others are measured again, and damage to one leaves the other one alone.
func TestDamagedIsNotKept(t *testing.T) {
	p := require.Must(exptest.ToyLoader().Plan(exptest.ToyFiles(t), nil))(t)
	out := t.TempDir()
	(&running.Runner{Measure: opened(t, out).Measure(exptest.ToyMeasure), Workers: 1}).Run(p)
	files, err := filepath.Glob(filepath.Join(out, keeping.Folder, "program", "*"))
	require.Need(t, err == nil && len(files) == 1, "%q, %v", files, err)
	whole := require.Must(os.ReadFile(files[0]))(t)
	seen := map[int]int{}
	step := 1
	if !hosttools.Whole(t, "changes of each kept byte", "every third one") {
		step = 3
	}
	for n := 0; n < len(whole); n += step {
		changed := append([]byte(nil), whole...)
		changed[n] ^= 0x40
		for i, b := range [][]byte{changed, whole[:n]} {
			require.NoError(t, os.WriteFile(files[0], b, 0o644))
			s := require.Must(keeping.New(out, "program", false))(t)
			measured := 0
			results := (&running.Runner{Measure: s.Measure(func(p *schema.Point) (*kinds.Measurement, error) {
				measured++
				return exptest.ToyMeasure(p)
			}), Workers: 1}).Run(p)
			for _, o := range results {
				want, err := exptest.ToyMeasure(o.Point)
				require.Need(t, err == nil && o.Err == nil && reflect.DeepEqual(o.Measurement, want), "byte %d: %+v, %v", n, o.Measurement, o.Err)
			}
			require.Need(t, measured <= 1 || i != 0, "a change of byte %d lost %d points", n, measured)
			seen[measured]++
			require.NoError(t, s.Close())
			for _, f := range added(t, files[0]) {
				require.NoError(t, os.Remove(f))
			}
		}
	}
	require.That(t, seen[0] != 0 && seen[1] != 0 && seen[2] != 0, "points measured again, and how often: %v", seen)
}

// added lists the files beside one.
func added(t *testing.T, file string) (others []string) {
	t.Helper()
	files := require.Must(filepath.Glob(filepath.Join(filepath.Dir(file), "*")))(t)
	return slices.DeleteFunc(files, func(f string) bool { return f == file })
}

// TestTidy removes all but the latest programs and those in use.
func TestTidy(t *testing.T) {
	out := t.TempDir()
	old := time.Now().Add(-48 * time.Hour)
	make := func(path string, at time.Time) string {
		file := filepath.Join(out, keeping.Folder, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, nil, 0o644))
		for _, p := range []string{file, filepath.Dir(file)} {
			require.NoError(t, os.Chtimes(p, at, at))
		}
		return file
	}
	var gone, there []string
	there = append(there, make("program/aa", old)) // this one, however old
	for i := range 6 {                             // as old, but in use
		there = append(there, make("used"+string(rune('a'+i))+"/aa", time.Now().Add(-time.Duration(i+1)*time.Hour)))
	}
	for i := range 6 {
		file := make("build"+string(rune('a'+i))+"/aa", old.Add(time.Duration(i)*time.Hour))
		gone = append(gone, file)
	}
	require.NoError(t, os.Chtimes(filepath.Join(out, keeping.Folder, "program"), old, old))
	require.NoError(t, opened(t, out).Tidy())
	for _, file := range there {
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
	for _, file := range gone {
		_, err := os.Stat(file)
		require.That(t, err != nil, "%s is still there", file)
	}
}

// TestFolder keeps in a folder that is named by the first digits of the program.
func TestFolder(t *testing.T) {
	out := t.TempDir()
	s := require.Must(keeping.New(out, strings.Repeat("0123456789abcdef", 4), false))(t)
	pt := exptest.PointOf(t, exptest.E5410, "k")
	_, err := s.Measure(func(*schema.Point) (*kinds.Measurement, error) { return &kinds.Measurement{}, nil })(pt)
	require.NoError(t, errors.Join(err, s.Close()))
	kept, _ := filepath.Glob(filepath.Join(out, keeping.Folder, "*"))
	require.Need(t, len(kept) == 1 && filepath.Base(kept[0]) == "0123456789abcdef", "kept in %q", kept)
	files := require.Must(filepath.Glob(filepath.Join(kept[0], "*")))(t)
	require.Need(t, len(files) == 1, "%q", files)
	other := filepath.Join(out, "other")
	require.NoError(t, os.WriteFile(other, nil, 0o644))
	require.Equal(t, require.Must(os.Stat(files[0]))(t).Mode(), require.Must(os.Stat(other))(t).Mode(), "others may read it: the mode is")
}
