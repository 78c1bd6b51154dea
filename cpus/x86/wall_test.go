package x86

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"runtime"
	"runtime/pprof"
	"testing"

	"kprobesim/cpus"
	settings "kprobesim/internal/host"
	"kprobesim/internal/hostcode"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/mmu"
)

// TestStruckCodeOfTheHost executes a loop of 9*10^7 instructions without a cost model. Meanwhile the profiler strikes a
// thousand times a second, and garbage is collected without a pause: the loop counts right.
func TestStruckCodeOfTheHost(t *testing.T) {
	if hostcode.NewRoom(1) == nil {
		hosttools.Unable(t, "striking in code of the host", "it needs Linux on x86-64, and memory that may be executed")
	}
	// mov $30000000,%ecx; 1: add %rcx,%rax; dec %ecx; jnz 1b; hlt
	const rounds = 30_000_000
	c := testCPU(t, cpus.Window, append(binary.LittleEndian.AppendUint32([]byte{0xb9}, rounds), 0x48, 0x01, 0xc8, 0xff, 0xc9, 0x75, 0xf9, 0xf4))
	c.Untimed(1, 1<<60)
	var profile bytes.Buffer
	runtime.SetCPUProfileRate(1000) // or the next call takes a tenth; it says that it cannot
	require.NoError(t, pprof.StartCPUProfile(&profile))
	over, collections := make(chan bool), make(chan int)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-over:
				collections <- n
				return
			default:
				runtime.GC()
			}
		}
	}()
	if e := c.Run(1 << 60); e.Reason != cpus.Halted {
		t.Errorf("stopped for %+v", e)
	}
	close(over)
	n := <-collections
	pprof.StopCPUProfile()
	require.That(t, struckOutside(t, &profile) && n != 0, "no signal struck in code of the host, or there were no collections: %d", n)
	if n := c.Counters().Instructions; c.R[rax] != rounds*(rounds+1)/2 || n != 3*rounds+2 {
		t.Errorf("rax = %d after %d instructions", c.R[rax], n)
	}
}

// struckOutside tells whether a profile has samples in code that is not Go's.
func struckOutside(t *testing.T, profile io.Reader) bool {
	t.Helper()
	text, err := gzip.NewReader(profile)
	require.NoError(t, err)
	all, err := io.ReadAll(text)
	require.NoError(t, err)
	return bytes.Contains(all, []byte("runtime._ExternalCode"))
}

// fenced is a CPU between words that nothing may change.
type fenced struct {
	before [fence]uint64
	cpu    CPU
	after  [fence]uint64
}

// fence is a number of words at each side of a CPU.
const fence = 1 << 12

// fences gives the ISA CPUs in a fence.
func fences(isa *cpus.ISA) (*cpus.ISA, *fenced) {
	f, in := &fenced{}, *isa
	for i := range fence {
		f.before[i], f.after[i] = canary(i), canary(-i)
	}
	in.New = func(n int, cfg *cpus.Config, bus cpus.Bus) cpus.CPU {
		if isa.Bits == 64 {
			return f.cpu.build(isa, n, cfg, bus, true, (*CPU).reset64)
		}
		return f.cpu.build(isa, n, cfg, bus, false, (*CPU).reset32)
	}
	return &in, f
}

// canary is the value of a word of a fence.
func canary(i int) uint64 { return 0x6b70726f62657369 * uint64(2*i+1) }

// FuzzWall executes bytes as code, without a cost model and with one, that becomes code of the host as soon as it can.
// RAM stands between pages that nothing may touch, and the CPU between words that nothing may change.
func FuzzWall(f *testing.F) {
	code := settings.Code
	f.Cleanup(func() { settings.Code = code })
	settings.Code.Blocks = 1
	addSequences(f, rand.NewPCG(5, 6))
	f.Fuzz(func(t *testing.T, code []byte, seed uint64) {
		isas := modes()
		for _, untimed := range []bool{true, false} {
			wall(t, isas[seed%uint64(len(isas))], code[:min(len(code), 0x1000)], seed, untimed)
		}
	})
}

// wall executes code in a loop behind walls.
func wall(t *testing.T, isa *cpus.ISA, code []byte, seed uint64, untimed bool) {
	t.Helper()
	var ram settings.Pages
	isa, f := fences(isa)
	w := newWorldIn(t, isa, cpus.Window, nil, mmu.NewMemoryOf(ram.Zeroed, worldRAM))
	loopIn(w, code, seed, func(c *CPU) {
		if untimed {
			c.Untimed(7, 1<<60)
		}
	})
	for i := range fence {
		if f.before[i] != canary(i) || f.after[i] != canary(-i) {
			t.Fatalf("% x: word %d beside the CPU is %#x or %#x", code, i, f.before[i], f.after[i])
		}
	}
	require.NoError(t, ram.Free())
}
