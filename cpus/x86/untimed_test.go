package x86

import (
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/clock"
)

// TestUntimedCounterCounts reads the time-stamp counter in a loop that is executed without a cost model: it goes on by
// what the instructions of a round take, also in the middle of a block.
func TestUntimedCounterCounts(t *testing.T) {
	// mov $50,%ecx; 1: mov %rax,%rbx; rdtsc; mov %rax,%rsi; sub %rbx,%rsi; dec %ecx; jnz 1b; hlt
	c := testCPU(t, cpus.Window, []byte{
		0xb9, 50, 0, 0, 0, 0x48, 0x89, 0xc3, 0x0f, 0x31, 0x48, 0x89, 0xc6, 0x48, 0x29, 0xde, 0xff, 0xc9, 0x75, 0xf1, 0xf4,
	})
	const each = 3 // cycles
	c.Untimed(each*clock.PerCycle, 1<<60)
	if e := c.Run(1 << 60); e.Reason != cpus.Halted {
		t.Fatalf("stopped for %+v", e)
	}
	const round, all = 6, 1 + 50*6 + 1
	if n := c.Counters().Instructions; n != all || c.Now() != all*each*clock.PerCycle || c.R[rsi] != round*each {
		t.Errorf("%d instructions in %d ticks, %d cycles a round; want %d, %d and %d", n, c.Now(), c.R[rsi], all, all*each*clock.PerCycle, round*each)
	}
}
