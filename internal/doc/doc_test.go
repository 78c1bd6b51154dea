package doc

import (
	"fmt"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

const sample = `name = "x" # first
count = 12
[workload]
target = "vfs_read"
hits = [1, 2, # two
  3]
inner = { a = 1, b = "two" }
[[points]]
name = "k"
published = { us = "0.99" }
[[points]]
name = "b"
[points.extra]
deep.down = true
`

func TestParsePositions(t *testing.T) {
	root := require.Must(Parse("f.toml", []byte(sample)))(t)
	points := root.Get("points")
	for _, c := range []struct {
		n    *Node
		kind Kind
		pos  string
	}{
		{root.Get("name"), String, "f.toml:1:8"},
		{root.Get("count"), Integer, "f.toml:2:9"},
		{root.Get("workload").Get("hits").Items[2], Integer, "f.toml:6:3"},
		{root.Get("workload").Get("inner").Get("b"), String, "f.toml:7:22"},
		{points.Items[0].Get("published").Get("us"), String, "f.toml:10:20"},
		{points.Items[1].Get("extra").Get("deep").Get("down"), Bool, "f.toml:14:13"},
	} {
		require.That(t, c.n != nil && c.n.Kind == c.kind && c.n.Pos.String() == c.pos, "got %+v, want %v at %s", c.n, c.kind, c.pos)
	}
}

// A byte-order mark in front of the text is not part of it, and moves no place.
func TestByteOrderMark(t *testing.T) {
	root, err := Parse("f", []byte("\ufeffa = 1\n"))
	require.That(t, err == nil && root.Get("a") != nil && root.Get("a").Pos.Column == 5, "%+v, %v", root, err)
	require.That(t, require.Err(Parse("f", []byte("a = 1\n\ufeffb = 2\n"))) != nil, "a mark within the text is taken")
}

func TestParseErrors(t *testing.T) {
	for doc, want := range map[string]string{
		"a = ":                            "f.toml:1:",
		"a = 1\na = 2":                    "f.toml:2:1",
		"[t]\n[t]":                        "f.toml:2:",
		"d = 1979-05-27":                  "f.toml:1:5: dates and times",
		"a = " + strings.Repeat("[", 100): "nested",
	} {
		require.Error(t, require.Err(Parse("f.toml", []byte(doc))), want, "%q", doc)
	}
}

func TestReaderReportsEverything(t *testing.T) {
	root := require.Must(Parse("f.toml", []byte("nmae = \"x\"\nhits = -1\nkind = \"kprobes\"\n[t]\nx = 1\n[[p]]\n[[p]]\nname = \"k\"\ny = 1\n[[p]]\ny = 2\n")))(t)
	var errs Errors
	r := NewReader(root, &errs)
	Need(r, "name", Text)
	Opt(r, "hits", 7, Int(0, 10))
	Need(r, "kind", OneOf("kprobe", "kretprobe"))
	r.Sub("t", true).Done()
	for _, p := range r.List("p") {
		Opt(p, "name", "", Text)
		p.Done()
	}
	r.Done()
	want := `f.toml:1:1: name is missing
f.toml:1:1: unknown key "nmae"; did you mean "name"?
f.toml:2:8: hits: -1 is outside 0 to 10
f.toml:3:8: kind: unknown value "kprobes": known are kprobe, kretprobe; did you mean "kprobe"?
f.toml:5:1: unknown key "t.x"
f.toml:9:1: unknown key "p.k.y": known are name
f.toml:11:1: unknown key "p.2.y": known are name`
	got := errs.Err().Error()
	require.That(t, got == want, "got\n%s\nwant\n%s", got, want)
}

func TestSettings(t *testing.T) {
	for arg, want := range map[string]string{
		"workload.hits=100":        "100",
		"points.k.handler=work":    "work",
		"points.1.name=bb":         "bb",
		`workload."hits" = "7"`:    "7",
		"clock=2.33 GHz":           "2.33 GHz",
		"machine.event.x.cycles=5": "5",
	} {
		root := require.Must(Parse("f.toml", []byte(sample)))(t)
		s, err := ParseSetting(arg)
		require.NoError(t, err)
		require.NoError(t, s.Apply(root))
		n := root
		for _, k := range s.Path {
			if n, err = step(n, k); err != nil || n == nil {
				if k == "bb" {
					break
				}
				t.Fatalf("%s: %s is gone: %v", arg, k, err)
			}
		}
		require.That(t, n.Text == want && n.Pos.File == "--set "+arg, "%s: got %q at %s", arg, n.Text, n.Pos)
	}
}

func TestSettingErrors(t *testing.T) {
	for arg, want := range map[string]string{
		"workload":            "want key=value",
		"a..b=1":              "no dotted key",
		"#b=1":                "no dotted key",
		"points.kk.handler=x": `did you mean "k"?`,
		"name.sub=1":          "has no keys",
		"points.k.name.y.z=1": "has no keys",
	} {
		root := require.Must(Parse("f.toml", []byte(sample)))(t)
		s, err := ParseSetting(arg)
		if err == nil {
			err = s.Apply(root)
		}
		require.Error(t, err, want, "%s", arg)
	}
}

func TestQuantities(t *testing.T) {
	for _, c := range []struct {
		d    Dimension
		in   string
		want int64
		err  string
	}{
		{Frequency(), "2.333 GHz", 2333000000, ""},
		{Frequency(), "2.33", 0, "want a number and one of"},
		{Size(), "64 MiB", 64 << 20, ""},
		{Size(), "6MiB", 6 << 20, ""},
		{Time(), "10 ms", 10000, ""},
		{Time(), "-1 us", 0, "zero or more"},
		{Time(), "1e9 us", 0, "zero or more"},
		{Cycles(), "1_000_000 cycles", 1000000, ""},
		{Time(), "0.99 us", 0, "0.99 us is no whole number of us"},
		{Size(), "99999999999999999999 GiB", 0, "99999999999999999999 GiB is outside 0 B to 4294967296 GiB"},
	} {
		got, err := c.d.Whole(false, 0, 1<<62)(&Node{Kind: String, Text: c.in})
		require.That(t, (c.err != "" || err == nil && got == c.want) && (c.err == "" || err != nil && strings.Contains(err.Error(), c.err)), "%q: got %d, %v; want %d %q", c.in, got, err, c.want, c.err)
	}
}

// TestTooManyKeys wants a document that no reader would be done with to be refused at once.
func TestTooManyKeys(t *testing.T) {
	for _, line := range []string{"k%d = 1\n", "[t%d]\n", "[[t%d]]\n"} {
		var b strings.Builder
		for i := range maxKeys + 1 {
			fmt.Fprintf(&b, line, i)
		}
		require.Error(t, require.Err(Parse("many.toml", []byte(b.String()))), "keys and tables", "%q", line)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte("a.b = {c = [[1], {d = 1}]}\n[a.e]\n[[x]]\n[x.y]\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		root, err := Parse("f.toml", b)
		if err == nil {
			_ = root.Clone()
			for _, fd := range root.Fields {
				require.That(t, fd.Pos.Line >= 1 && fd.Pos.Column >= 1, "key %q has no place: %v", fd.Key, fd.Pos)
			}
		}
	})
}
