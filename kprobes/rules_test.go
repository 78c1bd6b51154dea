package kprobes

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

var update = flag.Bool("update", false, "write the outcomes in testdata")

// TestRules holds the rules of the architectures against testdata/rules/IMAGE.txt, a case a line: what is asked, inputs,
// and behind " => " the outcome. The first word of a case is a method of ruled.
func TestRules(t *testing.T) {
	files, err := filepath.Glob("testdata/rules/*.txt")
	require.Need(t, err == nil && len(files) >= 5, "%d files, %v", len(files), err)
	for _, file := range files {
		image := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(image, func(t *testing.T) {
			text := require.Must(os.ReadFile(file))(t)
			g := newGuest(t, image, Default())
			r := ruled{t: t, a: g.k.arch, year: g.k.era.Year}
			var out strings.Builder
			for line := range strings.Lines(string(text)) {
				out.WriteString(r.line(strings.TrimSuffix(line, "\n")) + "\n")
			}
			if *update && out.String() != string(text) {
				err = os.WriteFile(file, []byte(out.String()), 0o644)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// ruled answers the cases of a file.
type ruled struct {
	t    *testing.T
	a    *Arch
	year int
	in   []string
	tmpl Template
}

// line returns a line with the outcome that it has now.
func (r *ruled) line(text string) string {
	asked, want, ok := strings.Cut(text, " => ")
	if strings.HasPrefix(text, "#") || text == "" {
		return text
	}
	words := strings.Split(asked, " | ")
	r.in = words[1:]
	got := map[string]func() string{
		"atomic": r.atomic, "boundary": r.boundary, "classify": r.classify, "detour": r.detour, "jump": r.jump,
		"prepare": r.prepare, "region": r.region, "reserves": r.reserves, "template": r.template, "why": r.why,
	}[words[0]]()
	require.That(r.t, ok && got == want || *update, "%s\ngot  %s\nwant %s", asked, got, want)
	return asked + " => " + got
}

// code is an input of bytes, which may be parted by blanks. A word of the guest is written as it lies in memory, or
// as a number behind "w".
func (r *ruled) code(i int) []byte {
	text, word := strings.CutPrefix(strings.ReplaceAll(r.in[i], " ", ""), "w")
	var b []byte
	if _, err := fmt.Sscanf(text, "%x", &b); err != nil && text != "" {
		r.t.Fatalf("%q: %v", r.in[i], err)
	}
	if word && r.a.Name == "arm" {
		b[0], b[1], b[2], b[3] = b[3], b[2], b[1], b[0]
	}
	return b
}

// number is an input; what is not there is 0.
func (r *ruled) number(i int) uint64 {
	if i >= len(r.in) {
		return 0
	}
	n, err := strconv.ParseInt(r.in[i], 0, 64)
	if err != nil {
		u := require.Must(strconv.ParseUint(r.in[i], 0, 64))(r.t)
		return u
	}
	return uint64(n)
}

func (r *ruled) atomic() string {
	return fmt.Sprint(r.a.Atomic(r.number(0), r.number(1), r.code(2), r.code(3)))
}

// boundary lists the offsets at which instructions start, up to two behind the end.
func (r *ruled) boundary() string {
	fn, starts := Text{Name: "f", Start: 0x1000, Code: r.code(0)}, []string{}
	for at := fn.Start; at < fn.End()+2; at++ {
		if r.a.Boundary(fn, at) == nil {
			starts = append(starts, fmt.Sprint(at-fn.Start))
		}
	}
	return strings.Join(starts, " ")
}

func (r *ruled) classify() string {
	c := r.a.Classify(r.code(0), r.number(1))
	return fmt.Sprintf("%s %d %#x", [...]string{"other", "breakpoint", "jump", "spin"}[c.Kind], c.Len, c.Target)
}

func (r *ruled) reserves() string {
	return [...]string{"nothing", "load", "store"}[r.a.Reserves(r.code(0))]
}

// prepare has an address, a slot, and what the kernel does beside stepping.
func (r *ruled) prepare() string {
	cp, err := r.a.Prepare(Insn{
		Code: r.code(0), Addr: r.number(1), Slot: r.number(2), Boost: r.in[3] == "boost", Blind: r.in[3] == "blind", Year: r.year,
	})
	if err != nil {
		return err.Error()
	}
	text := fmt.Sprintf("% x", cp.Code)
	for _, m := range cp.Members {
		text += fmt.Sprintf(", %s=%#x%s", m.Member, m.Number, m.Func)
	}
	if cp.Runs != noMode {
		text += ", runs " + cp.Runs.String()
	}
	return text
}

// site has the code of a function, an offset, and what is there beside.
func (r *ruled) site() Site {
	s := Site{Fn: Text{Name: "f", Start: 0x1000, Code: r.code(0)}, Addr: 0x1000 + r.number(1)}
	if len(r.in) < 3 {
		return s
	}
	switch what, at, _ := strings.Cut(r.in[2], " "); what {
	case "entry":
		s.EntryText = Span{0x1000, 0x2000}
	case "module":
		s.Module = true
	case "faults":
		off, _ := strconv.ParseUint(at, 0, 64)
		s.Exceptions = func(addr uint64) bool { return addr == 0x1000+off }
	case "careless":
		s.Careless = true
	}
	return s
}

func (r *ruled) region() string {
	s := r.site()
	region, refused := r.a.Optimizer.Region(s)
	switch {
	case refused != nil:
		return refusedAt(refused, s.Fn.Start)
	case region.Addr != s.Addr || !bytes.HasPrefix(s.Fn.Code[s.Addr-s.Fn.Start:], region.Code):
		return fmt.Sprintf("%#x % x", region.Addr, region.Code)
	}
	return fmt.Sprintf("%d bytes", len(region.Code))
}

// why is the whole sentence of a refused region.
func (r *ruled) why() string {
	_, refused := r.a.Optimizer.Region(r.site())
	return refused.Error()
}

func refusedAt(r *Refusal, from uint64) string {
	return fmt.Sprintf("%s at %+#x", r.Rule, int64(r.Addr-from))
}

// jump has the code of the region, from where, and to where.
func (r *ruled) jump() string {
	code, refused := r.a.Optimizer.Jump(Region{Addr: r.number(1), Code: r.code(0)}, r.number(2))
	if refused != nil {
		return refusedAt(refused, r.number(1))
	}
	if c := r.a.Classify(code, r.number(1)); c.Kind != ClassJump || c.Target != r.number(2) || c.Len != len(code) {
		return fmt.Sprintf("%+v", c)
	}
	return fmt.Sprintf("% x", code)
}

// template is that of the detours that follow: code, and marks.
func (r *ruled) template() string {
	r.tmpl = Template{Code: r.code(0)}
	for i := range r.in[1:] {
		r.tmpl.Marks = append(r.tmpl.Marks, int(int64(r.number(1+i))))
	}
	return fmt.Sprintf("%d bytes", len(r.tmpl.Code))
}

// detour has the code of the region, where that is, where the buffer is, the probe, and the functions that are called.
func (r *ruled) detour() string {
	before := bytes.Clone(r.tmpl.Code)
	at := DetourAt{Addr: r.number(2), Probe: r.number(3)}
	for i := range r.in[4:] {
		at.Calls = append(at.Calls, r.number(4+i))
	}
	d, refused := r.a.Optimizer.Detour(r.tmpl, Region{Addr: r.number(1), Code: r.code(0)}, at)
	switch {
	case !bytes.Equal(before, r.tmpl.Code):
		return "the template has changed"
	case refused != nil:
		return string(refused.Rule)
	}
	return fmt.Sprintf("% x", d)
}
