package experiments_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/cpus/cpustest"
	"kprobesim/experiments/exptest"
	"kprobesim/experiments/planning"
	"kprobesim/internal/clock"
	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
	"kprobesim/machines"
	"kprobesim/targets"
)

// Four things that 64 more instructions may do to a loop of a Xeon E5410, with what they add. Loads and
// multiplications follow from the latencies and rates of the published loops: one load a cycle, 3 cycles a
// dependent one, 5 a dependent multiplication of 64 bits, three operations a cycle.
func TestAppendedInstructions(t *testing.T) {
	exptest.Alone(t)
	m := loopMachine(t, "xeon-e5410")
	const chain = "48893f" // mov %rdi,(%rdi)
	added := func(model, body string) float64 {
		m.CPU.Model = model
		empty := loopCycles(t, m, loopBytes(t, loopCode{Setup: chain}, 1))
		return loopCycles(t, m, loopBytes(t, loopCode{Setup: chain, Body: body}, 64)) - empty
	}
	table := "| 64 instructions | throughput | window | the core, about |\n|---|---|---|---|\n"
	for _, c := range []struct {
		name, body string
		cycles     float64
	}{
		{"independent loads", "488b07", 64},            // mov (%rdi),%rax
		{"dependent loads", "488b3f", 192},             // mov (%rdi),%rdi
		{"dependent multiplications", "480fafc2", 320}, // imul %rdx,%rax
		{"no operation", "90", 64.0 / 3},
	} {
		window := added(cpus.Window, c.body)
		require.That(t, !(math.Abs(window-c.cycles) > 0.1*c.cycles), "64 times %s: %.1f cycles more, want about %.0f", c.name, window, c.cycles)
		table += fmt.Sprintf("| %s | %.0f | %.0f | %.0f |\n", c.name, added(cpus.Throughput, c.body), window, c.cycles)
	}
	holdTable(t, "appended", table)
}

// publishedLoop is a loop and what it takes on the machines that it was timed on.
type publishedLoop struct {
	Group, Name, Text string
	Code              [2]loopCode // of 64 and of 32 bits
	Times             int         // copies of the body
	Units             float64     // of the figure in a copy
	Published         map[string]figure
}

// loopCode is a loop in hexadecimal: what comes before it once, its body, what puts pointers back after
// the copies of the body, and what stands behind the loop. keepsCount says that the body needs the register that
// loops count in elsewhere.
type loopCode struct {
	Setup, Body, Fix, After string
	KeepsCount              bool
}

// figure is a published time in cycles, and where it was read.
type figure struct {
	Cycles float64
	Source string
}

// loopMiss is a figure that the window model misses by more than loopTolerance: by how much, in percent of
// the figure, and for want of what. A miss that shrinks must be entered anew.
type loopMiss struct {
	Loop, Machine string
	Percent       float64
	Lacks         string
}

// loopTolerance is how far the window model may be from a figure, in percent.
const loopTolerance = 10

// loopFamily is machines that share loops.
type loopFamily struct {
	machines []string
	loops    []publishedLoop
	// cycles runs a loop and returns the cycles of a warm repetition.
	cycles func(t *testing.T, m *machines.Machine, c loopCode, times int) float64
}

// publishedLoops are loops that others timed on the same dies. The code is the assembled text, for
// 64 and for 32 bits; it names the registers of 64 bits. It stands times times, then come what puts a
// pointer back, dec %ecx, jnz and hlt. A figure is cycles for one of the units that the text holds.
//
// IL numbers are rows of InstLatx64 in the file that the machine's description names, MD is M. Desnoyers' thesis,
// and the descriptions explain the other names.
var publishedLoops = fromFile[publishedLoop]("loops.json")

// powerLoops are loops of a POWER5, assembled by GNU as. What they take follows from the latencies and units
// that GCC schedules by (gcc/config/rs6000/power5.md, by the name of a reservation), where they leave no choice:
// no measured loop of this processor was published. r3 and r4 point to memory, r5 is zero.
var powerLoops = fromFile[publishedLoop]("loops_power.json")

// loopMisses are the figures that the window model misses.
var loopMisses = fromFile[loopMiss]("loops_misses.json")

// fromFile reads a list of the folder testdata.
func fromFile[T any](file string) (all []T) {
	b, err := os.ReadFile(filepath.Join("testdata", file))
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil {
		panic(err) // the file is ours
	}
	return all
}

var loopFamilies = []loopFamily{
	{[]string{"xeon-e5410", "xeon-e5410-i386", "opteron-246", "pentium-m-1495"}, publishedLoops, codeCycles},
	{[]string{"power5-1656"}, powerLoops, powerCycles},
}

// loopMachines are the machines of all families.
func loopMachines() []string {
	var all []string
	for _, f := range loopFamilies {
		all = append(all, f.machines...)
	}
	return all
}

// loopsOf are the loops with a figure of a machine.
func loopsOf(machine string) (all []publishedLoop) {
	for _, f := range loopFamilies {
		for _, l := range f.loops {
			if _, ok := l.Published[machine]; ok {
				all = append(all, l)
			}
		}
	}
	return all
}

// loopName is a loop on a machine.
type loopName struct{ machine, loop string }

// loopResult is a loop on a machine: what the window model takes, and both models' errors in percent.
type loopResult struct {
	window                float64
	windowOff, throughOff float64
}

// TestPublishedLoops holds the window model against every published figure, and the tables of
// docs/fidelity.md against both models.
func TestPublishedLoops(t *testing.T) {
	exptest.Alone(t)
	results := map[string]map[string]loopResult{} // by machine and loop
	file, rows := filepath.Join("testdata", "loops.csv"), "group,loop,machine,published,window,error %\n"
	whole := exptest.Updating() || hosttools.Whole(t, "all published loops by both models", "every second one by the window model")
	for _, family := range loopFamilies {
		models := []string{cpus.Window, cpus.Throughput}
		if !whole {
			family.loops, models = everySecond(family.loops), models[:1]
		}
		for _, name := range family.machines {
			results[name] = family.results(t, name, models)
		}
		rows += family.loopRows(results)
	}
	holdMisses(t, results)
	if !whole {
		require.Among(t, file, rows)
		return
	}
	holdText(t, file, rows)
	holdTable(t, "loop counts", loopCounts(results))
	holdTable(t, "loop misses", missTable(results))
}

// everySecond is half of a list.
func everySecond[T any](all []T) (half []T) {
	for i := 0; i < len(all); i += 2 {
		half = append(half, all[i])
	}
	return half
}

// results runs the loops of a machine that have a figure, under some models.
func (f *loopFamily) results(t *testing.T, name string, models []string) map[string]loopResult {
	t.Helper()
	m, results := loopMachine(t, name), map[string]loopResult{}
	for _, l := range f.loops {
		p, ok := l.Published[name]
		if !ok {
			continue
		}
		cycles := map[string]float64{}
		for _, model := range models {
			cycles[model] = f.time(t, m, model, l)
		}
		off := func(model string) float64 { return 100 * (cycles[model] - p.Cycles) / p.Cycles }
		results[l.Name] = loopResult{cycles[cpus.Window], off(cpus.Window), off(cpus.Throughput)}
	}
	return results
}

// holdMisses wants every error within the tolerance or listed.
func holdMisses(t *testing.T, results map[string]map[string]loopResult) {
	t.Helper()
	listed := map[loopName]loopMiss{}
	for _, m := range loopMisses {
		listed[loopName{m.Machine, m.Loop}] = m
	}
	for machine, loops := range results {
		for loop, r := range loops {
			at := loopName{machine, loop}
			m, isListed := listed[at]
			delete(listed, at)
			switch missed := math.Abs(r.windowOff) > loopTolerance; {
			case missed != isListed:
				t.Errorf("%s, %s: %.2f cycles, %+.0f %% off; listed as a miss: %t", machine, loop, r.window, r.windowOff, isListed)
			case missed && math.Abs(r.windowOff-m.Percent) > 1:
				t.Errorf("%s, %s: %+.0f %% off, listed as %+.0f %%", machine, loop, r.windowOff, m.Percent)
			}
		}
	}
	for at := range listed {
		if slices.ContainsFunc(loopsOf(at.machine), func(l publishedLoop) bool { return l.Name == at.loop }) {
			continue // it was not run
		}
		t.Errorf("a miss is listed for %s, which has no such loop", at)
	}
}

// loopCounts says how many figures either model meets.
func loopCounts(results map[string]map[string]loopResult) string {
	b := "| machine | figures | window within 10 % | throughput within 10 % |\n|---|---|---|---|\n"
	for _, machine := range loopMachines() {
		window, throughput := 0, 0
		for _, r := range results[machine] {
			if math.Abs(r.windowOff) <= loopTolerance {
				window++
			}
			if math.Abs(r.throughOff) <= loopTolerance {
				throughput++
			}
		}
		b += fmt.Sprintf("| %s | %d | %d | %d |\n", machine, len(results[machine]), window, throughput)
	}
	return b
}

// loopRows has a row a figure of a machine: its published cycles, the window model's, and the error.
func (f *loopFamily) loopRows(results map[string]map[string]loopResult) string {
	b := ""
	for _, l := range f.loops {
		for _, machine := range f.machines {
			if p, ok := l.Published[machine]; ok {
				r := results[machine][l.Name]
				b += fmt.Sprintf("%q,%q,%s,%g,%.2f,%+.0f\n", l.Group, l.Name, machine, p.Cycles, r.window, r.windowOff)
			}
		}
	}
	return b
}

// missTable lists the misses by what is missing, with the loops and their machines.
func missTable(results map[string]map[string]loopResult) string {
	var order []string
	loops, errors := map[string][]string{}, map[string]string{} // by what is missing; by that and the loop
	for _, m := range loopMisses {
		at := m.Lacks + m.Loop
		if loops[m.Lacks] == nil {
			order = append(order, m.Lacks)
		}
		if errors[at] == "" {
			loops[m.Lacks] = append(loops[m.Lacks], m.Loop)
		}
		errors[at] += fmt.Sprintf(", %s %+.0f", m.Machine, results[m.Machine][m.Loop].windowOff)
	}
	b := "| what is missing | loops, and their errors in % |\n|---|---|\n"
	for _, lacks := range order {
		var cells []string
		for _, l := range loops[lacks] {
			cells = append(cells, l+": "+strings.TrimPrefix(errors[lacks+l], ", "))
		}
		b += fmt.Sprintf("| %s | %s |\n", lacks, strings.Join(cells, "; "))
	}
	return b
}

// holdTable compares a generated table of docs/fidelity.md, or writes it.
func holdTable(t *testing.T, name, want string) {
	t.Helper()
	file := filepath.Join("..", "docs", "fidelity.md")
	text := require.Must(os.ReadFile(file))(t)
	begin, end := "<!-- "+name+" -->\n", "<!-- "+name+" end -->"
	before, rest, _ := strings.Cut(string(text), begin)
	_, after, ok := strings.Cut(rest, end)
	require.Need(t, ok, "docs/fidelity.md has no table between %q and %q", begin, end)
	holdText(t, file, before+begin+want+end+after)
}

// holdText compares a generated file, or writes it.
func holdText(t *testing.T, file, want string) {
	t.Helper()
	switch have, err := os.ReadFile(file); {
	case err == nil && string(have) == want:
	case exptest.Updating():
		require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
	default:
		t.Errorf("%s is not up to date (%v): go test ./experiments -run 'TestPublishedLoops|TestAppended|TestNeeded' -update", file, err)
	}
}

func loopMachine(t *testing.T, name string) *machines.Machine {
	t.Helper()
	m := require.Must(planning.NewLoader().Machine(name, ".", nil))(t)
	return m
}

// TestFrontEndKeys takes parts of the front end away one by one, each of which some loop depends on.
func TestFrontEndKeys(t *testing.T) {
	exptest.Alone(t)
	for _, c := range []struct {
		machine, loop string
		change        func(c *cpus.Config)
		cycles        float64
	}{
		// fetch of one window and a bubble in place of the buffer; the same when a loop is too long for it
		{"xeon-e5410", "empty loop", func(c *cpus.Config) { c.FrontEnd.LoopBuffer = 0 }, 2},
		{"xeon-e5410", "empty loop", func(c *cpus.Config) { c.FrontEnd.LoopBuffer = 1 }, 2},
		// two additions to the stack pointer for a push and a pop
		{"xeon-e5410", "push and pop, independent", func(c *cpus.Config) { c.FrontEnd.StackEngine = false }, 2},
		// every one waits for the one before
		{"xeon-e5410", "xor with itself", func(c *cpus.Config) { c.FrontEnd.ZeroIdioms = false }, 1},
		// no return is mispredicted, and 40 calls take what one takes 40 times
		{"xeon-e5410", "calls of depth 40", func(c *cpus.Config) { c.Predictor.ReturnStack = 64 }, 160},
		// two multiplications a cycle, of which each fourth waits for the one before
		{"xeon-e5410", "imul of 32 bits, independent", func(c *cpus.Config) { c.Ports["multiplier"] = clock.PerCycle / 2 }, 0.75},
		{"opteron-246", "push", func(c *cpus.Config) { c.FrontEnd.StackEngine = true }, 0.5},
		{"pentium-m-1495", "push and pop, independent", func(c *cpus.Config) { c.FrontEnd.StackEngine = false }, 2},
	} {
		m := loopMachine(t, c.machine)
		c.change(&m.CPU)
		l := publishedLoops[slices.IndexFunc(publishedLoops, func(l publishedLoop) bool { return l.Name == c.loop })]
		got := loopTime(t, m, cpus.Window, l)
		require.That(t, !(math.Abs(got-c.cycles) > 0.1*c.cycles), "%s, %s: %.2f cycles, want %.2f", c.machine, c.loop, got, c.cycles)
	}
}

// loopTime is the cycles of a unit of one of publishedLoops.
func loopTime(t *testing.T, m *machines.Machine, model string, l publishedLoop) float64 {
	t.Helper()
	return loopFamilies[0].time(t, m, model, l)
}

// time is the cycles of a unit of a loop on a machine under a model.
func (f *loopFamily) time(t *testing.T, m *machines.Machine, model string, l publishedLoop) float64 {
	t.Helper()
	m.CPU.Model = model
	c := l.Code[0]
	if targets.Find(targets.List(), m.ISA).ISA.Bits == 32 {
		c = l.Code[1]
	}
	return f.cycles(t, m, c, l.Times) / (float64(l.Times) * l.Units)
}

func codeCycles(t *testing.T, m *machines.Machine, c loopCode, times int) float64 {
	t.Helper()
	return loopCycles(t, m, loopBytes(t, c, times))
}

// loopBytes puts a loop together.
func loopBytes(t *testing.T, c loopCode, times int) []byte {
	t.Helper()
	setup := fromHex(t, c.Setup)
	body := append(bytes.Repeat(fromHex(t, c.Body), times), fromHex(t, c.Fix)...)
	body = append(body, 0xff, 0xc9) // dec %ecx
	if back := -(len(body) + 2); back >= -128 {
		body = append(body, 0x75, byte(back))
	} else {
		body = binary.LittleEndian.AppendUint32(append(body, 0x0f, 0x85), uint32(-(len(body) + 6)))
	}
	return append(append(append(setup, body...), 0xf4), fromHex(t, c.After)...)
}

func fromHex(t *testing.T, s string) []byte {
	t.Helper()
	b := require.Must(hex.DecodeString(s))(t)
	return b
}

// loopCycles runs a loop and returns the cycles of a warm repetition.
func loopCycles(t *testing.T, m *machines.Machine, code []byte) float64 {
	t.Helper()
	const pa = 0x200000
	target := targets.Find(targets.List(), m.ISA)
	isa := target.ISA
	mem := cpustest.Memory(t, 16<<20)
	space := require.Must(target.Board.Space(isa))(t)
	root := require.Must(isa.Tables(mem, 15<<20, space.Maps))(t)
	mem.Write(pa, code)
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
		if x := c.Run(1 << 60); x.Reason != cpus.Halted {
			t.Fatalf("the loop does not end: %x: %v", code, x)
		}
		return c.Now() - start
	}
	return warmCycles(run)
}

// warmCycles returns the cycles of a repetition, of a function that gives the time of so many.
func warmCycles(run func(n uint64) clock.Ticks) float64 {
	const n = 1000
	for range 3 { // the predictor has to see the end of the loop more than once
		run(n)
	}
	return float64(run(2*n)-run(n)) / n / float64(clock.PerCycle)
}
