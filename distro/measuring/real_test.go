package measuring_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"kprobesim/boards/pc"
	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
	"kprobesim/cpus/x86"
	"kprobesim/distro"
	"kprobesim/distro/measuring"
	"kprobesim/image/linux"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/kept"
	"kprobesim/internal/require"
	"kprobesim/sim"
)

// config is a PC for a kernel.
func config(k *linux.Kernel) distro.Config {
	return distro.Config{
		Kernel: k, CPU: cpustest.Config(x86.ISA64()), Board: pc.Legacy{Date: 1_700_000_000}, Command: distro.DefaultCommand,
	}
}

// labs are the kernels of KPROBESIM_LINUX, which have booted to the program.
func labs(t *testing.T) (all []*measuring.Lab) {
	t.Helper()
	hosttools.Kernels(t, "vmlinuz*", "measuring the probes of a kernel of a distribution")
	for _, lab := range booted() {
		all = append(all, require.Must(lab())(t))
	}
	return all
}

func kernels() []string {
	dir := os.Getenv("KPROBESIM_LINUX")
	if dir == "" {
		return nil
	}
	files, _ := filepath.Glob(filepath.Join(dir, "vmlinuz*"))
	return files
}

// boots has the boots of booted.
var boots = memory{map[string][]byte{}}

// booted has for each kernel what boots it, once for all tests.
var booted = sync.OnceValue(func() (all []func() (*measuring.Lab, error)) {
	for _, file := range kernels() {
		all = append(all, sync.OnceValues(func() (*measuring.Lab, error) { return boot(file) }))
	}
	return all
})

func boot(file string) (*measuring.Lab, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	k, err := linux.Read(file, b, kept.Kernels())
	if err != nil {
		return nil, err
	}
	c := config(k)
	c.Kept = boots
	return measuring.Boot(c)
}

// TestPoints measures a kernel's probes of every kind that needs no module, and holds how they are hit.
func TestPoints(t *testing.T) {
	for _, l := range labs(t) {
		getppid := "__x64_sys_getppid"
		if l.Kernel().Image.Bits == 32 {
			getppid = "__ia32_sys_getppid"
		}
		for name, c := range map[string]struct {
			order              measuring.Order
			ftrace, optimized  bool
			debug, breakpoints uint64 // exceptions of a hit
		}{
			"none":              {order: measuring.Order{Workload: "getppid"}},
			"ftrace":            {order: measuring.Order{Workload: "getppid", Events: []string{"p " + getppid}}, ftrace: true},
			"ftrace, return":    {order: measuring.Order{Workload: "getppid", Events: []string{"r " + getppid}}, ftrace: true},
			"stepped":           {order: measuring.Order{Workload: "open", Events: []string{"p do_sys_openat2+5"}}, breakpoints: 2},
			"optimized":         {order: measuring.Order{Workload: "open", Events: []string{"p do_sys_openat2+5"}, Optimize: true}, optimized: true},
			"emulated in user":  {order: measuring.Order{Workload: "function", UserEvents: []string{"p /init:user_function"}}, breakpoints: 1},
			"stepped in user":   {order: measuring.Order{Workload: "function", UserEvents: []string{"p /init:user_function+1"}}, breakpoints: 1, debug: 1},
			"return in user":    {order: measuring.Order{Workload: "function", UserEvents: []string{"r /init:user_function"}}, breakpoints: 2},
			"watchpoint":        {order: measuring.Order{Workload: "store", Watchpoint: &measuring.Watchpoint{Symbol: "/init:watched_word", Access: measuring.Write}}, debug: 1},
			"watched execution": {order: measuring.Order{Workload: "getppid", Watchpoint: &measuring.Watchpoint{Symbol: getppid, Access: measuring.Execute}}, debug: 1},
		} {
			c.order.Warm, c.order.Calls = 10, 20
			r, err := l.Run(c.order, nil)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			probed := name != "none"
			require.That(t, probed == (r.Hits == 30) && probed == (len(r.Probes) == 1), "%s: %d hits of %+v", name, r.Hits, r.Probes)
			require.That(t, len(c.order.Events) == len(r.List) && (len(r.List) != 1 || r.List[0].Ftrace == c.ftrace && r.List[0].Optimized == c.optimized), "%s: %+v", name, r.List)
			require.That(t, r.Debug == 20*c.debug && r.Breakpoints == 20*c.breakpoints, "%s: %d breakpoints and %d debug exceptions", name, r.Breakpoints, r.Debug)
			require.That(t, len(r.Planted) == len(c.order.UserEvents), "%s: breakpoints in the program at %#x", name, r.Planted)
		}
	}
}

// TestRefusals wants errors that name what the kernel refused, with its error number.
func TestRefusals(t *testing.T) {
	for _, l := range labs(t) {
		for want, o := range map[string]measuring.Order{
			"nowhere\\n\" to /trace/kprobe_events: error 2 (ENOENT)":  {Events: []string{"p nowhere"}},
			"do_int3\\n\" to /trace/kprobe_events: error 22 (EINVAL)": {Events: []string{"p do_int3"}},
			"insert the module none: error 8 (ENOEXEC)":               {Modules: []measuring.Module{{Name: "none", File: []byte("no object file")}}},
			"was hit 0 times in 30 iterations":                        {Events: []string{"p vfs_open"}},
			"strip modules":                                           {Modules: []measuring.Module{{Name: "large", File: make([]byte, 5<<20)}}},
			"no symbol nowhere":                                       {Watchpoint: &measuring.Watchpoint{Symbol: "nowhere"}},
			"open a watchpoint: error 22 (EINVAL)":                    {Watchpoint: &measuring.Watchpoint{Addr: 0x1000, Access: 99}},
		} {
			o.Workload, o.Warm, o.Calls = "getppid", 10, 20
			require.Error(t, require.Err(l.Run(o, nil)), want, "")
		}
	}
}

// TestNobodyWatches has the program go on where it waits for orders, on a machine that does not look for its markers.
func TestNobodyWatches(t *testing.T) {
	for _, l := range labs(t) {
		m, err := l.Unwatched()
		require.That(t, err == nil && m.Ended() == distro.Halted && strings.Contains(m.Console(), "measure: no orders"), "%v; the console:\n%s", err, m.Console())
	}
}

// counter counts the instructions that it is told of.
type counter struct{ n uint64 }

// Step implements cpus.Observer.
func (c *counter) Step(*cpus.Step) { c.n++ }

// TestWorkloads runs each loop twice without a probe. An observer of one of them changes nothing.
func TestWorkloads(t *testing.T) {
	for _, l := range labs(t) {
		for _, w := range []string{"getppid", "open", "read", "function", "store", "empty"} {
			o, seen := measuring.Order{Workload: w, Warm: 10, Calls: 20}, &counter{}
			r, err := l.Run(o, nil)
			require.NoError(t, err)
			again, err := l.Run(o, func(*sim.Machine) cpus.Observer { return seen })
			if err != nil || !reflect.DeepEqual(r, again) || r.Ticks == 0 || r.Instructions < 40 {
				t.Errorf("%s: %v: %+v and %+v", w, err, r, again)
			} else if seen.n != r.Instructions {
				t.Errorf("%s: the observer saw %d of %d instructions", w, seen.n, r.Instructions)
			}
		}
	}
}

// memory keeps boots in memory.
type memory struct{ files map[string][]byte }

func (m memory) Load(key []byte) ([]byte, bool) {
	b, ok := m.files[string(key)]
	return b, ok
}

func (m memory) Save(key, content []byte) { m.files[string(key)] = content }

// TestKeptBoot measures the same on a machine whose boot was kept, and does not boot it again.
func TestKeptBoot(t *testing.T) {
	all := labs(t)
	require.Need(t, len(boots.files) == len(all), "%d boots are kept", len(boots.files))
	c := config(all[0].Kernel())
	c.Kept, c.Halt = boots, func() error { return errors.New("it boots again") }
	second := require.Must(measuring.Boot(c))(t).Under(nil)
	order := measuring.Order{Workload: "getppid", Warm: 10, Calls: 20}
	want, got := require.Must(all[0].Run(order, nil))(t), require.Must(second.Run(order, nil))(t)
	require.That(t, want.Ticks == got.Ticks && want.Counters == got.Counters, "%d ticks behind a boot, and %d behind one that was kept", want.Ticks, got.Ticks)
}
