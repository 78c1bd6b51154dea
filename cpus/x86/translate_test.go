package x86

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"kprobesim/cpus"
	settings "kprobesim/internal/host"
	"kprobesim/internal/hostcode"
	"kprobesim/internal/hosttools"
)

// warmRuns are the executions behind which a block is translated without a cost model, and one more.
const warmRuns = 4

// eachPath runs a test with reference functions alone, and with host code where there is any.
func eachPath(t *testing.T, test func(t *testing.T)) {
	t.Run("functions", func(t *testing.T) {
		settings.Code.Off = true
		defer func() { settings.Code.Off = false }()
		test(t)
	})
	t.Run("code of the host", func(t *testing.T) {
		if hostcode.NewRoom(1) == nil {
			hosttools.Unable(t, "executing code of the host", "it needs Linux on x86-64, and memory that may be executed")
		}
		test(t)
	})
}

// TestUntimedForms executes every form of instruction that is compared with the host, from random states, without a cost
// model and with one: registers, flags, memory and faults are the same.
func TestUntimedForms(t *testing.T) { eachPath(t, untimedForms) }

func untimedForms(t *testing.T) {
	for _, a := range abis() {
		t.Run(fmt.Sprintf("%d bits", a.bits), func(t *testing.T) {
			g := newGen(a.bits, 21, 2)
			for _, x := range groups {
				x.build(g)
			}
			h := harness(1, a)
			text := layout(h, g.forms)
			general, quick := newUserSim(t, a, text, h.labels["save"]), newUserSim(t, a, text, h.labels["save"])
			quick.Untimed(1, 1<<60)
			quick.warm = true
			for _, f := range g.forms {
				var v *vector
				for range warmRuns {
					v = g.vector(f)
					quick.run(f, v)
				}
				if want, got := general.run(f, v), quick.run(f, v); *want != *got {
					t.Errorf("%s: % x from %s\n%s", f.name, f.code, v, difference(f, v, want, got))
				}
			}
		})
	}
}

// TestComparedBranches executes comparisons with the branch behind them, of values that are near
// each other or near a sign, in both ways.
func TestComparedBranches(t *testing.T) { eachPath(t, comparedBranches) }

func comparedBranches(t *testing.T) {
	values := []uint64{0, 1, 2, 0x7f, 0x80, 0x81, 0xff, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff, 1<<63 - 1, 1 << 63, 1<<63 + 1, ^uint64(0)}
	for _, compare := range [][]byte{
		{0x48, 0x39, 0xd8},
		{0x39, 0xd8},
		{0x38, 0xd8},
		{0x48, 0x85, 0xd8},
		{0x85, 0xd8},
		{0x84, 0xd8},
		{0x48, 0x39, 0xd8, 0x48, 0x11, 0xd8},
		{0x39, 0xd8, 0x11, 0xd8}, // adc behind cmp, and sbb
		{0x48, 0x39, 0xd8, 0x48, 0x19, 0xd8},
		{0x39, 0xd8, 0x19, 0xd8},
		{0x48, 0x0f, 0xaf, 0xc3},
		{0x0f, 0xaf, 0xc3},
		{0x48, 0x6b, 0xc3, 0x7f},
		{0x6b, 0xc3, 0x7f}, // imul
	} {
		for cond := range byte(16) {
			// cmp %rbx,%rax; jcc 1f; inc %ecx; 1: pushf; pop %rdx; hlt
			code := append(append([]byte{}, compare...), 0x70|cond, 2, 0xff, 0xc1, 0x9c, 0x5a, 0xf4)
			general, quick := testCPU(t, cpus.Throughput, code), testCPU(t, cpus.Throughput, code)
			quick.Untimed(1, 1<<60)
			for _, a := range values {
				for _, b := range values {
					for _, c := range []*CPU{general, quick} {
						c.R[rax], c.R[rbx], c.R[rcx], c.R[rsp], c.R[rRIP], c.Halted = a, b, 0, testStack, testCode, false
						if e := c.Run(1 << 60); e.Reason != cpus.Halted {
							t.Fatalf("stopped for %+v", e)
						}
					}
					if general.R != quick.R {
						t.Fatalf("% x of %#x and %#x: untimed %d flags %#x, else %d flags %#x", code, a, b, quick.R[rcx], quick.R[rdx],
							general.R[rcx], general.R[rdx])
					}
				}
			}
		}
	}
}

// around is the memory that TestStringsAtOnce reaches.
func around(c *CPU) []byte { return c.Memory.Raw()[testData-directMap-0x24000:][:0x48000] }

// TestStringsAtOnce executes repeated moves and stores of many elements, over pages, onto themselves and downwards,
// without a cost model and with one: memory, registers and the number of instructions are the same.
func TestStringsAtOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for _, x := range [][]byte{{0xaa}, {0x66, 0xab}, {0xab}, {0x48, 0xab}, {0xa4}, {0x66, 0xa5}, {0xa5}, {0x48, 0xa5}} {
		code := append([]byte{0xf3}, x...)
		if x[0] == 0x66 {
			code = []byte{0x66, 0xf3, x[1]}
		}
		code = append(code, 0xf4)
		general, quick := testCPU(t, cpus.Throughput, code), testCPU(t, cpus.Throughput, code)
		quick.Untimed(1, 1<<60)
		for range 25 {
			from, count := testData+rng.Uint64N(0x3000), rng.Uint64N(1<<rng.IntN(14))
			to := from + rng.Uint64N(0x4000) - 0x2000
			if rng.IntN(4) == 0 {
				to = from + rng.Uint64N(20)
			}
			down := uint64(flagDF) * uint64(rng.IntN(8)/7)
			seed := rng.Uint64()
			for _, c := range []*CPU{general, quick} {
				fill := rand.New(rand.NewPCG(seed, 1))
				for b := around(c); len(b) > 0; b = b[8:] {
					copy(b, le64(fill.Uint64()))
				}
				c.Memory.Write(testCode-kernelMap, code)
				c.R[rax], c.R[rcx], c.R[rsi], c.R[rdi], c.R[rRIP], c.Halted = 0x1122334455667788, count, from, to, testCode, false
				c.setFlags(down|flagOne, ^uint64(0))
				if e := c.Run(c.Now() + 1e9); e.Reason != cpus.Halted {
					t.Fatalf("stopped for %+v", e)
				}
			}
			if general.R != quick.R || general.Counters().Instructions != quick.Counters().Instructions || !bytes.Equal(around(general), around(quick)) {
				t.Fatalf("% x of %d from %#x to %#x: %d instructions, %d left; with a model %d, %d left", code, count, from, to,
					quick.Counters().Instructions, quick.R[rcx], general.Counters().Instructions, general.R[rcx])
			}
		}
	}
}
