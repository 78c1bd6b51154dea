package kprobes

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

// TestRegistration carries out testdata/registration/operations.txt on a guest of each kernel, an operation a line, and
// holds what each returns and leaves against IMAGE.log: behind => the error, then what has changed of each probe's mode, the
// rule that keeps its breakpoint and its flags, what was stored into text, and what is in use. A guest says what the last one was
// charged. A sum of all stores of each kernel shows what a log does not: a structure of the guest that is written another way.
// -update writes the logs.
func TestRegistration(t *testing.T) {
	const dir = "testdata/registration/"
	var sums strings.Builder
	operations := string(require.Must(os.ReadFile(dir + "operations.txt"))(t))
	for _, image := range registering() {
		t.Run(image, func(t *testing.T) {
			r := &registrar{t: t, image: image}
			var out strings.Builder
			for line := range strings.Lines(operations) {
				out.WriteString(r.line(strings.TrimSuffix(line, "\n")) + "\n")
			}
			fmt.Fprintf(&sums, "%s: %016x\n", image, r.written)
			holdLog(t, filepath.FromSlash(dir+image+".log"), out.String())
		})
	}
	require.Lines(t, dir+"stores.txt", sums.String(), *update)
}

// registering lists the kernels with the most of what the documents describe, kernels of x86 that enter
// functions by a call, and two of the first year.
func registering() (names []string) {
	for _, isa := range isas() {
		names = append(names, kernelsOf(isa)...)
	}
	return append(names, "x86_64-2020", "i386-2020", "i386-2005", "ppc64-2005")
}

// holdLog compares a log with a file line by line, or writes it.
func holdLog(t *testing.T, file, got string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if want := string(text); err != nil || got != want {
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
			return
		}
		lines, wants := strings.Split(got, "\n"), strings.Split(want, "\n")
		for i, line := range lines {
			if i >= len(wants) || line != wants[i] {
				t.Fatalf("%s:%d:\n%s\nwant\n%s (-update writes it; %v)", file, i+1, line, strings.Join(wants[min(i, len(wants)-1):min(i+1, len(wants))], ""), err)
			}
		}
		t.Fatalf("%s is longer than the log", file)
	}
}

// registrar is a guest with the probes that operations have named.
type registrar struct {
	*guest
	t         *testing.T
	image     string
	probes    map[string]*Probe
	text      string // of the kernel, as it was
	allocated int
	said      map[string]string // of each probe, and of what is left, by the last line that said it
}

// line carries out a line.
func (r *registrar) line(line string) string {
	w := strings.Fields(line)
	if len(w) == 0 || w[0] == "#" {
		return line
	}
	if w[0] == "guest" {
		if r.guest != nil {
			line += fmt.Sprintf(" # %d cycles since the last", r.now.Cycles())
		}
		r.begin(w[1:])
		return line
	}
	r.pokes = nil
	passes, begun := r.passes, r.now
	out := line + " =>"
	if said, err := r.do(w[0], w[1:]); err != nil {
		why := err.Error()
		if place, ok := strings.CutPrefix(why, "registering a probe at "); ok {
			_, why, _ = strings.Cut(place, ": ")
		}
		out += " " + why + ";"
	} else if said != "" {
		out += " " + said + ";"
	}
	out += r.states()
	if n := r.passes - passes; n > 0 {
		out += fmt.Sprintf(" %d changes of text;", n)
	}
	if jiffies := (r.now - begun).Cycles() / 1e6; jiffies > 0 {
		out += fmt.Sprintf(" %d jiffies;", jiffies)
	}
	return out + r.left()
}

// begin makes another guest by words for its options.
func (r *registrar) begin(words []string) {
	o := Default()
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		number, _ := strconv.Atoi(value)
		switch name {
		case "plain":
			o = plain()
		case "boosting":
			o = boosting()
		case "off":
			o.Optimization = false
		case "no-jumps":
			o.OptProbes = false
		case "preempt":
			o.Preempt = true
		case "quiesce":
			o.Quiesce = value
		case "batch":
			o.Batch = number
		default:
			r.t.Fatalf("no option %q", w)
		}
	}
	before := r.guest
	if r.guest = newGuest(r.t, r.image, o); before != nil {
		r.stored(before.written, 0)
	}
	r.probes, r.said = map[string]*Probe{}, map[string]string{"": "left: nothing"}
	text := r.k.sym.text
	r.text, r.allocated = string(r.guest.image[text.Start-r.base.image:text.End-r.base.image]), len(r.used)
}

// do carries out an operation, and returns what it says.
func (r *registrar) do(verb string, w []string) (string, error) {
	toggles := map[string]func(*Probe) error{
		"remove":     func(p *Probe) error { delete(r.probes, w[0]); return r.k.Remove(r, p) },
		"unregister": func(p *Probe) error { return r.k.Unregister(r, Kprobe, p.Addr) }, // the structure stays
		"enable":     func(p *Probe) error { return r.k.Enable(r, p) },
		"disable":    func(p *Probe) error { return r.k.Disable(r, p) },
	}
	if toggle := toggles[verb]; toggle != nil {
		if p := r.probes[w[0]]; p != nil {
			return "", toggle(p)
		}
		return "was refused", nil // by a kernel of another year
	}
	switch verb {
	case "add":
		return "", r.register(w[0], w[1:])
	case "wait":
		return "", r.k.WaitOptimizer(r)
	case "sleep":
		return "", r.smp.Sleep(r, require.Must(strconv.ParseInt(w[0], 10, 64))(r.t))
	case "optimization":
		return "", r.k.SetOptimization(r, w[0] == "on")
	case "arm":
		return "", r.k.armAll(r, w[0] == "all")
	case "unload":
		return "", r.k.Unload(r, w[0])
	case "load":
		return "", r.k.Load(r, w[0])
	case "heap":
		r.full = w[0] == "full"
		return "", nil
	case "slots":
		for i := range r.k.slots.used {
			r.k.slots.used[i] = w[0] == "full"
		}
		return "", nil
	case "list":
		list, err := r.k.List()
		lines := strings.Split(strings.TrimSuffix(list, "\n"), "\n")
		slices.Sort(lines)
		return strings.Join(lines, ", "), err
	case "footprint":
		f, err := r.k.Footprint(slices.Collect(maps.Values(r.probes))...)
		return fmt.Sprintf("%+v", f), err
	}
	r.t.Fatalf("no operation %q", verb)
	return "", nil
}

// register registers a probe at SYMBOL, SYMBOL+BYTES or SYMBOL#INSTRUCTION, or at an address.
func (r *registrar) register(name string, w []string) (err error) {
	s := Spec{Symbol: w[0]}
	if at, offset, ok := strings.Cut(w[0], "+"); ok {
		s.Symbol, s.Offset = at, require.Must(strconv.ParseUint(offset, 0, 64))(r.t)
	} else if at, number, ok := strings.Cut(w[0], "#"); ok {
		s.Symbol, s.Offset = at, r.insn(at, require.Must(strconv.Atoi(number))(r.t))
	} else if at, err := strconv.ParseUint(w[0], 0, 64); err == nil {
		s.Symbol, s.Addr = "", at
	}
	for _, w := range w[1:] {
		key, value, _ := strings.Cut(w, "=")
		number, _ := strconv.ParseUint(value, 0, 64)
		switch key {
		case "kretprobe", "jprobe":
			s.Kind = require.Must(ParseKind(key))(r.t)
		case "handler":
			s.Handler = value
		case "post":
			s.Post = value
		case "fault":
			s.Fault = value
		case "entry":
			s.Entry = value
		case "maxactive":
			s.MaxActive = int32(number)
		case "data":
			s.DataSize = number
		case "disabled":
			s.Disabled = true
		default:
			r.t.Fatalf("a probe has no %q", w)
		}
	}
	p, err := r.k.Add(r, s)
	if err == nil {
		r.probes[name] = p
	}
	return err
}

// changed returns what is said of a probe or, for "", of what is left, unless it was said before.
func (r *registrar) changed(name, text string) string {
	if r.said[name] == text {
		return ""
	}
	r.said[name] = text
	return " " + text + ";"
}

// states says of every probe what it is.
func (r *registrar) states() (out string) {
	heads := map[uint64]bool{}
	for _, name := range slices.Sorted(maps.Keys(r.probes)) {
		p := r.probes[name]
		st, err := r.k.State(p.Addr)
		if err != nil {
			r.t.Fatal(out, name, err)
		}
		text := fmt.Sprintf("%s %s", name, st.Mode)
		if st.Queued {
			text += " queued"
		}
		if st.Refusal != nil {
			text += " (" + string(st.Refusal.Rule) + ")"
		}
		text += fmt.Sprintf(" flags %d", r.k.flags(p.Addr))
		if i := slices.Index(r.k.arch.Members, "ainsn.boostable"); i >= 0 {
			text += fmt.Sprintf(" boostable %d", int32(r.k.m.Load(p.Addr, r.k.l.p.arch[i])))
		}
		if p.Kind == Kretprobe {
			text += fmt.Sprintf(" instances %d", len(r.k.hlist(r.k.freeHead(p.Addr), r.k.instanceLinks())))
		}
		out += r.changed(name, text)
		if s := r.k.siteOf(p.Addr); s != nil && s.aggr && !heads[s.head] {
			heads[s.head] = true
			out += r.changed(fmt.Sprint(s.addr), r.aggregate(s.head))
		}
	}
	return out
}

// aggregate says which probes share an address, in the order in which their handlers are called, and what it has.
func (r *registrar) aggregate(head uint64) string {
	var names []string
	for _, child := range r.k.children(head) {
		for name, p := range r.probes {
			if p.Addr == child {
				names = append(names, name)
			}
		}
	}
	out := "shared by " + strings.Join(names, " ")
	if r.k.m.Load(head, r.k.l.p.pre) != r.k.sym.aggrPre {
		out += " without its handler"
	}
	if r.k.m.Load(head, r.k.l.p.post) == r.k.sym.aggrPost {
		out += " with post handlers"
	}
	return out
}

// left says what was stored, whether text differs from the image's, and what is in use.
func (r *registrar) left() (out string) {
	for _, p := range r.pokes {
		out += " " + p + ";"
	}
	var left []string
	if now := require.Must(r.at(r.k.sym.text.Start, len(r.text)))(r.t); string(now) != r.text {
		left = append(left, "text")
	}
	for _, n := range []struct {
		what string
		n    int64
	}{
		{"sites", int64(len(r.k.sites))},
		{"slots", r.k.slots.taken()},
		{"detours", r.k.detours.taken()},
		{"to free", int64(len(r.k.freeing))},
		{"allocations", int64(len(r.used) - r.allocated)},
	} {
		if n.n != 0 {
			left = append(left, fmt.Sprint(n.n, " ", n.what))
		}
	}
	if left == nil {
		left = []string{"nothing"}
	}
	return out + r.changed("", "left: "+strings.Join(left, ", "))
}
