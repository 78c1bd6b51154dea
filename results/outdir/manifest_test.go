package outdir

import (
	"flag"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func sampleManifest() *Manifest {
	return &Manifest{
		Program: Program{Revision: "78a6ff5", Modified: true},
		Inputs: []Input{
			{"experiment", "overhead-xeon-e5410-x86_64.toml", Hash([]byte("experiment"))},
			{"machine", "xeon-e5410", Hash([]byte("machine"))},
			{"image", "kernel-x86_64-2010", Hash([]byte("image"))},
		},
		Overrides: []string{"hits=100", "seed=7"},
		Seed:      1<<63 + 1,
		Points: []PointStatus{
			{"k", StatusOK, ""},
			{"o", StatusFailed, "cycle budget of 1000000 used up at do_int3+0x12 <overhead.toml:31>"},
		},
		Sources: []string{"Documentation/kprobes.txt, 2010"},
	}
}

func TestManifest(t *testing.T) {
	data := require.Must(sampleManifest().JSON())(t)
	require.Golden(t, *update, "manifest.json", data)
	back := require.Must(ReadManifest("manifest.json", data))(t)
	require.That(t, reflect.DeepEqual(back, sampleManifest()), "read back %+v", back)
}

// TestProgram has what builds note of themselves: the revision, or else the version of a released module, and never the
// version that Go makes up for a clone.
func TestProgram(t *testing.T) {
	vcs := func(revision, modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "GOARCH", Value: "arm64"}, {Key: "vcs.revision", Value: revision}, {Key: "vcs.modified", Value: modified}}
	}
	main := func(version string) debug.Module { return debug.Module{Path: "kprobesim", Version: version} }
	for _, c := range []struct {
		info *debug.BuildInfo
		want Program
		text string
	}{
		{nil, Program{}, "of an unknown revision"},
		{&debug.BuildInfo{Main: main("(devel)")}, Program{}, "of an unknown revision"},
		{&debug.BuildInfo{Main: main("v1.2.0")}, Program{Version: "v1.2.0"}, "version v1.2.0"},
		{&debug.BuildInfo{Main: main("v0.0.0-2026"), Settings: vcs("abc", "false")}, Program{Revision: "abc"}, "revision abc"},
		{&debug.BuildInfo{Settings: vcs("abc", "true")}, Program{Revision: "abc", Modified: true}, "revision abc with changes"},
	} {
		got := BuiltFrom(c.info)
		require.That(t, got == c.want && got.String() == c.text, "%+v: %+v, %q", c.info, got, got)
	}
	m := Manifest{}
	if b, err := m.JSON(); err != nil || strings.Contains(string(b), "program") {
		t.Errorf("a build that notes nothing is in the manifest: %s, %v", b, err)
	} else if strings.Contains(string(b), "null") {
		t.Errorf("an empty list is no list: %s", b)
	}
}

func TestManifestRefuses(t *testing.T) {
	for _, c := range []struct {
		spoil func(*Manifest)
		want  string
	}{
		{func(m *Manifest) { m.Inputs[0].Name = "/home/x/overhead.toml" }, "is a path"},
		{func(m *Manifest) { m.Inputs[0].Name = "" }, "no kind or no name"},
		{func(m *Manifest) { m.Inputs[0].Hash = "12" }, "no sha256 hash"},
		{func(m *Manifest) { m.Points[0].Error = "odd" }, "is ok and has an error"},
		{func(m *Manifest) { m.Points[1].Error = "" }, "does not say why"},
		{func(m *Manifest) { m.Points[0].Status = "fine" }, `status "fine"`},
		{func(m *Manifest) { m.Points[0].Name = "" }, "no name"},
	} {
		m := sampleManifest()
		c.spoil(m)
		require.Error(t, require.Err(m.JSON()), c.want, "the call")
	}
}

func TestReadManifestRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "m: EOF",
		`{"format": 2}`:                 "m: format 2",
		`{"format": 1, "host": "a"}`:    "unknown field",
		`{"format": 1} {"format": 1}`:   "something follows",
		`{"format": 1, "seed": "-1"}`:   "m: ",
		`{"format": 1, "points": [{}]}`: "no name",
	} {
		require.Error(t, require.Err(ReadManifest("m", []byte(text))), want, "%s", text)
	}
}
