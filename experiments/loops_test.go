package experiments_test

import (
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/experiments/exptest"
	"kprobesim/experiments/planning"
	"kprobesim/internal/clock"
	"kprobesim/machines"
	"kprobesim/mmu"
	"kprobesim/targets"
)

// The loops that M. Desnoyers timed on a Xeon E5405 (PhD thesis, Montreal 2009, table 4.1 and figures
// 4.6 to 4.9) and that InstLatx64 timed on a Xeon E5462, the same die as the E5410. The costs
// of pushf, popf, cli and locked operations in the machine description are read off them, as it says;
// how they add up, and the other loops, judge the model. No loop was used to fit a probe's overhead. The
// code is what the named lines assemble to; each ends in dec %ecx, jnz, hlt.
//
// The two limits say how far each model may differ, in cycles: they are the present misses, so that a
// change that widens one is noticed. The throughput model lets no two loads overlap (sequence lock, pops);
// the window model has no loop buffer (empty loop); what makes the spin lock dearer neither knows.
var publishedLoops = []publishedLoop{
	{"empty loop", "ffc975fcf4", 1, 0.3, 1.3},
	{"sequence lock read", "8b07a801750a8b1739c27504ffc975f0f4", 3, 5.5, 1},
	{"cmpxchg", "480fb117ffc975f8f4", 8, 3, 1},
	{"lock cmpxchg", "f0480fb117ffc975f7f4", 24, 1, 3},
	{"pushfq; pop; cli", "9c58faffc975f9f4", 22, 2, 1},
	{"push; popfq", "509dffc975faf4", 20, 3, 1},
	{"pushfq; popfq", "9c9dffc975faf4", 24, 1, 3},
	{"interrupts off and restored", "9c58fa509dffc975f7f4", 39, 3, 2},
	{"preempt count up, down, test", "ff07ff0ff706010000007504ffc975f0f4", 12, 2, 1},
	{"push; pop", "5058ffc975faf4", 5.1, 1.5, 0.5},
	{"add to memory", "480117ffc975f9f4", 6, 2.5, 0.5},
	{"spin lock and unlock by calls", "4889f7e8180000004889f7e830000000ffc975ecf466662e0f1f840000000000b80001000066f00fc10738e07406f3908a07ebf6c366662e0f1f840000000000fe07c3", 46, 9, 12},
}

// The same for a K8: InstLatx64 timed rows 65, 82, 88, 487, 488, 504, 555, 772 and 773 on an Athlon 64 X2, whose
// core is that of the Opteron 246. Four at a time, so that the end of the loop, which those rows do not
// have, weighs little. The costs of single instructions in the description are read off the same rows.
// Both models forward a store as slowly to a pop as to any load, where the core takes three cycles for
// push and pop.
var publishedLoopsK8 = []publishedLoop{
	{"pushfq; popfq", "9c9d9c9d9c9d9c9dffc975f4f4", 48, 1, 6},
	{"push; pop", "5058505850585058ffc975f4f4", 12.3, 5, 20},
	{"add to memory", "480117480117480117480117ffc975f0f4", 28, 14, 2},
	{"lock add", "f0480117f0480117f0480117f0480117ffc975ecf4", 76, 4, 2},
	{"xchg with memory", "488717488717488717488717ffc975f0f4", 64, 9, 11},
	{"rdtsc", "0f310f310f310f31ffc975f4f4", 26, 1, 4},
	{"lfence", "0faee80faee80faee80faee8ffc975f0f4", 20, 1, 3},
	{"mfence", "0faef00faef00faef00faef0ffc975f0f4", 64, 1, 3},
	{"eight pops", "58585858585858584883ec40ffc975f0f4", 8, 23, 1.2},
}

// The same for a Pentium M: InstLatx64 timed rows 504, 488, 80, 86, 64, 555, 770, 771, 498 and 487 on a Celeron M
// of the same die. 32-bit code, four at a time. An exchange with memory is cheaper there than another
// locked operation, which one cost class cannot say.
var publishedLoopsBanias = []publishedLoop{
	{"pushfd; popfd", "9c9d9c9d9c9d9c9dffc975f4f4", 88, 1, 6},
	{"push; pop", "5058505850585058ffc975f4f4", 20, 5, 1},
	{"add to memory", "0117011701170117ffc975f4f4", 24, 9, 1},
	{"lock add", "f00117f00117f00117f00117ffc975f0f4", 84, 1, 3},
	{"xchg with memory", "8717871787178717ffc975f4f4", 76, 9, 11},
	{"rdtsc", "0f310f310f310f31ffc975f4f4", 184, 1, 2},
	{"lfence", "0faee80faee80faee80faee8ffc975f0f4", 21.3, 1, 3},
	{"mfence", "0faef00faef00faef00faef0ffc975f0f4", 26.7, 1, 3},
	{"push [m]; pop [m]", "ff378f07ff378f07ff378f07ff378f07ffc975ecf4", 40, 5, 1},
	{"eight pops", "585858585858585883ec20ffc975f1f4", 8, 20, 0.5},
}

// The same for an E5410 in 32-bit mode: InstLatx64 timed rows 504, 488, 80, 86, 64, 555, 498 and 487 on a Xeon
// E5462, as for its 64-bit mode.
var publishedLoopsE5410i386 = []publishedLoop{
	{"pushfd; popfd", "9c9d9c9d9c9d9c9dffc975f4f4", 96, 1, 6},
	{"push; pop", "5058505850585058ffc975f4f4", 20.4, 6, 1},
	{"add to memory", "0117011701170117ffc975f4f4", 24, 10, 1},
	{"lock add", "f00117f00117f00117f00117ffc975f0f4", 100, 4, 2},
	{"xchg with memory", "8717871787178717ffc975f4f4", 100, 4, 2},
	{"rdtsc", "0f310f310f310f31ffc975f4f4", 112, 1, 1.5},
	{"push [m]; pop [m]", "ff378f07ff378f07ff378f07ff378f07ffc975ecf4", 40.4, 11, 1},
	{"eight pops", "585858585858585883ec20ffc975f1f4", 8, 20, 0.5},
}

// publishedLoop is a loop, the cycles of a repetition, and how far either model may miss them.
type publishedLoop struct {
	name, code         string
	cycles             float64
	throughput, window float64
}

// inDocument reads the rows of the table of docs/fidelity.md, by the loop's name: published and both models.
func inDocument(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", "fidelity.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "<!-- loops -->\n")
	table, _, _ := strings.Cut(rest, "<!-- loops end -->")
	rows := map[string][]string{}
	for _, line := range strings.Split(table, "\n") {
		if cells := strings.Split(strings.Trim(line, "| "), " | "); len(cells) == 4 {
			rows[cells[0]] = cells[1:]
		}
	}
	return rows
}

func TestPublishedLoops(t *testing.T) {
	exptest.Alone(t)
	documented := inDocument(t)
	for _, machine := range []struct {
		name  string
		loops []publishedLoop
	}{
		{"xeon-e5410", publishedLoops},
		{"opteron-246", publishedLoopsK8},
		{"pentium-m-1495", publishedLoopsBanias},
		{"xeon-e5410-i386", publishedLoopsE5410i386},
	} {
		for i, model := range []string{cpus.Throughput, cpus.Window} {
			m, err := planning.NewLoader().Machine(machine.name, ".", nil)
			if err != nil {
				t.Fatal(err)
			}
			m.CPU.Model = model
			for _, l := range machine.loops {
				within := map[string]float64{cpus.Throughput: l.throughput, cpus.Window: l.window}[model]
				got := loopCycles(t, m, l.code)
				t.Logf("%-15s %-10s  %-30s  published %5.1f  model %5.1f", m.Name, model, l.name, l.cycles, got)
				if math.Abs(got-l.cycles) > within {
					t.Errorf("%s, %s, %s: %.2f cycles, published %.1f", m.Name, model, l.name, got, l.cycles)
				}
				if machine.name != "xeon-e5410" {
					continue
				}
				want := []string{fmt.Sprintf("%.1f", l.cycles), fmt.Sprintf("%.1f", got)}
				if row := documented[l.name]; len(row) != 3 || row[0] != want[0] || row[1+i] != want[1] {
					t.Errorf("docs/fidelity.md has %q for %q under %s, want %q", row, l.name, model, want)
				}
			}
		}
	}
}

// loopCycles runs a loop and returns the cycles of a warm repetition.
func loopCycles(t *testing.T, m *machines.Machine, code string) float64 {
	t.Helper()
	const pa, n = 0x200000, 10000
	b, err := hex.DecodeString(code)
	if err != nil {
		t.Fatal(err)
	}
	target := targets.Find(targets.List(), m.ISA)
	isa := target.ISA
	mem := mmu.NewMemory(16 << 20)
	space, err := target.Board.Space(isa)
	if err != nil {
		t.Fatal(err)
	}
	root, err := isa.Tables(mem, 15<<20, space.Maps)
	if err != nil {
		t.Fatal(err)
	}
	mem.Write(pa, b)
	at, data := space.Maps[len(space.Maps)-2].VA+pa, space.Heap+0x300000
	// rdi, rsi, rdx, rcx: two places in memory, an addend, the count
	args := func(n uint64) []uint64 { return []uint64{data, data + 0x1000, 0, n} }
	if isa.Bits == 32 { // arguments are in eax, edx, ecx: before the loop stands mov %eax, %edi
		at -= 2
		mem.Write(pa-2, []byte{0x89, 0xc7})
		args = func(n uint64) []uint64 { return []uint64{data, 0, n} }
	}
	c := isa.New(0, &m.CPU, cpus.Bus{Memory: mem, Root: root, Phase: func(uint64) uint8 { return 0 }})
	run := func(n uint64) clock.Ticks {
		c.Boot(at, data+0x8000, args(n)...)
		start := c.Now()
		c.Interrupt()
		for c.Run(1<<60).Reason != cpus.Halted {
			t.Fatal("the loop does not end")
		}
		return c.Now() - start
	}
	run(n)
	return float64(run(2*n)-run(n)) / n / float64(clock.PerCycle)
}
