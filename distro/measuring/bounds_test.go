package measuring

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// TestBounds refuses orders before a machine is made: loops that there are not, numbers of iterations that are none, and what is more
// than one probe to arm.
func TestBounds(t *testing.T) {
	l := &Lab{program: &program{symbols: map[string]elf.Symbol{"listeners": {}}}}
	for _, x := range []struct {
		o    Order
		want string
	}{
		{Order{Workload: "nothing", Calls: 1}, `workload "nothing": write one of getppid, `},
		{Order{Workload: "getppid"}, "0 iterations behind 0 warm ones"},
		{Order{Workload: "getppid", Calls: -1}, "-1 iterations behind 0 warm ones"},
		{Order{Workload: "getppid", Warm: -1, Calls: 1}, "1 iterations behind -1 warm ones"},
		{Order{Workload: "getppid", Calls: maxCalls + 1}, fmt.Sprint("and at most ", maxCalls, " of each")},
		{Order{Workload: "getppid", Warm: maxCalls + 1, Calls: 1}, fmt.Sprint("and at most ", maxCalls, " of each")},
		{Order{Workload: "getppid", Warm: maxCalls, Calls: maxCalls, UserEvents: []string{"p /init:none"}}, "the program has no symbol none"}, // none of these bounds
		{Order{Workload: "listened", Calls: 1, UserEvents: []string{"p /init:none"}}, "the program has no symbol none"},
		{Order{Workload: "nop10", Calls: 1, UserEvents: []string{"p /init:none"}}, `workload "nop10": the program for this kernel has no such loop`},
	} {
		require.Error(t, require.Err(l.Run(x.o, nil)), x.want, "%+v", x.o)
	}
	for _, o := range []Order{
		{},
		{Events: []string{"p a", "p b"}},
		{Events: []string{"p a"}, UserEvents: []string{"p b"}},
		{Events: []string{"p a"}, Modules: []Module{{}}},
		{Events: []string{"p a"}, Watchpoint: &Watchpoint{}},
	} {
		require.Error(t, require.Err(l.Arm(o)), "arming is measured of one trace event, and of nothing else", "%+v", o)
	}
	require.Error(t, require.Err(l.Arm(Order{UserEvents: []string{"p /init:none"}})), "the program has no symbol none", "one event")
	for name, number := range map[string]int{"getppid": 0, "empty": 5, "listened": 7} {
		require.Got(l.program.numberOf(name))(t, number, "%s", name)
	}
}

// TestCopiesOfALab gives a lab another end, and another bound of time, and leaves it as it was.
func TestCopiesOfALab(t *testing.T) {
	l := &Lab{cpu: 3, booted: 100}
	ended := errors.New("ended")
	other := l.Under(func() error { return ended })
	require.That(t, other.cpu == 3 && other.booted == 100 && errors.Is(other.config.Halt(), ended) && l.config.Halt == nil, "%+v of %+v", other, l)
	within := other.Within(7)
	require.That(t, within.config.Budget == clock.Ticks(107) && within.config.Halt != nil && within.cpu == 3 && other.config.Budget == 0, "%+v of %+v", within, other)
}

// TestReturned extends results of four bytes around the last page, which are error numbers.
func TestReturned(t *testing.T) {
	for n, want := range map[uint32]int64{0: 0, 1 << 31: 1 << 31, 1<<32 - 4097: 1<<32 - 4097, 1<<32 - 4096: -4096, 1<<32 - 4095: -4095, 1<<32 - 1: -1} {
		require.Equal(t, returned(binary.LittleEndian.AppendUint32(nil, n)), want, "%#x", n)
	}
	require.Equal(t, returned(binary.LittleEndian.AppendUint64(nil, 1<<32-1)), 1<<32-1, "eight bytes")
}
