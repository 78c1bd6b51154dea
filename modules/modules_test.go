package modules

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kprobesim/cpus/cpustest"
	"kprobesim/image"
	"kprobesim/image/object"
	"kprobesim/internal/clock"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/kprobes"
	"kprobesim/sim"
	"kprobesim/smp"
	"kprobesim/targets"
	"kprobesim/workloads"
)

var update = flag.Bool("update", false, "compile testdata/*.o again")

// kernel is a kernel that modules are loaded into.
type kernel struct {
	image  string
	debian string // package that has its compiler
}

// kernels has the newest kernel of each way of compiling modules.
func kernels() []kernel {
	return []kernel{
		{"x86_64-2010", "gcc"},
		{"i386-2010", "gcc-multilib"},
		{"x86_64-2020", "gcc"},
		{"i386-2020", "gcc-multilib"},
		{"ppc64-2011", "gcc-powerpc64-linux-gnu"},
		{"ppc64-2017", "gcc-powerpc64-linux-gnu"},
		{"arm-2014", "gcc-arm-linux-gnueabi"},
	}
}

// TestUpdate compiles the modules of the tests again when it is asked to. They are in the repository for machines without
// compilers.
func TestUpdate(t *testing.T) {
	if !*update {
		t.Skip("on demand: compiling the modules of the tests again; -update asks for it")
	}
	for _, k := range kernels() {
		require.NoError(t, os.MkdirAll(filepath.Join("testdata", k.image), 0o755))
		for _, name := range []string{"my_probe", "user_of", "divert"} {
			k.compile(t, name, filepath.Join("testdata", k.image, name+".o"))
		}
	}
}

// compile makes a module of a source in testdata.
func (k kernel) compile(t *testing.T, name, to string) {
	t.Helper()
	b := require.Must(workloads.Open(k.image))(t)
	how := require.Must(workloads.ReadModuleFlags(b))(t)
	cc := hosttools.Need(t, how.Cross+"gcc", k.debian, "compiling the modules")
	headers := filepath.Join(t.TempDir(), "headers")
	require.NoError(t, workloads.WriteHeaders(headers, k.image))
	hosttools.Run(t, ".", cc, "@"+filepath.Join(headers, "flags"), "-g0", "-Wall", "-Werror",
		"-c", "testdata/"+name+".c", "-o", to)
}

// running is a machine with a loader, seen from the boot task.
type running struct {
	*testing.T
	*sim.Call
	sys *targets.System
	l   *Loader
	k   kernel
}

// each runs body on a machine of every kernel.
func each(t *testing.T, body func(r *running)) {
	t.Helper()
	for _, k := range kernels() {
		t.Run(k.image, func(t *testing.T) { boot(t, k, kprobes.Default(), body) })
	}
}

func boot(t *testing.T, k kernel, o kprobes.Options, body func(r *running)) {
	t.Helper()
	bootFor(t, k, o, 1e9, body)
}

// bootFor boots a kernel that may take so many cycles.
func bootFor(t *testing.T, k kernel, o kprobes.Options, cycles int64, body func(r *running)) {
	t.Helper()
	im := require.Must(targets.LoadImage(k.image))(t)
	_, target, _ := targets.Image(targets.List(), k.image)
	sys, err := target.Build(targets.Config{
		Machine: sim.Config{CPU: cpustest.Config(target.ISA), Image: im, Budget: clock.FromCycles(cycles)},
		Kernel:  smp.Options{HZ: 1000, Preempt: o.Preempt}, Probes: o,
	})
	require.NoError(t, err)
	err = sys.Run(func(c *sim.Call) error {
		l, err := New(sys.Machine, sys.Kernel, sys.Probes)
		if err != nil {
			return err
		}
		body(&running{t, c, sys, l, k})
		return nil
	})
	require.That(t, err == nil, "%v\nconsole:\n%s", err, sys.Machine.Console())
}

// file reads a module of the tests.
func (r *running) file(name string) *File {
	r.Helper()
	b := require.Must(os.ReadFile(filepath.Join("testdata", r.k.image, name+".o")))(r)
	f := require.Must(Read(name+".o", b))(r)
	return f
}

// load loads a module or ends the test.
func (r *running) load(name, parameters string) *Module {
	r.Helper()
	m, err := r.l.Load(r.Call, r.file(name), parameters)
	if err != nil {
		r.Fatalf("loading %s: %v\n%s", name, err, r.sys.Machine.Console())
	}
	return m
}

// call calls a function of the guest.
func (r *running) call(name string, args ...uint64) uint64 {
	r.Helper()
	v := require.Must(r.InvokeSym(name, args...))(r)
	return v
}

// word reads a variable of a module.
func (r *running) word(name string) uint64 {
	r.Helper()
	im := r.sys.Machine.Image()
	s, ok := im.Symbol(name)
	if !ok {
		r.Fatalf("no symbol %s", name)
	}
	v := require.Must(r.sys.Machine.Load(s.Addr, im.Bits/8))(r)
	return v
}

func (r *running) wantError(err error, want string) {
	r.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		r.Errorf("%v, want %q", err, want)
	}
}

// A module's probes hit, its handlers and messages run, its parameters are as they were given, and unloading leaves nothing.
func TestModuleRuns(t *testing.T) {
	each(t, func(r *running) {
		want := r.call("work_checksum", 5, 6)
		m := r.load("my_probe", `symbol=work_checksum level=0x2 small=7,8 loud quiet greeting="good day"`)
		for range 3 {
			if got := r.call("work_checksum", 5, 6); got != want {
				r.Errorf("work_checksum returns %#x, without the module %#x", got, want)
			}
		}
		if hits, posts, returns := r.word("my_probe:hits"), r.word("posts"), r.word("my_probe:returns"); hits != 6 || posts != 3 || returns != 3 {
			r.Errorf("%d hits counted twice, %d posts, %d returns: want 6, 3, 3", hits, posts, returns)
		}
		r.call("my_probe:tell", 2)
		state := func() uint64 {
			return require.Must(r.sys.Machine.Load(m.this+r.l.this.state.Offset, int(r.l.this.state.Size)))(r)
		}
		live := state()
		require.NoError(r, r.l.Unload(r.Call, "my_probe"))
		if gone := state(); live != stateLive || gone != stateGoing {
			r.Errorf("its state is %d, and behind it %d", live, gone)
		}
		text := "planted at work_checksum\ngood day 1 0 2 8: 19\n6 hits, 3 posts, 3 returns\n"
		if got := r.sys.Machine.Console(); got != text {
			r.Errorf("console %q, want %q", got, text)
		}
		if got := r.call("work_checksum", 5, 6); got != want {
			r.Errorf("behind the module work_checksum returns %#x, want %#x", got, want)
		}
		if _, ok := r.sys.Machine.Image().Symbol("my_probe:hits"); ok {
			r.Error("its symbols are still known")
		}
		if list, err := r.sys.Probes.List(); err != nil || strings.Contains(list, "work_checksum") {
			r.Errorf("probes are left: %v\n%s", err, list)
		}
	})
}

// A parameter of kind bool takes each letter that the kernel takes, and the inverse of one is the inverse.
func TestBools(t *testing.T) {
	boot(t, kernel{image: "x86_64-2010"}, kprobes.Default(), func(r *running) {
		for value, want := range map[string]string{"y": "1 0", "Y": "1 0", "1": "1 0", "n": "0 1", "N": "0 1", "0": "0 1"} {
			r.load("my_probe", "loud="+value+" quiet="+value)
			r.call("my_probe:tell", 0)
			text := r.sys.Machine.Console()
			require.That(r, strings.HasSuffix(text, "hello "+want+" 0 0: 1\n"), "%s of both kinds: %q, want %s", value, text, want)
			require.NoError(r, r.l.Unload(r.Call, "my_probe"))
		}
	})
}

// The same module comes back at the same place, with its data as compiled.
func TestLoadAgain(t *testing.T) {
	each(t, func(r *running) {
		var places []uint64
		for range 2 {
			m := r.load("my_probe", "")
			start, _ := m.Text()
			places = append(places, start)
			r.call("work_checksum", 1, 2)
			if got := r.word("my_probe:hits"); got != 1 {
				r.Errorf("%d hits, want 1", got)
			}
			require.NoError(r, r.l.Unload(r.Call, "my_probe"))
		}
		if places[0] != places[1] {
			r.Errorf("its text was at %#x and then at %#x", places[0], places[1])
		}
	})
}

// Functions of a module can be probed and are named in lists. A probe of somebody else there is gone with the module.
func TestProbesInModules(t *testing.T) {
	each(t, func(r *running) {
		r.load("my_probe", "")
		want := r.call("my_probe:module_work", 9)
		p := require.Must(r.sys.Probes.Add(r.Call, kprobes.Spec{Symbol: "module_work", Handler: "handler_count"}))(r)
		own := require.Must(r.sys.Probes.Add(r.Call, kprobes.Spec{Symbol: "my_probe:module_work", Handler: "my_probe:probe_pre"}))(r)
		if got := r.call("my_probe:module_work", 9); got != want || r.word("my_probe:hits") != 1 {
			r.Errorf("the probed function returns %#x, not %#x; %d hits", got, want, r.word("my_probe:hits"))
		}
		if list, err := r.sys.Probes.List(); err != nil || strings.Count(list, "module_work+0x0  my_probe ") != 2 {
			r.Errorf("%v\n%s", err, list)
		}
		if _, err := r.sys.Probes.Add(r.Call, kprobes.Spec{Symbol: "my_probe:probe_init", Handler: "handler_count"}); err == nil {
			r.Error("the init function, which has vanished, can be probed")
		}
		_, ok := r.sys.Machine.Image().Func("my_probe:probe_init")
		require.That(r, !ok, "the init function, which has vanished, has a name")
		require.NoError(r, r.l.Unload(r.Call, "my_probe"))
		if st, err := r.sys.Probes.State(p.Addr); err != nil || st.Mode != kprobes.Gone {
			r.Errorf("a probe in the module's text is %v, want gone", st.Mode)
		}
		for _, p := range []*kprobes.Probe{p, own} {
			if err := r.sys.Probes.Remove(r.Call, p); err != nil {
				r.Error(err)
			}
		}
	})
}

// A module of kernels from 2020 on keeps probes away from functions of its own, as long as it is loaded. Earlier kernels
// do not look.
func TestForbiddenInModule(t *testing.T) {
	object := filepath.Join(t.TempDir(), "quiet.o")
	kernels()[0].compile(t, "quiet", object)
	b := require.Must(os.ReadFile(object))(t)
	for name, refuses := range map[string]bool{"x86_64-2010": false, "x86_64-2020": true} {
		boot(t, kernel{image: name}, kprobes.Default(), func(r *running) {
			f := require.Must(Read("quiet.o", b))(r)
			for range 2 { // the second time at the same place
				if _, err := r.l.Load(r.Call, f, ""); err != nil {
					r.Fatal(err)
				}
				for function, refused := range map[string]bool{"quiet_work": refuses, "loud_work": false} {
					p, err := r.sys.Probes.Add(r.Call, kprobes.Spec{Symbol: function, Handler: "handler_count"})
					if errors.Is(err, kprobes.EINVAL) != refused || !refused && err != nil {
						r.Errorf("%s: a probe at %s: %v", name, function, err)
					}
					if err == nil {
						err = r.sys.Probes.Remove(r.Call, p)
					}
					if err != nil && !refused {
						r.Error(err)
					}
				}
				if list := r.sys.Probes.Blacklist(); strings.Contains(list, "quiet_work") != refuses {
					r.Errorf("%s: blacklist\n%s", name, list)
				}
				require.NoError(r, r.l.Unload(r.Call, "quiet"))
				if strings.Contains(r.sys.Probes.Blacklist(), "quiet_work") {
					r.Errorf("%s: the blacklist has a function of a module that is gone", name)
				}
			}
			m := r.load("divert", "") // at the same place
			start, _ := m.Text()
			p := require.Must(r.sys.Probes.Add(r.Call, kprobes.Spec{Addr: start, Handler: "handler_count"}))(r)
			require.NoError(r, errors.Join(r.sys.Probes.Remove(r.Call, p), r.l.UnloadAll(r.Call)))
		})
	}
}

// A handler leads execution into a function of its module, which reads a variable of the module. On ppc64 the handler sets
// the table of contents of that function, too.
func TestHandlerLeadsIntoModule(t *testing.T) {
	o := kprobes.Default()
	o.OptProbes = false // a detour ignores where the handler leads
	for _, k := range kernels() {
		t.Run(k.image, func(t *testing.T) {
			boot(t, k, o, func(r *running) {
				want := r.call("work_divide", 7, 5)
				r.load("divert", "")
				p := require.Must(r.sys.Probes.Add(r.Call, kprobes.Spec{Symbol: "work_divide", Handler: "divert:divert_pre"}))(r)
				if got := r.call("work_divide", 7, 5); got != 1075 {
					r.Errorf("the hit leads to %d, want 1075", got)
				}
				r.call("handler_ends_hit")
				if err := r.sys.Probes.Remove(r.Call, p); err != nil {
					r.Error(err)
				}
				if err := r.l.UnloadAll(r.Call); err != nil {
					r.Error(err)
				}
				if got := r.call("work_divide", 7, 5); got != want {
					r.Errorf("behind it work_divide returns %d, want %d", got, want)
				}
			})
		})
	}
}

// What keeps a module from being loaded or unloaded is told by names.
func TestLifeCycleErrors(t *testing.T) {
	each(t, func(r *running) {
		_, err := r.l.Load(r.Call, r.file("user_of"), "")
		r.wantError(err, "module user_of: object file user_of.o: .text+")
		r.wantError(err, "module_work: nobody exports")
		for parameters, want := range map[string]string{
			"fails=22":                          "module my_probe: its init function returned -EINVAL: it is not loaded",
			"fails=-3":                          "returned 3, which is neither 0 nor an error number",
			"symbol=nowhere":                    "returned " + map[bool]string{true: "-EINVAL", false: "-ENOENT"}[r.before2011()],
			"high-er=1":                         "unknown parameter \"high_er\": known are fails, greeting, leaves, level",
			"level=x":                           "parameter level: \"x\" is no number with sign of 4 bytes",
			"level":                             "it has no value",
			"small=1,2,3,4,5":                   "5 values: it takes at most 4",
			"small=65536":                       "is no number without sign of 2 bytes",
			"loud=maybe":                        "is neither y nor n",
			`greeting="no end`:                  "a quote is not closed",
			"symbol=" + strings.Repeat("x", 32): "32 letters: it has room for 31",
		} {
			_, err := r.l.Load(r.Call, r.file("my_probe"), parameters)
			r.wantError(err, want)
		}
		r.load("my_probe", "")
		r.load("user_of", "")
		if got, want := r.call("used", 4), r.call("module_work", 4); got != want {
			r.Errorf("a module calls another one and gets %#x, want %#x", got, want)
		}
		_, err = r.l.Load(r.Call, r.file("my_probe"), "")
		r.wantError(err, "module my_probe is loaded already")
		err = r.l.Unload(r.Call, "my_probe")
		r.wantError(err, "module my_probe cannot be unloaded: modules use it: user_of: -EBUSY")
		if !errors.Is(err, kprobes.EBUSY) {
			r.Errorf("%v is not EBUSY", err)
		}
		r.wantError(r.l.Unload(r.Call, "nothing"), "no module nothing is loaded")
		user, _ := r.l.find("user_of")
		own, ok := r.l.resolve(user, thisModule)
		if !ok || own.Value != user.this || own.Entry != user.this {
			r.Errorf("what a module calls itself is %+v, %v; want %#x", own, ok, user.this)
		}
		text := require.Must(r.l.m.ReadString(user.this + r.l.this.name.Offset))(t)
		require.Equal(t, text, "user_of", "the name in the kernel")
		held := func(n uint64) { require.NoError(t, r.l.m.Store(user.this+r.l.this.refs.Offset, 4, n)) }
		held(2)
		r.wantError(r.l.Unload(r.Call, "user_of"), "module user_of cannot be unloaded: 2 references are held: -EBUSY")
		held(0)
		require.NoError(r, r.l.Unload(r.Call, "user_of"))
		probe, _ := r.l.find("my_probe")
		all := probe.m.Symbols
		probe.m.Symbols = slices.DeleteFunc(slices.Clone(all), func(s object.Defined) bool { return s.Name == exitFunction })
		r.wantError(r.l.Unload(r.Call, "my_probe"), "module my_probe cannot be unloaded: it has an init function and no exit function: -EBUSY")
		probe.m.Symbols = all
		require.NoError(r, r.l.UnloadAll(r.Call))
		at, _, _ := r.l.m.Image().Section(exportSection)
		word := r.l.m.Image().Bits / 8
		require.NoError(t, r.l.m.Store(at+uint64(word), word, 8))
		r.wantError(require.Err(New(r.l.m, r.l.k, r.l.probes)), "name of an exported symbol: ")
	})
}

// TestExports reads what a module exports, and has another one find these names, the names of the kernel, and no others.
func TestExports(t *testing.T) {
	each(t, func(r *running) {
		m := r.load("my_probe", "").m
		user, word := r.load("user_of", ""), m.WordBytes()
		got := require.Must(exportsOf(m))(r)
		for _, name := range []string{"hits", "module_work"} {
			s, ok := m.Symbol(name)
			require.That(r, ok && got[name] == s.Addr, "%s is exported at %#x, and is %+v", name, got[name], s)
			found, ok := r.l.resolve(user, name)
			require.That(r, ok && found == m.Pointer(s.Addr), "%s is found as %+v, %t", name, found, ok)
		}
		require.Equal(r, len(got), 2, "exports")
		_, ok := r.l.resolve(user, "nowhere")
		require.That(r, !ok, "a name of nobody is found")
		f, _ := r.sys.Machine.Image().Func("register_kprobe")
		found, ok := r.l.resolve(user, "register_kprobe")
		require.That(r, ok && found == object.Symbol{Value: f.Pointer, Entry: f.Entry, TOC: f.TOC}, "the kernel's function is found as %+v, %t", found, ok)
		found, ok = r.l.resolve(user, ".register_kprobe")
		require.That(r, ok == r.sys.Machine.Image().Descriptors() && (!ok || found.Value == f.Entry), "its code is found as %+v, %t", found, ok)

		cut, lost := *m, *m
		cut.Sections, lost.Bytes = slices.Clone(m.Sections), slices.Clone(m.Bytes)
		at := slices.IndexFunc(cut.Sections, func(s object.Section) bool { return s.Name == exportSection })
		cut.Sections[at].Size -= word
		require.Equal(r, len(require.Must(exportsOf(&cut))(r)), 1, "exports of a table that ends in a record")
		last := cut.Sections[at].Addr + cut.Sections[at].Size
		clear(lost.Bytes[last-m.Base:][:word])
		r.wantError(require.Err(exportsOf(&lost)), fmt.Sprintf("section %s+%#x: the name of", exportSection, 2*word))
	})
}

// The header that modules are compiled with has the same names of error numbers.
func TestErrnoNames(t *testing.T) {
	b := require.Must(os.ReadFile(filepath.Join("..", "workloads", "kernel", "module", "include", "linux", "errno.h")))(t)
	want := map[string]string{"200": "-200"}
	for _, m := range regexp.MustCompile(`#define (E[A-Z0-9]+) ([0-9]+)`).FindAllStringSubmatch(string(b), -1) {
		want[m[2]] = "-" + m[1]
	}
	for number, name := range want {
		if n, err := strconv.ParseInt(number, 10, 64); err != nil || errnoName(n) != name {
			t.Errorf("%s is called %s, want %s", number, errnoName(n), name)
		}
	}
}

// before2011 tells whether the kernel is one that calls every missing symbol invalid.
func (r *running) before2011() bool {
	return strings.HasSuffix(r.k.image, "-2010") || strings.HasSuffix(r.k.image, "-2011")
}

// A module's functions that begin with a nop have their probes by a call, which leaves interrupts on; the rest has them by
// breakpoints. What the tracer knows of a module goes with it.
func TestFunctionTracerKnowsModules(t *testing.T) {
	for _, name := range []string{"x86_64-2020", "i386-2020"} {
		boot(t, kernel{image: name}, kprobes.Default(), func(r *running) {
			for range 2 { // the second time at the same place
				want := r.call("work_checksum", 5, 6)
				r.load("my_probe", "")
				work := r.call("module_work", 4)
				p := require.Must(r.sys.Probes.Add(r.Call, kprobes.Spec{Symbol: "module_work", Handler: "handler_count"}))(r)
				st, err := r.sys.Probes.State(p.Addr)
				if err != nil || st.Mode != kprobes.Ftrace || r.call("module_work", 4) != work {
					r.Errorf("%s: %v: the probe is %v, want %v", name, err, st.Mode, kprobes.Ftrace)
				}
				_, err = r.sys.Probes.Add(r.Call, kprobes.Spec{Symbol: "module_work", Offset: 1})
				if !errors.Is(err, kprobes.EILSEQ) {
					r.Errorf("%s: a probe inside of the call: %v, want EILSEQ", name, err)
				}
				err = errors.Join(r.sys.Probes.Remove(r.Call, p), r.l.UnloadAll(r.Call))
				if err != nil || r.call("work_checksum", 5, 6) != want {
					r.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

// A module that leaves without unregistering is an error by its name and the probe's, as is one that leaves a timer.
func TestLeftBehind(t *testing.T) {
	for leaves, want := range map[string]string{
		"leaves=1": "probe at work_checksum+0x0 registered by module my_probe is still registered",
		"leaves=2": "module my_probe has left timers started, 1 of them",
	} {
		each(t, func(r *running) {
			r.load("my_probe", leaves)
			err := r.l.Unload(r.Call, "my_probe")
			r.wantError(err, want)
			require.Equal(r, strings.Count(err.Error(), "\n"), 0, "%v: lines behind the first", err)
		})
	}
}

// A kernel without Kprobes says why modules fail there. The same number of another kernel, or another number, says nothing of it.
func TestKernelWithoutKprobes(t *testing.T) {
	const why = "which is built without Kprobes"
	for _, x := range []struct{ image, parameters, want string }{
		{"x86_64-2010-nokprobes", "", why},
		{"x86_64-2010-nokprobes", "fails=22", "returned -EINVAL: it is not loaded"},
		{"x86_64-2010", "fails=38", "returned -ENOSYS: it is not loaded"},
	} {
		boot(t, kernel{image: x.image}, kprobes.Default(), func(r *running) {
			r.k.image = "x86_64-2010"
			r.wantError(require.Err(r.l.Load(r.Call, r.file("my_probe"), x.parameters)), x.want)
		})
	}
}

// The kernel has room for the letters of a name and its end.
func TestLongNames(t *testing.T) {
	each(t, func(r *running) {
		f := r.file("divert")
		for _, letters := range []int{r.l.this.name.Size - 1, r.l.this.name.Size} {
			f.Name = strings.Repeat("x", letters)
			_, err := r.l.Load(r.Call, f, "")
			if letters < r.l.this.name.Size {
				require.NoError(r, err)
			} else {
				r.wantError(err, fmt.Sprintf("its name has more than %d letters: rename the file", letters-1))
			}
		}
		r.load("my_probe", "")
		require.NoError(r, r.l.UnloadAll(r.Call))
		require.Equal(r, len(r.sys.Machine.Image().Modules()), 0, "modules of two that are left")
	})
}

// The modules are where direct calls reach, beside the kernel, and their addresses have names and the phase of handlers.
func TestNames(t *testing.T) {
	areas := map[string][2]uint64{
		"x86_64-2020": {0xffffffff80000000, 0xffffffffa0000000}, "i386-2020": {0xc0000000, 0xe0000000},
		"x86_64-2010": {0xffffffff80000000, 0xffffffffa0000000}, "i386-2010": {0xc0000000, 0xe0000000},
		"ppc64-2011": {0xd000000000000000, 0xd000000003f00000}, "ppc64-2017": {0xd000000000000000, 0xd000000003f00000},
		"arm-2014": {0xbf000000, 0xbfe00000},
	}
	each(t, func(r *running) {
		m := r.load("my_probe", "")
		im := r.sys.Machine.Image()
		start, end := m.Text()
		if area := areas[r.k.image]; start < area[0] || end > area[1] {
			r.Errorf("text from %#x to %#x, the area is %#x", start, end, area)
		}
		f, ok := im.Func("my_probe:probe_pre")
		if !ok || !f.Typed || f.Size == 0 || im.SymbolText(f.Entry+4) != "my_probe:probe_pre+0x4" || im.Phase(f.Entry) != image.PhaseHandler {
			r.Errorf("%+v %v, named %s, phase %v", f, ok, im.SymbolText(f.Entry+4), im.Phase(f.Entry))
		}
		if im.Callee(f.Pointer) != f.Entry {
			r.Errorf("the pointer %#x leads to %#x, want %#x", f.Pointer, im.Callee(f.Pointer), f.Entry)
		}
		if names := im.Modules(); len(names) != 1 || names[0].Name != "my_probe" {
			r.Errorf("%d modules", len(names))
		}
		if err := r.l.UnloadAll(r.Call); err != nil {
			r.Error(err)
		}
	})
}

// Modules leave no memory behind.
func TestMemoryComesBack(t *testing.T) {
	each(t, func(r *running) {
		place := func() uint64 {
			at := require.Must(r.sys.Machine.AllocNear(1))(r)
			require.NoError(r, r.sys.Machine.FreeNear(at))
			return at
		}
		r.load("my_probe", "")
		if err := r.l.UnloadAll(r.Call); err != nil { // tasks and instances have their memory from now on
			r.Fatal(err)
		}
		before := place()
		r.load("my_probe", "greeting=aloha")
		_, err := r.l.Load(r.Call, r.file("user_of"), "no=1")
		r.wantError(err, "known are none")
		require.NoError(r, r.l.UnloadAll(r.Call))
		if after := place(); after != before {
			r.Errorf("the lowest free page was %#x and is %#x", before, after)
		}
	})
}

// Words of parameters are split as a shell would.
func TestSplitWords(t *testing.T) {
	for text, want := range map[string][]string{
		"":                 nil,
		" a=1  b ":         {"a=1", "b"},
		`a="x y" b="" c=z`: {"a=x y", "b=", "c=z"},
	} {
		got, err := splitWords(text)
		require.That(t, err == nil && slices.Equal(got, want), "%q: %q, %v", text, fmt.Sprint(got), err)
	}
}

// A file's name makes the module's.
func TestName(t *testing.T) {
	k := kernels()[0]
	b := require.Must(os.ReadFile(filepath.Join("testdata", k.image, "user_of.o")))(t)
	f, err := Read("dir/user-Az09.ko", b)
	require.That(t, err == nil && f.Name == "user_Az09", "%+v, %v", f, err)
	require.Error(t, require.Err(Read("x.o", []byte("no"))), "x.o: is no ELF file", "")
}
