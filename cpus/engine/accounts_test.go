package engine

import (
	"fmt"
	"slices"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// counted has the instructions by context that a toy has executed, and the time beside them.
func counted(c *toy) string {
	n, out := c.Counters(), []string(nil)
	for i := range n.Count {
		of := n.Count[i][0] + n.Count[i][1]
		if of != 0 {
			out = append(out, fmt.Sprintf("%d: %d", i, of))
		}
	}
	return fmt.Sprint(out)
}

// TestReturnsFromExceptions has a handler return into another one, and that into ordinary code. The return counts for the exception that it ends.
func TestReturnsFromExceptions(t *testing.T) {
	models(t, func(t *testing.T, cfg *cpus.Config) {
		c := newToy(t, cfg, 1<<20, 0x1000)
		back := c.do(0, func() { c.ReturnFromException() })
		toyWrite(c, 0x1000, [4]byte{toyNop}, back, [4]byte{toyNop}, [4]byte{toyNop}, [4]byte{toyNop}, back, [4]byte{toyNop}, [4]byte{toyHalt})
		c.EnterException(cpus.Breakpoint, 1000, "first")
		c.EnterException(cpus.Interrupted, 3000, "")
		require.Equal(t, c.Now(), 4000, "two deliveries take")
		c.goFrom(0x1000)
		require.Equal(t, counted(c), "[0: 2 1: 4 4: 2]", "instructions by context are")
		require.Equal(t, c.Counts.Total(), c.Now(), "the time of all contexts is")
	})
}

// TestTimeOfADelivery books the delivery of an exception with its handler, and what came before with the code that it interrupts.
func TestTimeOfADelivery(t *testing.T) {
	c := newToy(t, toyConfig(cpus.Throughput, 64), 1<<20, 0x1000, [4]byte{toyNop}, [4]byte{toyHalt})
	c.Steps(1, soon)
	before := c.Now()
	c.EnterException(cpus.SingleStep, 5000, "trap")
	c.goFrom(0x1004)
	n := c.Counters()
	outer, inner := n.Time[cpus.NoException][0], n.Time[cpus.SingleStep][0]
	require.That(t, before > 0 && outer == before && inner == c.Now()-before && inner >= 5000, "ordinary code takes %d, the handler %d, in all %d", outer, inner, c.Now())
}

// TestDeepExceptions has a guest enter exceptions and never return. The list of them stays bounded, and what is left of it is closed in order.
func TestDeepExceptions(t *testing.T) {
	c := newToy(t, toyConfig(cpus.Throughput, 64), 1<<20, 0x1000)
	for range 1000 {
		c.EnterException(cpus.OtherException, 1, "")
	}
	require.Equal(t, len(c.outer), maxContexts, "exceptions that are told apart")
	for range maxContexts {
		require.Equal(t, c.context, cpus.OtherException, "the context is")
		c.LeaveException()
	}
	for range 2 {
		require.Equal(t, c.context, cpus.NoException, "the context outside is")
		c.LeaveException()
	}
}

// TestTasksTakeExceptionsAlong switches between a task in two exceptions and one in none. Each goes on in its own.
func TestTasksTakeExceptionsAlong(t *testing.T) {
	c := newToy(t, toyConfig(cpus.Throughput, 64), 1<<20, 0x1000)
	toyWrite(c, 0x1000, [4]byte{toyNop}, [4]byte{toyHalt})
	toyWrite(c, 0x1100, c.do(Ends, func() { c.ReturnFromException() }), [4]byte{toyHalt})
	require.That(t, c.SwitchExceptionStack(nil) == nil, "a task outside of exceptions has some")
	c.EnterException(cpus.Breakpoint, 0, "")
	c.EnterException(cpus.Interrupted, 0, "")
	c.goFrom(0x1000)
	require.Equal(t, c.ExceptionContext(), cpus.Interrupted, "the innermost exception is")
	first := c.SwitchExceptionStack(nil)
	require.That(t, slices.Equal(first, []uint8{cpus.NoException, cpus.Breakpoint, cpus.Interrupted}), "a task leaves %v behind", first)
	c.goFrom(0x1000)
	require.Equal(t, counted(c), "[0: 2 4: 2]", "with another task, instructions by context are")
	none := c.SwitchExceptionStack(first)
	require.Equal(t, len(none), 0, "exceptions of the other task")
	c.goFrom(0x1100)
	require.Equal(t, counted(c), "[0: 2 1: 1 4: 3]", "with the first task again, instructions by context are")
}

// TestCompletedInstructions counts instructions between two of them, whether they are booked or not. Counted books nothing.
func TestCompletedInstructions(t *testing.T) {
	c := newToy(t, toyConfig(cpus.Window, 64), 1<<20, 0x1000, slices.Repeat([][4]byte{{toyNop}}, 20)...)
	for i := range uint64(10) {
		require.Equal(t, c.Completed(), i, "completed are")
		if i == 5 {
			c.Book()
		}
		booked := c.Counts.Instructions
		n := c.Counted()
		require.That(t, n.Instructions == i && n.Total() == c.Now() && c.Counts.Instructions == booked, "counted are %d in %d, booked %d and %d",
			n.Instructions, n.Total(), booked, c.Counts.Instructions)
		c.Steps(1, soon)
	}
}

// TestParkedTime has time pass for a CPU that waits, and for one that was not started yet, whose time belongs to nobody.
func TestParkedTime(t *testing.T) {
	for _, parked := range []bool{false, true} {
		c := newToy(t, toyConfig(cpus.Window, 64), 1<<20, 0x1000, [4]byte{toyHalt})
		if parked {
			c.Park()
			require.Equal(t, c.Run(soon).Reason, cpus.Halted, "a CPU that is parked runs and stops for")
		}
		c.Advance(5000)
		c.Start()
		c.goFrom(0x1000)
		want := c.Now()
		if parked {
			want -= 5000
		}
		require.That(t, c.Counters().Total() == want && c.Now() > 5000, "parked %t: of %d, %d are accounted", parked, c.Now(), c.Counts.Total())
	}
}

// TestReset has a CPU begin anew in the middle of something. Time, counters and caches go on.
func TestReset(t *testing.T) {
	c := newToy(t, toyConfig(cpus.Window, 64), 1<<20, 0x1000, [4]byte{toyLoad, 1, 20, 0}, [4]byte{toyHalt})
	c.goFrom(0x1000)
	c.EnterException(cpus.Breakpoint, 10, "")
	c.User, c.Single, c.R[3] = true, 1, 7
	c.Stop |= StopFault
	c.Interrupt()
	c.WatchData([][2]uint64{{0, 1 << 20}})
	c.WatchCode([]uint64{0x1000})
	w := &watcher{toy: c, refuse: 0}
	c.translator = w
	now, n := c.Now(), c.Counters().Instructions
	c.Reset()
	require.That(t, c.R == [Registers]uint64{} && !c.User && c.Single == 0 && c.Stop == 0 && c.Check&CheckInterrupts == 0, "a CPU begins with %+v", c.R)
	c.goFrom(0x1000)
	require.That(t, len(w.log) == 0 && c.context == cpus.NoException, "watchpoints or exceptions are left: %v", w.log)
	require.That(t, c.Now() > now && c.Now()-now < clock.Ticks(c.memLat) && c.Counters().Instructions == n+2, "time or counters begin anew")
}
