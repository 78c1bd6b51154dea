package x86

import (
	"bytes"
	"math/rand/v2"
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

// TestUntimedAgainAfterAStoreIntoCode executes a function without a cost model, has it changed with one, and executes it
// without again.
func TestUntimedAgainAfterAStoreIntoCode(t *testing.T) { eachPath(t, untimedAgain) }

func untimedAgain(t *testing.T) {
	const call, change, function = testCode, testCode + 0x20, testCode + 0x100
	code := make([]byte, 0x110)
	copy(code, []byte{0xe8, 0xfb, 0, 0, 0, 0xf4})                            // call function; hlt
	copy(code[change-testCode:], []byte{0xc6, 0x05, 0xda, 0, 0, 0, 2, 0xf4}) // movb $2,function+1(%rip); hlt
	copy(code[function-testCode:], []byte{0xb8, 1, 0, 0, 0, 0xc3})           // mov $1,%eax; ret
	c := testCPU(t, cpus.Throughput, code)
	run := func(at uint64) {
		t.Helper()
		c.R[rRIP], c.Halted = at, false
		if e := c.Run(c.Now() + 1e8); e.Reason != cpus.Halted {
			t.Fatalf("stopped for %+v", e)
		}
	}
	c.Untimed(1, 1<<60)
	for range 3 * warmRuns {
		run(call)
	}
	c.Untimed(0, 0)
	run(change)
	c.Untimed(1, 1<<60)
	if run(call); c.R[rax] != 2 {
		t.Errorf("the changed function returns %d", c.R[rax])
	}
}

// silent is told of every instruction and says nothing.
type silent struct{}

func (silent) Step(*cpus.Step) {}

// compareUntimed runs code in a loop without a cost model, at once and observed.
func compareUntimed(t *testing.T, isa *cpus.ISA, code []byte, seed uint64) {
	t.Helper()
	quick := func(c *CPU) { c.Untimed(7, 1<<60) }
	all := loopRun(t, isa, code, seed, quick)
	each := loopRun(t, isa, code, seed, func(c *CPU) {
		quick(c)
		c.Observe(silent{})
	})
	n, m := all.Counters(), each.Counters()
	if all.R != each.R || all.Now() != each.Now() || *n != *m || !bytes.Equal(all.Memory.Raw(), each.Memory.Raw()) {
		t.Fatalf("% x: %d instructions to %#x in %d ticks, want %d to %#x in %d", code, n.Instructions, all.PC(), all.Now(),
			m.Instructions, each.PC(), each.Now())
	}
}

// FuzzUntimed compares bytes as code, executed without a cost model, at once and observed.
func FuzzUntimed(f *testing.F) {
	addSequences(f, rand.NewPCG(1, 2))
	f.Fuzz(func(t *testing.T, code []byte, seed uint64) {
		isas := modes()
		compareUntimed(t, isas[seed%uint64(len(isas))], code[:min(len(code), 0x1000)], seed)
	})
}

// addSequences seeds a fuzz target with the seeds of all, each with a longer random sequence of instructions behind it.
func addSequences(f *testing.F, from rand.Source) {
	s := &sequence{rng: rand.New(from), bits: 64}
	for i, x := range seeds {
		for s.code = nil; len(s.code) < 3*i; {
			s.instruction()
		}
		f.Add(append(x, s.code...), uint64(i))
	}
}
