package races

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"

	"kprobesim/cpus"
)

// Pair is two accesses of different CPUs and tasks to one word of the kernel, of which at least one is a store, and between which nobody
// stored into the word. Places are instructions by their last bytes, as function+offset, or functions of Go.
type Pair struct {
	First string `json:"first"`
	Then  string `json:"then"`
}

// sharing sees the pairs of one machine. It is the debugger of its CPUs, which tell it of every access to kernel memory.
type sharing struct {
	t        *trial
	stack    uint64 // bytes of a stack
	symbol   func(addr uint64) string
	words    map[uint64]*shared
	schedule int // whose accesses words have
	had      map[[2]accessPlace]bool
	found    []Pair // in this schedule, and in none before it
	goPlaces map[string]accessPlace
	goNames  []string
	goStacks map[goStack]accessPlace
}

// accessPlace is the address behind an instruction, or the number of a function of Go.
type accessPlace uint64

// toucher is who accesses a word, and where. The zero toucher is nobody.
type toucher struct {
	at   accessPlace
	task uint64
	cpu  int
}

// shared has the last store into a word and what each CPU has loaded since.
type shared struct {
	schedule int
	stored   toucher
	loaded   [maxCPUs]toucher
}

// wordSize is the size of what counts as one word: of no instruction set is a word of the kernel smaller.
const wordSize = 4

// share has the pairs of a machine seen, before its first instruction.
func (t *trial) share() (*sharing, error) {
	stack, err := t.l.im.Enum("THREAD_SIZE")
	x := newSharing(t.m.Image().SymbolText)
	x.t, x.stack = t, uint64(stack)
	kernel := [2]uint64{1 << (t.l.im.Bits - 1), math.MaxUint64} // of 32 bits none is as high
	for i := range t.m.CPUs() {
		t.m.CPU(i).Debug(x, cpus.Stops{Data: [][2]uint64{kernel}, At: math.MaxInt64})
	}
	t.m.WatchGo(x.goAccessed)
	return x, err
}

func newSharing(symbol func(addr uint64) string) *sharing {
	return &sharing{
		symbol: symbol, words: map[uint64]*shared{}, had: map[[2]accessPlace]bool{},
		goPlaces: map[string]accessPlace{}, goNames: []string{""}, goStacks: map[goStack]accessPlace{},
	}
}

// take returns the pairs that are new since it was called last. It is called at both ends of a schedule.
func (x *sharing) take() (found []Pair) {
	found, x.found = x.found, nil
	x.schedule++
	return found
}

// Before and Reached implement cpus.Debugger.
func (x *sharing) Before(int)  {}
func (x *sharing) Reached(int) {}

// Accessed implements cpus.Debugger. The program counter is behind the instruction already. What a CPU has on its own stack is its own;
// struct thread_info at the bottom of it is not. A push stores below the stack pointer.
func (x *sharing) Accessed(cpu int, va uint64, n int, write bool) {
	c := x.t.m.CPU(cpu)
	if sp := c.SP(); !x.t.e.active || va/x.stack == sp/x.stack && va+16 > sp {
		return
	}
	x.access(toucher{accessPlace(c.PC()), x.t.checker.calls.current[cpu], cpu}, va, n, write)
}

// access looks for the pairs that end with an access.
func (x *sharing) access(by toucher, va uint64, n int, write bool) {
	for at := va / wordSize; at <= (va+uint64(n)-1)/wordSize; at++ {
		w := x.words[at]
		if w == nil {
			w = new(shared)
			x.words[at] = w
		}
		if w.schedule != x.schedule {
			*w = shared{schedule: x.schedule}
		}
		x.pair(w.stored, by)
		if !write {
			w.loaded[by.cpu] = by
			continue
		}
		for i := range w.loaded {
			x.pair(w.loaded[i], by)
		}
		*w = shared{schedule: x.schedule, stored: by}
	}
}

// pair notes two accesses in their order, unless one task made both.
func (x *sharing) pair(first, then toucher) {
	key := [2]accessPlace{first.at, then.at}
	if first.at == 0 || first.cpu == then.cpu || first.task == then.task || x.had[key] {
		return
	}
	x.had[key] = true
	x.found = append(x.found, Pair{x.name(first.at), x.name(then.at)})
}

// name is the text of a place.
func (x *sharing) name(p accessPlace) string {
	if p < accessPlace(len(x.goNames)) {
		return x.goNames[p]
	}
	return x.symbol(uint64(p) - 1)
}

// goStack is the innermost calls of Go, from which its place follows.
type goStack [10]uintptr

// goAccessed is told of what Go reads and writes. What the search itself looks at is not the kernel's.
func (x *sharing) goAccessed(cpu int, va uint64, n int, write bool) {
	var stack goStack
	calls := runtime.Callers(3, stack[:])
	at, ok := x.goStacks[stack]
	if !ok {
		at = x.goPlace(stack[:calls])
		x.goStacks[stack] = at
	}
	if at != 0 && x.t.e.active {
		x.access(toucher{at, x.t.checker.calls.current[cpu], cpu}, va, n, write)
	}
}

// goPlace finds the function of the kernel that accesses memory, 0 for none.
func (x *sharing) goPlace(stack []uintptr) accessPlace {
	frames := runtime.CallersFrames(stack)
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		name := strings.TrimPrefix(f.Function, "kprobesim/")
		switch pkg, _, _ := strings.Cut(name, "."); {
		case pkg == "sim" || pkg == "image" || strings.HasPrefix(name, "kprobes.(*memory)"):
			continue
		case pkg != "smp" && pkg != "kprobes":
			return 0
		}
		name, _, _ = strings.Cut(name, ".func") // compilers number functions without a name
		name = strings.NewReplacer("(*Kernel).", "", "(*Kprobes).", "").Replace(name)
		if x.goPlaces[name] == 0 {
			x.goPlaces[name] = accessPlace(len(x.goNames))
			x.goNames = append(x.goNames, name)
		}
		return x.goPlaces[name]
	}
	return 0
}

// pairs counts pairs whatever their order, and those that were seen in both. It lists the functions of the others, those first of which
// most instructions were seen in one order.
func (c *Coverage) pairs() (all, both int, one []Pair, times map[Pair]int) {
	times = map[Pair]int{}
	seen := map[Pair]bool{}
	for _, p := range c.Pairs {
		seen[p] = true
	}
	for _, p := range c.Pairs {
		switch back := (Pair{p.Then, p.First}); {
		case !seen[back]:
			all++
		case p.First <= p.Then:
			all++
			both++
			continue
		default:
			continue
		}
		f := Pair{function(p.First), function(p.Then)}
		if times[f]++; times[f] == 1 {
			one = append(one, f)
		}
	}
	slices.SortStableFunc(one, func(a, b Pair) int { return times[b] - times[a] })
	return all, both, one, times
}

// function is the function of a place.
func function(place string) string {
	name, _, _ := strings.Cut(place, "+")
	return name
}

// mostPairs is the number of pairs of functions that a report has.
const mostPairs = 20

// writePairs prints how many pairs there are, and those that came in one order only by their functions.
func (c *Coverage) writePairs(to *strings.Builder) {
	all, both, one, times := c.pairs()
	fmt.Fprintf(to, "%d pairs of accesses to a word by two CPUs, %d of them in both orders; in one order only", all, both)
	for i, p := range one {
		if i == mostPairs {
			fmt.Fprintf(to, "\n  and %d more pairs of functions", len(one)-i)
			break
		}
		fmt.Fprintf(to, "\n%6d  %s, then %s", times[p], p.First, p.Then)
	}
	to.WriteString("\n")
}
