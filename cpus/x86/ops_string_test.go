package x86

import (
	"encoding/hex"
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
				w := newWorld(t, ISA64(), model, code)
				if i%3 == 0 { // without fast strings
					delete(w.cfg.Classes, "rep_movs_line")
					delete(w.cfg.Classes, "rep_stos_line")
				}
				c := w.cpu()
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
		if n := engine.StoreElements(&c.Core, testData+x.at, x.n<<8|0x55, x.n, eachElement()); n != x.want {
			t.Errorf("%d of %d elements are stored at %#x, want %d", n, x.n, x.at, x.want)
		} else if n > 0 && w.load(testData+x.at+8*(n-1)) != x.n<<8|0x55 {
			t.Errorf("the last of %d at %#x is %#x", n, x.at, w.load(testData+x.at+8*(n-1)))
		}
		n := engine.CopyElements[uint64](&c.Core, testData+x.at, testData+x.at, x.n, eachElement())
		require.That(t, n == x.want, "%d of %d elements are copied at %#x, want %d", n, x.n, x.at, x.want)
	}
}

// TestFastStrings makes the start of a repeated instruction, its elements, and 64 bytes of a fast string dearer, one after the other. What an
// instruction takes more says which of them it has, and how many.
func TestFastStrings(t *testing.T) {
	const (
		movsb, movsq, stosb, stosq, lodsb = "f3a4", "f348a5", "f3aa", "f348ab", "f3ac"
		backwards                         = "fd" // std
	)
	for _, x := range []struct {
		code                          string
		count, apart                  uint64 // elements, and bytes from the source to the destination
		start, short, bytes, elements int64
	}{
		{code: movsb, count: 0, apart: 4096, short: 1},
		{code: movsb, count: 1, apart: 4096, short: 1, bytes: 1},
		{code: movsb, count: 128, apart: 4096, short: 1, bytes: 128},
		{code: movsb, count: 129, apart: 4096, start: 1, bytes: 129},
		{code: movsb, count: 32768, apart: 1 << 16, start: 1, bytes: 32768},
		{code: movsb, count: 32769, apart: 1 << 16, start: 1, short: 1, bytes: 32769}, // once more for the last one
		{code: movsq, count: 1, apart: 4096, start: 1, bytes: 8},
		{code: movsq, count: 4096, apart: 1 << 16, start: 1, bytes: 32768},
		{code: movsb, count: 200, apart: 64, start: 1, bytes: 200},
		{code: movsb, count: 200, apart: 63, start: 1, elements: 200}, // reads what it wrote
		{code: movsb, count: 200, apart: 0, start: 1, elements: 200},
		{code: movsb, count: 200, apart: ^uint64(0), start: 1, bytes: 200}, // reads what it has not written yet
		{code: movsb, count: 100, apart: 4096, short: 1, bytes: 100},
		{code: backwards + movsb, count: 200, apart: 4096, start: 1, elements: 200},
		{code: stosb, count: 128, short: 1, bytes: 128},
		{code: stosb, count: 129, start: 1, bytes: 129},
		{code: stosq, count: 2, start: 1, bytes: 16},
		{code: backwards + stosq, count: 2, start: 1, elements: 2},
		{code: lodsb, count: 200, elements: 200},
	} {
		for _, model := range []string{cpus.Throughput, cpus.Window} {
			took := func(dear string, cycles clock.Ticks) int64 {
				w := newWorld(t, ISA64(), model, append(require.Must(hex.DecodeString(x.code))(t), 0xf4))
				for _, kind := range []string{"rep_movs", "rep_stos"} {
					for _, n := range []string{"", "_short", "_line"} {
						w.cfg.Classes[kind+n] = cpus.Cost{Issue: 640 * clock.PerCycle}
					}
					if dear != "rep_element" {
						w.cfg.Classes[kind+dear] = cpus.Cost{Issue: (640 + cycles) * clock.PerCycle}
					}
				}
				w.cfg.Classes["rep_element"] = cpus.Cost{Issue: clock.PerCycle}
				if dear == "rep_element" {
					w.cfg.Classes[dear] = cpus.Cost{Issue: (1 + cycles) * clock.PerCycle}
				}
				c := w.cpu()
				c.R[rsi], c.R[rdi], c.R[rcx] = testData+1<<14, testData+1<<14+x.apart, x.count
				halt(t, c)
				return c.Now().Cycles()
			}
			usual := took("", 0)
			got := [...]int64{took("", 10) - usual, took("_short", 10) - usual, took("_line", 64) - usual, took("rep_element", 3) - usual}
			want := [...]int64{10 * x.start, 10 * x.short, x.bytes, 3 * x.elements}
			require.That(t, got == want, "%s, %s of %d, %d bytes apart: dearer starts, short starts, lines and elements take %d cycles more, want %d", model, x.code, x.count, int64(x.apart), got, want)
		}
	}
}
