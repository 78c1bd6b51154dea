package sim

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// barePuppets makes a machine that is entered as a boot loader would. It ends behind an instruction, counted down to 0.
func barePuppets(t *testing.T, log *[]string, left *int) *Machine {
	t.Helper()
	write := func(p *puppet) bool { p.bus.Memory.Write(0x5000, []byte{byte(p.now.Cycles())}); return true }
	read := func(p *puppet) bool { p.say("reads %d", p.bus.Memory.Bytes(0x5000, 1)[0]); return true }
	var m *Machine
	prints := func(p *puppet) bool { m.Print("printed. "); return true }
	bare := &Bare{PC: 0x100, Args: []uint64{7}, Chunks: []Chunk{{PA: 0x5000, Data: []byte{9}}}}
	m = require.Must(puppetsOf(t, bare, log,
		[]func(*puppet) bool{read, setTimer(400), write, read, prints, store(start, 1), store(send, 1), read, write, await, read, prints},
		[]func(*puppet) bool{read, write, take, read}))(t)
	for i := range 2 {
		m.CPU(i).(*puppet).broken = func() bool {
			*left--
			if *left == 0 {
				m.End("kept")
			}
			return *left == 0
		}
	}
	return m
}

// TestKeptGoesOn keeps a machine, and has another one go on from there: the same happens.
func TestKeptGoesOn(t *testing.T) {
	happens := func(at int) string {
		var log []string
		m := barePuppets(t, &log, &at)
		err := m.Run()
		for err == nil {
			b, told := require.Must(m.Keep())(t), len(log)
			m = barePuppets(t, &log, &at)
			log = log[:told] // without how it begins
			require.NoError(t, m.Restore(bytes.NewReader(b)))
			err = m.Run()
		}
		return strings.Join(log, "\n") + m.Console() + err.Error()
	}
	whole := happens(0)
	require.Equal(t, whole, strings.Join([]string{
		"0: cpu 1 is reset", "0: cpu 0 begins as 7", "0: cpu 0 reads 9", "3: cpu 0 reads 2", "5: cpu 1 begins as ", "7: cpu 0 reads 2", "5: cpu 1 reads 8",
		"306: cpu 1 is called by cpu 0", "307: cpu 1 reads 6", "401: cpu 0 hears its timer",
		"402: cpu 0 reads 6printed. printed. all CPUs sleep and nothing will ever wake one: cpus 0-1: halted, pc 0xffffffff80100000 <start+0x0>",
	}, "\n"), "without a break there happens")
	require.Equal(t, happens(8), whole, "kept while a call and a timer are to come, there happens")
}

// TestDamageIsRefused holds states in each of which one thing cannot be.
func TestDamageIsRefused(t *testing.T) {
	var log []string
	left := 2
	m := barePuppets(t, &log, &left)
	require.NoError(t, m.Run())
	late := m.CPU(1).(*puppet)
	for name, damage := range map[string]func(k *kept){
		"":                  func(*kept) {},
		"a CPU less":        func(k *kept) { k.State = k.State[:1] },
		"a time less":       func(k *kept) { k.Asleep = k.Asleep[:1] },
		"no CPU that runs":  func(k *kept) { k.State = []activity{parked, parked} },
		"a turn of nobody":  func(k *kept) { k.Cut.cpu = -1 },
		"a turn of a third": func(k *kept) { k.Cut.cpu = 2 },
		"before time":       func(k *kept) { k.Now = -1 },
		"a CPU before time": func(*kept) { late.now = -1 },
	} {
		k := kept{0, m.state, m.asleepAt, m.ready, m.cut, ""}
		damage(&k)
		require.Equal(t, m.fits(&k), name == "", "%q fits", name)
		late.now = 0
	}
	alone := func() *Machine { return require.Must(puppetsOf(t, &Bare{}, &log, []func(*puppet) bool{}))(t) }
	m = alone()
	require.That(t, m.directory == nil, "one CPU pays for coherence")
	require.Error(t, alone().Restore(bytes.NewReader(append(require.Must(m.Keep())(t), 0))), "damaged", "a byte behind the state")
	m.At(5, func() {})
	require.Error(t, alone().Restore(bytes.NewReader(require.Must(m.Keep())(t))), "no device knows", "an event of nobody")
}

// TestBackplane asks a board's side of a machine.
func TestBackplane(t *testing.T) {
	var log []string
	m := require.Must(newPuppets(t, &log, nil, nil))(t)
	b := m.hardware.(*testBoard).b
	m.advance(1, 5*clock.PerCycle)
	require.Equal(t, fmt.Sprint(b.CPUs(), b.Time(1)/clock.PerCycle, b.Hz() == m.cfg.CPU.Hz, b.Stopped(0), b.Stopped(1), b.Description() == &m.cfg.CPU, b.Memory() == m.mem),
		"2 5 true false true true true", "what a board sees")
	b.Print("said")
	b.End("reset")
	require.Equal(t, m.Console()+m.Ended(), "saidreset", "what a board does")
	m.Resume()
	b.Fail(1, errors.New("does what it must not"))
	require.Error(t, m.Run(), "cpu 1 does what it must not; pc", "a failure")
	clear(m.bound) // as if nothing had been bound
	for range 10 {
		require.Error(t, m.checkNatives(), "provides: printk, sim_", "natives that nothing provides come sorted")
	}
}

// TestTimesOfEvents gives an event the time of its CPU, where that runs, and else of the machine.
func TestTimesOfEvents(t *testing.T) {
	var log []string
	m := require.Must(newPuppets(t, &log, nil, nil))(t)
	m.advance(0, 3)
	m.advance(1, 5)
	m.now = 7
	var at []clock.Ticks
	m.Watch(func(e Event) { at = append(at, e.At) })
	for _, e := range []Event{{CPU: 0}, {CPU: 1}, {CPU: 2}, {CPU: -1}, {CPU: 0, At: 9}} {
		m.Note(e)
	}
	require.Equal(t, fmt.Sprint(at), "[3 7 7 7 9]", "events are at")
}
