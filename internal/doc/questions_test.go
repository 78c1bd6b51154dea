package doc

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// answers has the values that a reader takes from a document.
type answers struct {
	Text, Name, Word string
	Flag, Is, Has    bool
	Number           int64
	Words            []string
	Size             int64
	Share            string
	Bare             string
	Sub              string
	Under            []string
	Keys             []string
}

// ask asks for a key of each kind.
func ask(root *Node, errs *Errors) (a answers) {
	r := NewReader(root, errs)
	defer r.Done()
	a.Text = Need(r, "text", Text)
	a.Name = Opt(r, "name", "none", Name)
	a.Word = Opt(r, "word", "one", OneOf("one", "two"))
	a.Flag = Opt(r, "flag", true, Flag)
	a.Is = r.Is("word", "three")
	a.Has = r.Has("has")
	if root.made != nil { // a schema has what each answer asks for
		for name, got := range map[string]any{"flag": a.Flag, "is": a.Is, "has": a.Has, "word": a.Word, "single": Opt(r, "single", "", OneOf("only")), "text": a.Text} {
			Opt(r, fmt.Sprint(name, "-", got), "", Text)
		}
	}
	if a.Flag && !a.Has {
		Opt(r, "flagged", "", Text)
		Opt(r, "flagged", "", OneOf("one")) // one of a word, or any
	}
	a.Number = Opt(r, "number", -9, Int(-8, 8))
	a.Words = Opt(r, "words", nil, ListOf(OneOf("a", "b")))
	a.Size = Opt(r, "size", 5, Size().Whole(false, 3, 1<<21))
	share, bare := Opt(r, "share", Quantity{}, Share().Parse(false)), Opt(r, "bare", Quantity{}, Time().Parse(true))
	a.Share, a.Bare = fmt.Sprint(share), fmt.Sprint(bare)
	s := r.Sub("sub", true)
	a.Sub = Need(s, "text", Text) + s.Path("x")
	s.Done()
	for _, l := range r.List("list") {
		a.Under = append(a.Under, Opt(l, "name", "", Text)+l.Path("n")+fmt.Sprint(Need(l, "n", Int(0, 9)), l.Pos(), l.At("n"), l.Text("n")))
		l.Errorf("n", "seen")
		l.Errorf("none", "seen, too")
		l.Done()
	}
	free := r.Sub("free", false)
	a.Keys = free.Keys()
	for _, k := range a.Keys {
		Opt(free, k, 0, Int(0, 1<<40))
	}
	free.Done()
	return a
}

// others are the answers that are others.
func others(a, b answers) (out string) {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		if got := fmt.Sprint(x.Field(i)); got != fmt.Sprint(y.Field(i)) {
			out += fmt.Sprintf("%s %q ", x.Type().Field(i).Name, got)
		}
	}
	return out
}

// complete is a document with all that ask asks for.
const complete = `text = "t"
name = "n-1"
word = "two"
flag = false
has = 1
number = 0x8
words = ["a", "b"]
size = "2 MiB"
share = "1.5 %"
bare = "1/3 ns"
sub = {text = "below"}
list = [{n = 1}, {name = "second", n = 2}]
free = {p0 = 1, p1 = 2}
`

// TestQuestions reads documents in which one key is another one or none. The golden file has what is read of each and what is said, and
// the schema of all.
func TestQuestions(t *testing.T) {
	var out strings.Builder
	var said Errors
	whole := ask(require.Must(Parse("f.toml", []byte(complete)))(t), &said)
	fmt.Fprintf(&out, "%+v\n%v\n", whole, said.Err())
	for _, set := range []string{
		"flag=false", "text=", "text=' '", "text=3", "text=\"a\\u001bb\"", "text=\"a\\tb\\nc\"", "name=x/y", "name=-x", "name=" + strings.Repeat("x", 101), "name=" + strings.Repeat("x", 100),
		"word=three", "word=tow", "word = one ", "word=3", "flag=1", "flag=true", "number=9", "number=-8", "number=-9", "number=0b11", "number=1_0", "number=1.5", "number=x", "number=99999999999999999999",
		"words=a", "words=[]", "words=[\"a\", \"c\"]", "words=[1]", "size=2 B", "size=3 B", "size=2097153 B", "size=3", "size=1/2 KiB", "size=7/2 B", "size=1.5 KiB", "size=true", "size=4 KB", "size=-3 B",
		"share=20", "share=20%", "share= 20 % ", "share=1.5/2 %", "share=1_0 %", "share=%", "bare=3", "bare=1.25 ms", "bare=0.5", "bare=[]", "bare=1.2345678901234 s", "bare=2 h",
		"sub=3", "sub={}", "sub={text = \"t\", txet = 1}", "list=3", "list=[3]", "list=[{}]", "list=[{name = \"x\", n = 11, m = 3}]", "list=[{name = 3, n = 1}]",
		"free={}", "free={p = \"x\"}", "free=3", "unknown=1", "has=[]", "list.0.n=5", "list.second.n=7", "list.third.n=1", "text.below=1", "sub.text.below.more=1", "new.below=2", "=3", "a..b=3", "a.\"b.c\"=3", "#=1",
	} {
		root := require.Must(Parse("f.toml", []byte(complete)))(t)
		s, err := ParseSetting(set)
		if err == nil {
			err = s.Apply(root)
		}
		var errs Errors
		got := ask(root, &errs)
		if err == nil {
			err = errs.Err()
		}
		fmt.Fprintf(&out, "%s: %s\n", set, others(got, whole))
		for l := range strings.Lines(fmt.Sprint(err)) {
			if strings.HasPrefix(set, "list") || !strings.Contains(l, ": seen") {
				fmt.Fprintf(&out, "\t%s\n", strings.TrimSpace(strings.ReplaceAll(l, "--set "+set, "SET")))
			}
		}
	}
	for _, text := range []string{"", "text = 1\n", strings.Replace(complete, "sub =", "bus =", 1)} {
		var errs Errors
		fmt.Fprintf(&out, "%+v\n%v\n", ask(require.Must(Parse("f.toml", []byte(text)))(t), &errs), errs.Err())
	}
	var errs Errors
	NewReader(&Node{Kind: Integer}, &errs).Done()
	schema := require.Must(json.MarshalIndent(Describe(50, func(root *Node, errs *Errors) { ask(root, errs) }), "", " "))(t)
	fmt.Fprintf(&out, "%v\n%s\n", errs.Err(), schema)
	require.Golden(t, *update, "questions.txt", []byte(out.String()))
}

// placed writes a document with the file of each of its values.
func placed(n *Node, path string) (out string) {
	for _, f := range n.Fields {
		out += placed(f.Value, path+"."+f.Key)
	}
	for i, it := range n.Items {
		out += placed(it, fmt.Sprint(path, ".", i))
	}
	return fmt.Sprintf("\t%s %s at %s\n", path, n.Text, n.Pos) + out
}

// TestMerge merges documents of each form: what stands in which place, and from which of them.
func TestMerge(t *testing.T) {
	var out strings.Builder
	for _, c := range [][2]string{
		{"a = 1\nb = 2\n", "b = 3\nc = 4\n"},
		{"[t]\na = 1\nb = 2\n[t.u]\nc = 1\n", "[t]\nb = 3\n[t.u]\nd = 4\n"},
		{"[t]\na = 1\nb = 2\n", "[t]\nb = 3\nsource = \"book\"\n"},
		{"t = {a = 1}\n", "t = 3\n"},
		{"t = 3\n", "t = {a = 1}\n"},
		{"l = [1, 2]\n", "l = [3]\n"},
		{"l = [{name = \"a\", x = 1}]\n", "l = [{name = \"b\"}]\n"},
		{"l = []\n", "l = [{name = \"a\"}]\n"},
		{"l = [{name = \"a\"}]\n", "l = []\n"},
		{"l = [{name = \"a\", x = 1}, {x = 2}, {name = \"b\", x = 3}]\n", "l = [{name = \"b\", y = 4}, {y = 5}, {name = \"c\", y = 6}, {name = 3, y = 7}]\n"},
	} {
		base, over := require.Must(Parse("base.toml", []byte(c[0])))(t), require.Must(Parse("over.toml", []byte(c[1])))(t)
		before := placed(base, "") + placed(over, "")
		merged := Merge(base, over)
		fmt.Fprintf(&out, "%q %q\n%s", c[0], c[1], placed(merged, ""))
		require.Equal(t, placed(base, "")+placed(over, ""), before, "what was merged")
		merged.place(Pos{File: "elsewhere"})
		require.Equal(t, placed(base, "")+placed(over, ""), before, "what was merged, behind a change of the whole")
		require.Equal(t, strings.Count(placed(merged, ""), "elsewhere"), strings.Count(placed(merged, ""), "\n"), "values of a place")
	}
	root := require.Must(Parse("f.toml", []byte(complete)))(t)
	for _, path := range []string{"", "sub", "sub.text", "sub.none", "list.second.n", "list.1.n", "list.none.n", "text.x"} {
		fmt.Fprintf(&out, "%s is found at %s\n", path, root.Find(strings.FieldsFunc(path, func(c rune) bool { return c == '.' })...).Pos)
	}
	var units []string
	for _, d := range Dimensions() {
		for _, u := range d.Units {
			units = append(units, u.Name)
		}
	}
	all := len(units)
	slices.Sort(units)
	require.That(t, all > 12 && len(slices.Compact(units)) == all, "two dimensions have a unit in common: %q", units)
	for _, x := range [][2]string{{"a/b.toml", "c.toml"}, {"a/b.toml", "/c/../d.toml"}, {"b.toml", "./c"}} {
		fmt.Fprintf(&out, "%s beside %s: %s\n", x[1], x[0], Beside(x[0], x[1]))
	}
	for _, name := range []string{"a", "a/b", `a\b`, "a.toml", "a.tom"} {
		fmt.Fprintf(&out, "%s: a path %v\n", name, IsPath(name))
	}
	for _, x := range [][]string{{"hits", "hist"}, {"hits", "bits", "hit"}, {"a", "b"}, {"abcdef", "abwxyz"}, {"abcdef", "abcxyz"}, {"workload", "kernel", "wrkload"}, {"x" + strings.Repeat("y", 100), "x" + strings.Repeat("y", 99)}, {strings.Repeat("y", 400), "x"}} {
		fmt.Fprintf(&out, "%.20s for %.40q: %q\n", x[0], x[1:], Suggest(x[0], x[1:]))
	}
	require.Golden(t, *update, "merged.txt", []byte(out.String()))
}

// TestJoin takes the mistakes of an error one by one, and gives another error a place.
func TestJoin(t *testing.T) {
	var all, parts Errors
	parts.Add(Pos{Line: 2}, "x")
	parts.Add(Pos{Line: 1}, "y")
	all.Join(Pos{Line: 5}, nil)
	all.Join(Pos{Line: 4}, fmt.Errorf("with more: %w", parts.Err()))
	all.Join(Pos{Line: 3}, errors.New("z"))
	require.Equal(t, fmt.Sprint(all), fmt.Sprint(Errors{{Pos{Line: 1}, "y"}, {Pos{Line: 2}, "x"}, {Pos{Line: 3}, "z"}}), "what was joined")
}
