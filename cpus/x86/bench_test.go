package x86

import (
	"encoding/binary"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// testConfig is a machine that is round rather than real.
func testConfig(model string) *cpus.Config {
	cfg := cpustest.Config(ISA64())
	cfg.Model, cfg.Memory = model, 270*clock.PerCycle
	return &cfg
}

// testCPU is a CPU with code at the kernel mapping's third mebibyte.
func testCPU(tb testing.TB, model string, code []byte) *CPU {
	tb.Helper()
	isa := ISA64()
	cfg := testConfig(model)
	if errs := cfg.Check(isa); errs != nil {
		tb.Fatal(errs)
	}
	mem := cpustest.Memory(tb, 32<<20)
	root := require.Must(isa.Tables(mem, 31<<20, testMaps(isa)))(tb)
	mem.Write(testCode-kernelMap, code)
	c := isa.New(0, cfg, cpus.Bus{Memory: mem, Phase: func(uint64) uint8 { return 0 }, Root: root}).(*CPU)
	c.Boot(testCode, testStack)
	return c
}

const (
	testCode  = kernelMap + 3<<20
	testStack = directMap + 2<<20
	testData  = directMap + 4<<20
)

func TestLoopRuns(t *testing.T) {
	// mov $1000,%ecx; 1: add %rcx,%rax; dec %ecx; jnz 1b; hlt
	code := []byte{0xb9, 0xe8, 3, 0, 0, 0x48, 0x01, 0xc8, 0xff, 0xc9, 0x75, 0xf9, 0xf4}
	c := testCPU(t, cpus.Window, code)
	if e := c.Run(1e9); e.Reason != cpus.Halted {
		t.Fatalf("stopped for %+v", e)
	}
	require.Need(t, c.R[rax] == 500500, "rax = %d", c.R[rax])
	if n := c.Counters().Instructions; n != 3002 {
		t.Fatalf("%d instructions", n)
	}
}

func BenchmarkLoop(b *testing.B) {
	alu := []byte{ // 1: add %rcx,%rax; mov %rax,%rdx; shr $3,%rdx; xor %rdx,%rax; test $1,%al; je 2f; inc %rsi; 2: dec %rcx; jnz 1b; hlt
		0x48, 0x01, 0xc8, 0x48, 0x89, 0xc2, 0x48, 0xc1, 0xea, 3, 0x48, 0x31, 0xd0, 0xa8, 1, 0x74, 3, 0x48, 0xff, 0xc6, 0x48, 0xff, 0xc9, 0x75, 0xe7, 0xf4,
	}
	chase := []byte{0x48, 0x8b, 0x00, 0x48, 0xff, 0xc9, 0x75, 0xf8, 0xf4} // 1: mov (%rax),%rax; dec %rcx; jnz 1b; hlt
	calls := []byte{                                                      // 1: call 2f; dec %rcx; jnz 1b; hlt; 2: push %rbx; mov %rdi,%rbx; add $1,%rbx; mov %rbx,%rdi; pop %rbx; ret
		0xe8, 6, 0, 0, 0, 0x48, 0xff, 0xc9, 0x75, 0xf6, 0xf4, 0x53, 0x48, 0x89, 0xfb, 0x48, 0x83, 0xc3, 1, 0x48, 0x89, 0xdf, 0x5b, 0xc3,
	}
	for _, x := range []struct {
		name string
		code []byte
	}{{"alu", alu}, {"chase", chase}, {"calls", calls}} {
		b.Run(x.name, func(b *testing.B) {
			c := testCPU(b, cpus.Throughput, x.code)
			n := uint64(4 << 20 / 64)
			if x.name == "chase" {
				// a walk over all lines by an odd step
				var w [8]byte
				at := uint64(0)
				for range n {
					next := (at + 24593) % n
					binary.LittleEndian.PutUint64(w[:], testData+next*64)
					c.Memory.Write(testData-directMap+at*64, w[:])
					at = next
				}
			}
			b.ReportAllocs()
			start := c.Counters().Instructions
			for range b.N {
				c.R[rax], c.R[rcx] = testData, 1<<16
				c.Halted = false
				c.R[rRIP] = testCode
				if e := c.Run(1 << 60); e.Reason != cpus.Halted {
					b.Fatal(e)
				}
			}
			b.ReportMetric(float64(c.Counters().Instructions-start)/b.Elapsed().Seconds()/1e6, "MIPS")
		})
	}
}
