package x86

import (
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
