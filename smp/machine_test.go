package smp

import (
	"debug/elf"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kprobesim/boards/pc"
	"kprobesim/boards/pseries"
	"kprobesim/boards/vexpress"
	"kprobesim/cpus"
	"kprobesim/cpus/arm"
	"kprobesim/cpus/cpustest"
	"kprobesim/cpus/ppc64"
	"kprobesim/cpus/x86"
	"kprobesim/image"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/sim"
	"kprobesim/workloads"
)

// Names of the images that the tests run on.
const (
	plain   = "x86_64-2010"
	preempt = "x86_64-2010-preempt"
)

// images are those that run on several CPUs in different ways: of x86-64 of 2010, of the others the newest.
var images = []string{plain, preempt, "i386-2020", "i386-2020-preempt", "ppc64-2017", "ppc64-2017-preempt", "arm-2014", "arm-2014-preempt"}

// board is a machine that executes its guest, seen from the task that runs the test.
type board struct {
	t *testing.T
	*sim.Call
	m      *sim.Machine
	k      *Kernel
	events []sim.Event
	waits  []string // what the tasks of a small machine wait for, at each switch
	log    []string
}

// testCPU is a CPU of round numbers whose interrupts take 100 cycles on their way.
func testCPU(isa *cpus.ISA) cpus.Config {
	cfg := cpustest.Config(isa)
	cfg.Events[cpus.EventIPI] = 100 * clock.PerCycle
	return cfg
}

func loadImage(t testing.TB, name string) *image.Image {
	t.Helper()
	if im := loaded[name]; im != nil {
		return im
	}
	b := require.Must(workloads.Open(name))(t)
	loaded[name] = require.Must(image.Load(name, b))(t)
	return loaded[name]
}

// loaded keeps images, which do not change: reading one takes longer than booting it.
var loaded = map[string]*image.Image{}

// machineOf is the instruction set of an image, and the board for it.
func machineOf(im *image.Image) (*cpus.ISA, sim.Board) {
	switch {
	case im.Machine == elf.EM_PPC64:
		return ppc64.ISA(), pseries.Board{}
	case im.Machine == elf.EM_ARM:
		return arm.ISA(), vexpress.Board{}
	case im.Bits == 32:
		return x86.ISA32(), pc.Board{}
	}
	return x86.ISA64(), pc.Board{}
}

// run boots an image on several CPUs, a jiffy being 100,000 cycles unless opt says otherwise, and
// runs body as its first task when all are online.
func run(t *testing.T, name string, opt Options, body func(b *board)) *board {
	t.Helper()
	return runPolicy(t, name, opt, nil, body)
}

// runPolicy is run with the CPUs interleaved by a policy.
func runPolicy(t *testing.T, name string, opt Options, p sim.Policy, body func(b *board)) *board {
	t.Helper()
	b, err := tryRun(t, name, opt, p, body)
	require.Need(t, err == nil, "%v\n%s", err, b.m.Console())
	return b
}

// tryRun is run for machines that may fail.
func tryRun(t *testing.T, name string, opt Options, p sim.Policy, body func(b *board)) (*board, error) {
	t.Helper()
	im := loadImage(t, name)
	isa, hardware := machineOf(im)
	if opt.HZ == 0 {
		opt.HZ = 10_000
	}
	opt.CPUHz, opt.Preempt = 1e9, Preemptible(im)
	b := &board{t: t}
	var err error
	b.m, err = sim.New(sim.Config{
		ISA: isa, Board: hardware, CPU: testCPU(isa), Image: im, CPUs: opt.CPUs, Budget: 2e9 * clock.PerCycle,
		Policy: p, Zeroed: cpustest.RAM(t),
	})
	require.NoError(t, err)
	opt.TimerHz = b.m.TimerHz()
	if b.k, err = New(b.m, im, opt); err != nil {
		t.Fatal(err)
	}
	b.k.Bind(b.m)
	b.m.Watch(func(e sim.Event) {
		b.events = append(b.events, e)
		if e.Kind == sim.EventTask && len(b.k.cpus) <= 6 {
			b.waits = append(b.waits, b.k.Explain())
		}
	})
	bindRest(b.m)
	b.m.Bind("sim_main", func(c *sim.Call) uint64 {
		b.Call = c
		b.do(b.k.Online(c))
		body(b)
		return 0
	})
	return b, errors.Join(b.m.Run(), b.k.Err())
}

// bindRest gives the slots that belong to Kprobes something to call.
func bindRest(m *sim.Machine) {
	for _, s := range m.Image().Natives {
		for _, p := range []string{"register_", "unregister_", "insert_", "remove_", "enable_", "disable_", "kfree", "user_page_came", "text_poke_note"} {
			if strings.HasPrefix(s.Name, p) {
				m.Bind(s.Name, func(*sim.Call) uint64 { return 0 })
			}
		}
	}
}

// value returns the value of a call, and has its error reported: v := value(f())(l).
func value[T any](v T, err error) func(interface{ do(err error) }) T {
	return func(t interface{ do(err error) }) T {
		t.do(err)
		return v
	}
}

// do reports an error and goes on: leaving a task half-way would hang the machine.
func (b *board) do(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Error(err)
	}
}

// word is the number of bytes of an address.
func (b *board) word() int { return b.m.ISA().Bits / 8 }

func (b *board) say(format string, args ...any) {
	b.log = append(b.log, fmt.Sprintf(format, args...))
}

func (b *board) expect(want ...string) {
	b.t.Helper()
	require.That(b.t, slices.Equal(b.log, want), "happened\n%q\nwant\n%q", b.log, want)
}

// of lists events of one kind as "cpu name".
func (b *board) of(kind sim.EventKind) (list []string) {
	for _, e := range b.events {
		if e.Kind == kind {
			list = append(list, strings.TrimSpace(fmt.Sprintf("%d %s", e.CPU, e.Name)))
		}
	}
	return list
}
