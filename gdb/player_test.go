package gdb

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"kprobesim/cpus/cpustest"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
	"kprobesim/sim"
	"kprobesim/targets"
)

// TestWatchpointsBackwards goes back over reads of a variable: to before an access, or to behind it where gdb steps over it itself.
func TestWatchpointsBackwards(t *testing.T) {
	for _, name := range images {
		run, _, _ := bench(t, name)
		s := sessionOf(t, run)
		im := s.player.inst.m.Image()
		early := s.player.inst.m.ISA().GDB.Early
		state, _ := im.Symbol("bench_state")
		word := uint64(im.Bits / 8)
		at := state.Addr + 3*word // what calls with 1 and 2 read
		watch := fmt.Sprintf("3,%x,%x", at, word)
		want := func(packet, reply string) {
			t.Helper()
			got := s.ask(packet)
			require.That(t, strings.HasPrefix(got, "T05thread:") && strings.HasSuffix(got, reply), "%s: %s: %s, want %s", name, packet, got, reply)
		}
		read := fmt.Sprintf(";rwatch:%x;", at)
		s.ask("Z" + watch)
		var stops []string
		for range 2 {
			want("c", read)
			stops = append(stops, s.cycles())
			if early {
				s.ask("z" + watch)
				want("s", ";")
				s.ask("Z" + watch)
			}
		}
		for i := 1; i >= 0; i-- {
			want("bc", read)
			if early {
				want("bs", ";")
			} else {
				want("c", read)
			}
			require.Equal(t, s.cycles(), stops[i], "%s: access %d", name, i)
			if !early {
				want("bc", read)
			}
		}
		want("bc", ";replaylog:begin;")
	}
}

// TestLateRuns goes back to a breakpoint in a part of the run that a second run leaves out when it may: it then begins earlier.
func TestLateRuns(t *testing.T) {
	im := require.Must(targets.LoadImage("x86_64-2010"))(t)
	_, target, _ := targets.Image(targets.List(), im.Name)
	fn, _ := im.Func("bench_target")
	late := clock.Ticks(0) // when the part with the breakpoint is over
	run := func(before clock.Ticks, attach Attach) error {
		var sys *targets.System
		var end func(error)
		cfg := targets.Config{Machine: sim.Config{CPU: cpustest.Config(target.ISA), Image: im, RAM: 16 << 20}}
		cfg.Kernel.HZ = 1000
		if late == 0 || before <= late {
			cfg.Machine.Attach = func(m *sim.Machine) func(error) {
				end = attach(m, nil)
				return end
			}
		}
		var err error
		if sys, err = target.Build(cfg); err != nil {
			return err
		}
		return sys.Run(func(c *sim.Call) error {
			if _, err := c.InvokeSym("work_checksum", 5, 6); err != nil {
				return err
			}
			if late = latest(sys.Machine); end == nil {
				end = attach(sys.Machine, nil)
			}
			_, err := c.InvokeSym("bench_loop", fn.Pointer, calls, 1, 2)
			end(err)
			return err
		})
	}
	s := sessionOf(t, run)
	sum, _ := im.Func("work_checksum")
	require.Equal(t, s.ask(fmt.Sprintf("Z0,%x,1", sum.Entry)), "OK", "a breakpoint")
	require.Equal(t, s.ask("c"), "T05thread:1;swbreak:;", "it")
	first := s.cycles()
	require.Equal(t, s.ask("c"), "T05thread:1;replaylog:end;", "the end")
	require.Equal(t, s.ask("bc"), "T05thread:1;swbreak:;", "back")
	require.Equal(t, s.cycles(), first, "the breakpoint again")
	require.Equal(t, s.ask("bc"), "T05thread:1;replaylog:begin;", "further back")
}

// TestNoInstruction says why a run ended that had none.
func TestNoInstruction(t *testing.T) {
	run, _, _ := bench(t, "x86_64-2010")
	p := &player{breaks: map[uint64]bool{}, run: func(before clock.Ticks, attach Attach) error {
		return run(before, func(m *sim.Machine, probes func() (string, error)) func(error) {
			attach(m, probes)(errors.New("no memory"))
			return func(error) {}
		})
	}}
	require.Error(t, p.begin(), "the run ended before its first instruction: no memory", "")
	p.kill()
}

// TestInterrupt answers packets behind an interrupt, wherever it finds the machine.
func TestInterrupt(t *testing.T) {
	run, _, _ := bench(t, "x86_64-2010")
	c := serve(t, run, false)
	require.Must(c.raw.Write([]byte{3}))(t)
	c.want("vCont;c", "T02thread:.;|T05thread:.;replaylog:end;")
	c.want("qC", "QC.")
}

// TestInterruptBackward stops on the way back, too.
func TestInterruptBackward(t *testing.T) {
	for _, steps := range []bool{true, false} {
		s, fn := unconnected(t)
		s.ask(fmt.Sprintf("Z0,%x,1", fn.Entry))
		require.Equal(t, s.ask("c"), "T05thread:1;swbreak:;", "the breakpoint")
		interrupts := make(chan struct{}, 1)
		interrupts <- struct{}{}
		again := s.player.run
		s.player.interrupt, s.player.run = interrupts, func(from clock.Ticks, attach Attach) error {
			for len(interrupts) > 0 { // the interrupt comes before the machine can stand still
				time.Sleep(time.Millisecond)
			}
			return again(from, attach)
		}
		st, err := s.player.backward(0, steps)
		require.That(t, err == nil && st.reason == interrupted, "by one instruction: %v; %+v, %v", steps, st, err)
	}
}

// TestPass takes a program counter that gdb moves behind a breakpoint of its own, and no other write.
func TestPass(t *testing.T) {
	s, fn := unconnected(t)
	pc := func(behind int) string {
		return "P10=" + hex.EncodeToString(binary.LittleEndian.AppendUint64(nil, fn.Entry+uint64(behind)))
	}
	s.ask(fmt.Sprintf("Z0,%x,1", fn.Entry))
	require.Equal(t, s.ask("c"), "T05thread:1;swbreak:;", "the breakpoint")
	for behind := range maxBreak + 2 {
		require.Equal(t, s.ask(pc(behind)) == "OK", behind >= 1 && behind <= maxBreak, "%d bytes behind it", behind)
	}
	require.Equal(t, s.ask("P1"+pc(1)[3:]), "E."+notWritten, "another register")
	s.ask(fmt.Sprintf("z0,%x,1", fn.Entry))
	require.Equal(t, s.ask(pc(1)), "E."+notWritten, "without it")
}

// TestInOrder writes numbers of both byte orders as other code does.
func TestInOrder(t *testing.T) {
	const v = 0x1122334455667788
	for _, order := range []interface {
		binary.ByteOrder
		binary.AppendByteOrder
	}{binary.LittleEndian, binary.BigEndian} {
		require.Equal(t, inOrder(order, v, 8), hex.EncodeToString(order.AppendUint64(nil, v)), "%v", order)
		require.Equal(t, inOrder(order, v&0xffffffff, 4), hex.EncodeToString(order.AppendUint32(nil, v&0xffffffff)), "%v", order)
	}
}

// TestNoRun says why there is no machine.
func TestNoRun(t *testing.T) {
	p := &player{run: func(clock.Ticks, Attach) error { return errors.New("no kernel") }}
	require.Error(t, p.begin(), "no kernel", "")
}

// TestRestore takes the last state before a time, if there is one. The states here are none of a machine.
func TestRestore(t *testing.T) {
	s, _ := unconnected(t)
	c := Checkpoints{list: []checkpoint{{at: 10, state: []byte("first")}, {at: 20}}}
	for before, refused := range map[clock.Ticks]bool{0: false, 10: false, 11: true, 21: true} {
		err := c.Restore(s.player.inst.m, before)
		require.That(t, (err != nil) == refused, "before %d: %v", before, err)
	}
}

// TestAlarm has a CPU come back from time to time, or where all its instructions are looked at from; not where they are anyway.
func TestAlarm(t *testing.T) {
	s, _ := unconnected(t)
	i := s.player.inst
	now := i.m.CPU(0).Now()
	for _, x := range []struct {
		all  bool
		goal goal
		want clock.Ticks
	}{
		{false, goal{}, now + pollEvery},
		{true, goal{}, math.MaxInt64},
		{false, goal{until: &position{cpu: 0}, from: now + 5}, now + 5},
		{false, goal{until: &position{cpu: 0}, from: now + pollEvery + 5}, now + pollEvery},
		{false, goal{until: &position{cpu: 1}, from: now + 5}, now + pollEvery},
	} {
		i.all, i.goal = x.all, x.goal
		require.Equal(t, i.alarm(0), x.want, "%+v", x)
	}
}

// TestIdleCPU steps a CPU back that has long been idle: another run looks at ever more instructions. One that has not begun has nothing before it.
func TestIdleCPU(t *testing.T) {
	s, _ := unconnected(t)
	p := s.player
	st, err := p.forward(0, true)
	require.That(t, err == nil && st.reason == stepped, "a step: %+v, %v", st, err)
	st, err = p.backward(1, true)
	require.That(t, err == nil && st.reason == began && p.inst.at == p.first, "back on a CPU that has not begun: %+v at %+v, %v", st, p.inst.at, err)
	st, err = p.forward(0, false)
	end := p.inst.at.time
	require.That(t, err == nil && st.reason == ended, "the run: %+v, %v", st, err)
	st, err = p.backward(1, true)
	require.That(t, err == nil && st.reason == stepped && st.cpu == 1 && p.inst.at.cpu == 1, "back on an idle CPU: %+v at %+v, %v", st, p.inst.at, err)
	require.That(t, p.inst.at.time < end-firstSlack, "it was busy %d ticks before the end", end-p.inst.at.time)
}

// TestMachinesEnd ends each machine of a session when another one takes its place, and the last one with the session.
func TestMachinesEnd(t *testing.T) {
	var runs atomic.Int32
	inner, _, _ := bench(t, images[0])
	s := sessionOf(t, func(before clock.Ticks, attach Attach) error {
		runs.Add(1)
		defer runs.Add(-1)
		return inner(before, attach)
	})
	for range 3 {
		s.ask("s")
		s.ask("bs") // by another machine
		require.Equal(t, runs.Load(), 1, "machines of a session")
	}
	s.player.kill()
	require.Equal(t, runs.Load(), 0, "machines behind a session")
}
