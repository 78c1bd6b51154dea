package kprobes

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/require"
	"kprobesim/sim"
)

// A function with a jprobe returns what it returns without, whatever the jprobe's function does to
// the arguments: for every function, and for arguments in registers and on the stack.
func TestJprobedFunctionReturnsTheSame(t *testing.T) {
	eachMode(t, olderModes(), func(l *live, m hitMode) {
		rng := rand.New(rand.NewPCG(5, 6))
		for _, f := range functionsOf(t, m.image) {
			for _, h := range []string{"jprobe_count", "jprobe_arguments"} {
				mode, _ := l.same(rng, Spec{Kind: Jprobe, Symbol: f.Name, Handler: h})
				if mode == Optimized || mode == Gone {
					t.Errorf("%s: a jprobe at %s is %s", m.name(), f.Name, mode)
				}
			}
		}
		for _, callee := range l.jprobed("values_0", "values_6", "values_9") {
			want := l.call("work_values", 77, 5)
			p := l.add(Spec{Kind: Jprobe, Symbol: callee, Handler: "jprobe_arguments"})
			hits := l.percpu("handler_hits")
			if got := l.call("work_values", 77, 5); got != want || l.percpu("handler_hits") != hits+1 {
				t.Errorf("%s: %s: result %#x, want %#x; %d hits", m.name(), callee, got, want,
					l.percpu("handler_hits")-hits)
			}
			l.remove(p)
		}
	})
}

// jprobed leaves out functions with arguments on the stack where jprobes keep registers alone: there the jprobe's
// function, which owns its arguments, changes the arguments of the probed one. That is so where function pointers lead to
// descriptors.
func (l *live) jprobed(functions ...string) []string {
	if l.m.Image().Descriptors() {
		return slices.DeleteFunc(functions, func(fn string) bool { return fn == "values_9" })
	}
	return functions
}

// The jprobe's function sees the arguments as the probed one does, the ninth included.
func TestJprobeSeesArguments(t *testing.T) {
	bootEach(t, withJprobes, plain(), func(l *live) {
		l.add(Spec{Kind: Jprobe, Symbol: "values_9", Handler: "jprobe_arguments"})
		a, b := uint64(1000), uint64(300)
		l.call("work_values", a, b)
		want := a + b + a + 1 + b + 1 + a + 2 + b + 2 + (a + b) + (a - b) + (a ^ b)
		require.Equal(t, l.percpu("handler_last_value"), want, "the arguments add up to")
	})
}

// At one address: the newest kprobe first, the jprobe last, whatever the order of registration.
func TestJprobeSharesAnAddress(t *testing.T) {
	eachMode(t, olderModes(), func(l *live, m hitMode) {
		j := l.add(Spec{Kind: Jprobe, Symbol: "bench_target", Handler: "jprobe_count"})
		k := l.add(Spec{Symbol: "bench_target", Handler: "handler_shared_count"})
		r := l.add(Spec{Kind: Kretprobe, Symbol: "bench_target", Handler: "ret_count"})
		if order := l.k.children(l.k.siteOf(j.Addr).head); len(order) != 3 ||
			order[0] != r.Addr || order[1] != k.Addr || order[2] != j.Addr {
			t.Errorf("%s: order %x of return probe %x, kprobe %x, jprobe %x", m.name(), order,
				r.Addr, k.Addr, j.Addr)
		}
		hits, shared := l.percpu("handler_hits"), l.word("handler_shared_hits")
		want := l.call("bench_target", 8, 9)
		if n := l.percpu("handler_hits") - hits; n != 2 || l.word("handler_shared_hits") != shared+1 {
			t.Errorf("%s: %d hits of jprobe and return, want 2", m.name(), n)
		}
		if got := l.percpu("handler_last_value"); got != want {
			t.Errorf("%s: the return handler saw %#x, the caller %#x", m.name(), got, want)
		}
		if !l.k.era.disabled {
			return
		}
		l.do(l.k.Disable(l.Call, j))
		l.call("bench_target", 8, 9)
		l.do(l.k.Enable(l.Call, j))
		l.do(l.k.Disable(l.Call, k))
		l.call("bench_target", 8, 9)
		if n := l.percpu("handler_hits") - hits; n != 5 || l.word("handler_shared_hits") != shared+2 {
			t.Errorf("%s: %d hits with one of three disabled, want 5", m.name(), n)
		}
		l.remove(j)
		l.do(l.k.Enable(l.Call, k))
		l.do(l.k.WaitOptimizer(l.Call))
		st := l.state(k)
		require.That(t, m.mode != Optimized || st.Mode == Optimized, "without the jprobe: %+v", st)
	})
}

// The guest's own calls, one and several at a time; a refused one takes those before it back.
func TestGuestRegistersJprobes(t *testing.T) {
	bootEach(t, withJprobes, plain(), func(l *live) {
		word := l.size()
		array := value(l.m.Alloc(16, 8))(l)
		for i, symbol := range []string{"bench_target", "work_read"} {
			jp := value(l.m.Alloc(l.k.l.j.size, 64))(l)
			l.do(l.m.WriteBytes(jp, make([]byte, l.k.l.j.size)))
			l.store(jp, l.k.l.p.addr, l.addr(symbol))
			l.store(jp, l.k.l.j.entry, l.pointer("jprobe_count"))
			l.do(l.m.Store(array+uint64(word*i), word, jp))
		}
		first := value(l.m.Load(array, word))(l)
		second := value(l.m.Load(array+uint64(word), word))(l)
		for _, step := range []struct {
			fn   string
			args []uint64
			want Errno
		}{
			{"register_jprobe", []uint64{second}, 0},
			{"register_jprobes", []uint64{array, 2}, EINVAL},
			{"unregister_jprobe", []uint64{second}, 0},
			{"register_jprobes", []uint64{array, 0}, EINVAL},
		} {
			require.Equal(t, l.status(step.fn, step.args...), -int32(step.want), "%s", step.fn)
			// A structure is to be used again: unregistering has left its marks in it.
			l.store(second, l.k.l.p.addr, l.addr("work_read"))
			l.store(first, l.k.l.p.flags, 0)
		}
		l.store(second, l.k.l.p.flags, 0)
		require.That(t, len(l.k.sites) == l.own, "%d probes stay", len(l.k.sites)-l.own)
		require.Equal(t, l.status("register_jprobes", array, 2), 0, "register_jprobes")
		hits := l.percpu("handler_hits")
		l.call("bench_target", 1, 2)
		l.call("unregister_jprobes", array, 2)
		l.call("bench_target", 1, 2)
		n := l.percpu("handler_hits") - hits
		require.That(t, n == 1 && len(l.k.sites) == l.own, "%d hits, want 1; %d probes left", n, len(l.k.sites)-l.own)
	})
}

// exceptions notes the exceptions delivered.
type exceptions []string

// Step implements cpus.Observer.
func (e *exceptions) Step(s *cpus.Step) {
	if s.Exception != "" {
		*e = append(*e, s.Exception)
	}
}

// exceptions puts the names of the instruction set in the place of bp and step.
func (l *live) exceptions(words string) string {
	names := strings.NewReplacer("bp", "#BP", "step", "#DB")
	switch {
	case l.m.Image().Descriptors():
		names = strings.NewReplacer("bp", "program", "step", "trace")
	case l.neverSteps():
		names = strings.NewReplacer("bp", "undefined instruction")
	}
	return strings.TrimSpace(names.Replace(words))
}

// neverSteps tells kernels that emulate every instruction: their processors cannot step. There the end of a jprobe
// calls the function of a hit and raises nothing.
func (l *live) neverSteps() bool { return l.k.arch.First == Emulated }

// trampolineTraps reports whether a return probe's function comes back by a breakpoint.
func (l *live) trampolineTraps() bool {
	s := l.k.site(l.addr("kretprobe_trampoline"))
	return s != nil && s.text == textProbed
}

// What a hit raises, by kind, mode and era. Where return probes trap they come back by a breakpoint.
func TestExceptionsOfAHit(t *testing.T) {
	k := Spec{Symbol: "bench_target", Handler: "handler_empty"}
	j := Spec{Kind: Jprobe, Symbol: "bench_target", Handler: "jprobe_empty"}
	r := Spec{Kind: Kretprobe, Symbol: "bench_target", Handler: "ret_empty"}
	for _, tt := range []struct {
		name                     string
		specs                    []Spec
		stepped, boosted, jumped string
		returns                  bool // a return probe is among them
	}{
		{"k", []Spec{k}, "bp step", "bp", "", false},
		{"j", []Spec{j}, "bp bp step", "bp bp", "bp bp", false},
		{"r", []Spec{r}, "bp step", "bp", "", true},
		{"kr", []Spec{k, r}, "bp step", "bp", "", true},
		{"jr", []Spec{j, r}, "bp bp step", "bp bp", "bp bp", true},
	} {
		for _, m := range olderModes() {
			want := map[Mode]string{Stepped: tt.stepped, Boosted: tt.boosted, Emulated: tt.boosted, Optimized: tt.jumped}[m.mode]
			bootImage(t, m.image, m.opt, func(l *live) {
				for _, s := range tt.specs {
					l.add(s)
				}
				if tt.returns && l.trampolineTraps() {
					want += " bp"
				}
				if l.neverSteps() {
					want = strings.Replace(want, "bp bp", "bp", 1)
				}
				want := l.exceptions(want)
				l.call("bench_target", 1, 2)
				var seen exceptions
				l.m.CPU(0).Observe(&seen)
				l.call("bench_target", 1, 2)
				l.m.CPU(0).Observe(nil)
				if got := strings.Join(seen, " "); got != want {
					t.Errorf("%s, %s: exceptions %q, want %q", tt.name, m.name(), got, want)
				}
			})
		}
	}
}

// A jprobe's function runs where the probed one would, with the exception behind it.
func TestJprobeRunsOutsideOfTheTrap(t *testing.T) {
	eachMode(t, olderModes(), func(l *live, m hitMode) {
		w := contexts{at: l.addr("bench_target")}
		l.m.CPU(0).Observe(&w)
		l.call("bench_target", 1, 2)
		outside := w.seen
		l.add(Spec{Kind: Jprobe, Symbol: "bench_target", Handler: "jprobe_empty"})
		w = contexts{at: l.addr("jprobe_empty")}
		l.call("bench_target", 1, 2)
		l.m.CPU(0).Observe(nil)
		if len(w.seen) != 1 || !slices.Equal(w.seen, outside) {
			t.Errorf("%s: the function runs in %v, the probed one in %v", m.name(), w.seen, outside)
		}
	})
}

// contexts notes in which exceptions an instruction is executed.
type contexts struct {
	at   uint64
	seen []uint8
}

// Step implements cpus.Observer.
func (c *contexts) Step(s *cpus.Step) {
	if s.PC == c.at {
		c.seen = append(c.seen, s.Context)
	}
}

// A jprobe's function that leaves with another stack pointer ends the run, with both in the log.
func TestJprobeOnTheWrongStack(t *testing.T) {
	for _, image := range older(images()) {
		im := loadImage(t, image)
		if im.Descriptors() || ArchOf(im).First == Emulated {
			continue // nobody looks at the stack pointer there
		}
		t.Run(image, func(t *testing.T) { holdJprobeOnTheWrongStack(t, image) })
	}
}

func holdJprobeOnTheWrongStack(t *testing.T, image string) {
	m, l := newMachine(t, image, plain())
	m.Bind("sim_main", func(c *sim.Call) uint64 {
		l.Call = c
		l.add(Spec{Kind: Jprobe, Symbol: "bench_target", Handler: "jprobe_wrong_stack"})
		_, _ = c.InvokeSym("bench_target", 1, 2) // ends the machine, the error is Run's
		return 0
	})
	err := m.Run()
	var current, saved uint64
	_, scanErr := fmt.Sscanf(m.Console(), "current sp %v does not match saved sp %v", &current, &saved)
	require.That(t, err != nil && scanErr == nil && saved-current == 16, "%v, %v: sp %#x, was %#x\n%s", err, scanErr, current, saved, m.Console())
}
