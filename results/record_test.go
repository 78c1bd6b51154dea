package results

import (
	"slices"
	"strings"
	"testing"
)

func TestSetRefuses(t *testing.T) {
	good := sample(t).Records()[0]
	for _, c := range []struct {
		name  string
		spoil func(*Record)
		want  string
	}{
		{"empty metric", func(r *Record) { r.Metric = "" }, `metric "" is empty`},
		{"comma", func(r *Record) { r.Machine = "a,b" }, `machine "a,b" holds a comma`},
		{"line break", func(r *Record) { r.Probe = "a\nb" }, "unprintable"},
		{"space at the end", func(r *Record) { r.Unit = "us " }, "space"},
		{"bad text", func(r *Record) { r.Era = "\xff" }, "not UTF-8"},
		{"no CPU", func(r *Record) { r.CPUs = 0 }, "cpus 0 is not positive"},
		{"role", func(r *Record) { r.Role = "guessed" }, `role "guessed" is not one of`},
	} {
		r := good
		c.spoil(&r)
		var s Set
		if err := s.Add(r); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
	var s Set
	if err := s.Add(good, good); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("the same record twice: %v", err)
	}
	if s.Len() != 1 {
		t.Errorf("set holds %d records after a refused one, want 1", s.Len())
	}
}

func TestSetOrder(t *testing.T) {
	var probes []string
	for _, p := range sample(t).Points() {
		probes = append(probes, p.Probe)
	}
	if want := []string{"k", "b", "o", "r", "rb", "ro"}; !slices.Equal(probes, want) {
		t.Errorf("points %v, want %v", probes, want)
	}
	if got := sample(t).Sources(); !slices.Equal(got, []string{"Documentation/kprobes.txt, 2010"}) {
		t.Errorf("sources %q", got)
	}
}

func TestCSV(t *testing.T) {
	data := sample(t).CSV()
	golden(t, "results.csv", data)
	set, err := ReadCSV("results.csv", strings.NewReader(string(data)))
	check(t, err)
	if d := Compare(sample(t), set); !d.Empty() {
		t.Errorf("read back differs: %+v", d)
	}
}

func TestReadCSVRefuses(t *testing.T) {
	header := strings.Join(columnNames(), ",") + "\n"
	row := "e,m,i,2010,1,1,k,c,cycles,1.5,fitted\n"
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "f:1: header is"},
		{"other header", "a,b\n", "f:1: header is"},
		{"cut", header + strings.TrimSuffix(row, "\n"), "f:2: the last line does not end"},
		{"few fields", header + row + "e,m\n", "f:3: 2 fields, want 11"},
		{"empty line", header + row + "\n", "f:3: 1 fields"},
		{"carriage return", header + strings.Replace(row, "\n", "\r\n", 1), "f:2: "},
		{"cpus", header + strings.Replace(row, ",1,1,", ",01,1,", 1), `f:2: cpus "01"`},
		{"seed", header + strings.Replace(row, ",1,1,", ",1,-1,", 1), `f:2: seed "-1"`},
		{"value", header + strings.Replace(row, "1.5", "1e5", 1), `f:2: value "1e5"`},
		{"role", header + strings.Replace(row, "fitted", "Fitted", 1), `f:2: record e k c: role "Fitted"`},
		{"quoted", header + strings.Replace(row, "e,", `"e",`, 1), "f:2: "},
		{"twice", header + row + row, "f:3: record e k c is there twice"},
	} {
		_, err := ReadCSV("f", strings.NewReader(c.text))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

// FuzzReadCSV holds the reader to its word: no panic, and what it accepts comes back byte for byte.
func FuzzReadCSV(f *testing.F) {
	header := strings.Join(columnNames(), ",") + "\n"
	f.Add(string(sample(f).CSV()))
	f.Add(header)
	f.Add(header + "e,m,i,2010,1,18446744073709551615,k/µ=1,c,%,-0.000001,measured\n")
	f.Add("\ufeff" + header)
	f.Fuzz(func(t *testing.T, text string) {
		set, err := ReadCSV("fuzz", strings.NewReader(text))
		if err != nil {
			return
		}
		if got := string(set.CSV()); got != text {
			t.Errorf("read %q, wrote %q", text, got)
		}
	})
}
