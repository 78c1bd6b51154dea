package x86

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/engine"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// TestRepeatedInOneGo has repeated stores and copies do several elements in one go, and one by one because the pages are
// watched. Registers, memory, time and counters are the same, also behind loads that find the stores.
func TestRepeatedInOneGo(t *testing.T) {
	operations := [][]byte{{0xf3, 0xaa}, {0xf3, 0xab}, {0xf3, 0x48, 0xab}, {0xf3, 0xa4}, {0xf3, 0xa5}, {0xf3, 0x48, 0xa5}}
	numbers := rand.New(rand.NewPCG(1, 2))
	for _, model := range []string{cpus.Throughput, cpus.Window} {
		for i := range 60 {
			op := operations[i%len(operations)]
			// rep stos or movs; mov -16(%rdi),%rbx; add %rbx,%rdx; then the same again; hlt
			code := append(append([]byte{}, op...), 0x48, 0x8b, 0x5f, 0xf0, 0x48, 0x01, 0xda)
			code = append(append(code, 0x48, 0x89, 0xf7, 0xb9, 100, 0, 0, 0), code...) // mov %rsi,%rdi; mov $100,%ecx
			code = append(code, 0xf4)
			from, to, n := testData+numbers.Uint64N(6000), testData+numbers.Uint64N(6000), numbers.Uint64N(5000)
			run := func(slow bool) *CPU {
				c := testCPU(t, model, code)
				if slow {
					c.WatchData([][2]uint64{{testData, testData + 1<<20}})
				}
				for at := range uint64(16 << 10) {
					c.Memory.Write(testData-directMap+at, []byte{byte(at * 7)})
				}
				c.R[rsi], c.R[rdi], c.R[rcx], c.R[rax] = from, to, n, uint64(i+1)*0x0123456789abcdef
				for range 40 {
					if c.Run(c.Now()+1000*clock.PerCycle).Reason == cpus.Halted {
						break
					}
				}
				return c
			}
			fast, slow := run(false), run(true)
			what := fmt.Sprintf("%s, %x of %d from %#x to %#x", model, op, n, from, to)
			if fast.R != slow.R || fast.Now() != slow.Now() || *fast.Counters() != *slow.Counters() {
				t.Fatalf("%s: %d ticks, %x; one by one %d ticks, %x", what, fast.Now(), fast.R, slow.Now(), slow.R)
			}
			if a, b := fast.Memory.Bytes(testData-directMap, 1<<16), slow.Memory.Bytes(testData-directMap, 1<<16); string(a) != string(b) {
				t.Fatalf("%s: memories differ", what)
			}
		}
	}
}

// Elements of a repeated instruction are made in one go up to the end of a line, once that is at hand, and where they are aligned.
func TestElementsAtOnce(t *testing.T) {
	w, c := start(t, 0x89, 0x03, 0x8b, 0x03, 0xf4) // mov %eax,(%rbx); mov (%rbx),%eax; hlt
	c.R[rax], c.R[rbx] = 0, testData
	halt(t, c)
	for _, x := range []struct{ at, n, want uint64 }{{0, 5, 5}, {0, 1000, 8}, {8, 1000, 7}, {56, 3, 1}, {4, 5, 0}, {4096, 5, 0}, {0, 0, 0}} {
		if n := engine.StoreElements(&c.Core, testData+x.at, x.n<<8|0x55, x.n, clRepElement); n != x.want {
			t.Errorf("%d of %d elements are stored at %#x, want %d", n, x.n, x.at, x.want)
		} else if n > 0 && w.load(testData+x.at+8*(n-1)) != x.n<<8|0x55 {
			t.Errorf("the last of %d at %#x is %#x", n, x.at, w.load(testData+x.at+8*(n-1)))
		}
		n := engine.CopyElements[uint64](&c.Core, testData+x.at, testData+x.at, x.n, clRepElement)
		require.That(t, n == x.want, "%d of %d elements are copied at %#x, want %d", n, x.n, x.at, x.want)
	}
}
