package keeping_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"kprobesim/experiments/exptest"
	"kprobesim/experiments/keeping"
	"kprobesim/experiments/kinds"
	"kprobesim/experiments/reports"
	"kprobesim/experiments/running"
	"kprobesim/experiments/schema"
	"kprobesim/internal/require"
)

// TestKeptEqualsMeasured keeps a point of every kind and loads it: records, profile and accounts stay the
// same.
func TestKeptEqualsMeasured(t *testing.T) {
	store := keeping.New(t.TempDir(), "program", false)
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
		m, err := kinds.Measure(pt)
		require.NoError(t, err)
		require.NoError(t, store.Save(pt, &keeping.Entry{Measurement: m, Took: time.Second}))
		e, ok := store.Load(pt)
		if !ok || e.Took != time.Second {
			t.Fatalf("%s: kept is %v, %v", name, e, ok)
		}
		want, err := reports.Records(pt, m)
		require.NoError(t, err)
		got, err := reports.Records(pt, e.Measurement)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: other records, %v", name, err)
		}
		if !reflect.DeepEqual(e.Measurement, m) {
			t.Errorf("%s: other measurement:\n%+v\n%+v", name, e.Measurement, m)
		}
	}
}

// TestKeySaysWhatCounts changes what a point follows from, one thing at a time, and what it does not.
func TestKeySaysWhatCounts(t *testing.T) {
	plain := exptest.PointOf(t, exptest.E5410, "k").Key("program")
	seen := map[string]string{plain: "the point itself"}
	other := func(what, key string) {
		if seen[key] != "" {
			t.Errorf("%s has the key of %s", what, seen[key])
		}
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
		if exptest.PointOf(t, exptest.E5410, "k", set).Key("program") != plain {
			t.Errorf("%s is another measurement", set)
		}
	}
}

// TestDamagedIsNotKept cuts an entry off at every length and changes each of its bytes: none of that is loaded, and the
// point is measured again.
func TestDamagedIsNotKept(t *testing.T) {
	out := t.TempDir()
	p, err := exptest.ToyLoader().Plan(exptest.ToyFiles(t), nil)
	require.NoError(t, err)
	store := keeping.New(out, "program", false)
	(&running.Runner{Measure: store.Measure(exptest.ToyMeasure), Workers: 1}).Run(p)
	pt := &p.Points[0]
	whole, file := entryOf(t, out, store, pt)
	measured := 0
	again := store.Measure(func(p *schema.Point) (*kinds.Measurement, error) {
		measured++
		return exptest.ToyMeasure(p)
	})
	trials := 0
	for n := range whole {
		changed := append([]byte(nil), whole...)
		changed[n] ^= 0x40
		for _, b := range [][]byte{whole[:n], changed} {
			require.NoError(t, os.WriteFile(file, b, 0o644))
			if _, err := again(pt); err != nil {
				t.Fatal(err)
			}
			if trials++; measured != trials {
				t.Fatalf("a file damaged at byte %d was taken for a measurement", n)
			}
		}
	}
	if _, ok := store.Load(pt); !ok {
		t.Error("what was measured again is not kept")
	}
	t.Logf("%d trials", trials)
}

// entryOf returns the entry of a point, and the file that it is in: the one that is gone when the point is.
func entryOf(t *testing.T, out string, s *keeping.Store, pt *schema.Point) (b []byte, file string) {
	t.Helper()
	err := filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || file != "" {
			return err
		}
		if err := os.Rename(path, path+".away"); err != nil {
			return err
		}
		if _, ok := s.Load(pt); !ok {
			file = path
		}
		return os.Rename(path+".away", path)
	})
	if err != nil || file == "" {
		t.Fatalf("no entry, %v", err)
	}
	if b, err = os.ReadFile(file); err != nil {
		t.Fatal(err)
	}
	return b, file
}

// TestTidy removes what killed runs left half written once nobody can be at it, and all but the latest programs.
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
	gone = append(gone, make("program/bb.x.new", old))
	there = append(there, make("program/cc.x.new", time.Now()))
	require.NoError(t, os.Chtimes(filepath.Join(out, keeping.Folder, "program"), old, old))
	require.NoError(t, keeping.New(out, "program", false).Tidy())
	for _, file := range there {
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
	for _, file := range gone {
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%s is still there", file)
		}
	}
}
