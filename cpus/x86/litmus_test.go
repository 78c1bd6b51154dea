package x86

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/mmu"
)

// litmus is a program for several CPUs and what its loads may find, by the ordering rules of the manual (SDM vol. 3, 8.2).
// Shared words begin as zero. Registers are eax and ebx.
type litmus struct {
	name    string
	section string
	cpus    []string // of a CPU its instructions, by their names in litmusCode
	final   string   // words that are read in the end
	allowed []string // what registers of the CPUs hold, and these words
}

// litmusCode has the instructions of litmus tests. The words x, y and z lie in lines of their own behind rdi.
var litmusCode = map[string][]byte{
	"x=1":      {0xc7, 0x07, 1, 0, 0, 0},       // movl $1,(%rdi)
	"x=2":      {0xc7, 0x07, 2, 0, 0, 0},       // movl $2,(%rdi)
	"y=1":      {0xc7, 0x47, 0x40, 1, 0, 0, 0}, // movl $1,0x40(%rdi)
	"a=x":      {0x8b, 0x07},                   // mov (%rdi),%eax
	"a=y":      {0x8b, 0x47, 0x40},             // mov 0x40(%rdi),%eax
	"b=x":      {0x8b, 0x1f},                   // mov (%rdi),%ebx
	"b=y":      {0x8b, 0x5f, 0x40},             // mov 0x40(%rdi),%ebx
	"mfence":   {0x0f, 0xae, 0xf0},             //
	"cpuid":    {0x0f, 0xa2},                   // which serializes
	"a=1":      {0xb8, 1, 0, 0, 0},             // mov $1,%eax
	"xchg x":   {0x87, 0x07},                   // xchg %eax,(%rdi)
	"xchg y":   {0x87, 0x47, 0x40},             // xchg %eax,0x40(%rdi)
	"x--":      {0xff, 0x0f},                   // decl (%rdi)
	"lock x--": {0xf0, 0xff, 0x0f},             // lock decl (%rdi)
	"lock z++": {0xf0, 0xff, 0x47, 0x7c},       // lock incl 0x7c(%rdi)
	"halfword": {0x66, 0xc7, 0x07, 1, 0},       // movw $1,(%rdi)
}

// litmusTests has the manual's examples, in its order, and some for what drains a buffer.
var litmusTests = []litmus{
	{"two stores are seen in order", "8.2.3.2", []string{"x=1 y=1", "a=y b=x"}, "", []string{"00", "01", "11"}},
	{"a store does not go before an older load", "8.2.3.3", []string{"a=x y=1", "a=y x=1"}, "", []string{"0 0", "0 1", "1 0"}},
	{"a load goes before an older store", "8.2.3.4", []string{"x=1 a=y", "y=1 a=x"}, "", []string{"0 0", "0 1", "1 0", "1 1"}},
	{"but not to the same place", "8.2.3.4", []string{"x=1 a=x"}, "", []string{"1"}},
	{"a CPU sees its own stores first", "8.2.3.5", []string{"x=1 a=x b=y", "y=1 a=y b=x"}, "", []string{"10 10", "10 11", "11 10", "11 11"}},
	{
		"stores are seen transitively", "8.2.3.6",
		[]string{"x=1", "a=x y=1", "a=y b=x"},
		"",
		[]string{"0 00", "0 01", "0 10", "0 11", "1 00", "1 01", "1 11"},
	},
	{
		"all others see stores in one order", "8.2.3.7",
		[]string{"x=1", "y=1", "a=x b=y", "a=y b=x"},
		"",
		[]string{"00 00", "00 01", "00 10", "00 11", "01 00", "01 01", "01 10", "01 11", "10 00", "10 01", "10 11", "11 00", "11 01", "11 10", "11 11"},
	},
	{
		"locked instructions have one order", "8.2.3.8",
		[]string{"a=1 xchg x", "a=1 xchg y", "a=x b=y", "a=y b=x"},
		"",
		[]string{
			"0 0 00 00", "0 0 00 01", "0 0 00 10", "0 0 00 11", "0 0 01 00", "0 0 01 01", "0 0 01 10", "0 0 01 11", "0 0 10 00",
			"0 0 10 01", "0 0 10 11", "0 0 11 00", "0 0 11 01", "0 0 11 10", "0 0 11 11",
		},
	},
	{"loads do not go before locked instructions", "8.2.3.9", []string{"a=1 xchg x b=y", "a=1 xchg y b=x"}, "", []string{"00 01", "01 00", "01 01"}},
	{"stores do not either", "8.2.3.9", []string{"a=1 xchg x y=1", "a=y b=x"}, "", []string{"0 00", "0 01", "0 11"}},
	{"a fence drains", "8.2.5", []string{"x=1 mfence a=y", "y=1 mfence a=x"}, "", []string{"0 1", "1 0", "1 1"}},
	{"a serializing instruction drains", "8.3", []string{"x=1 cpuid a=y", "y=1 cpuid a=x"}, "", []string{"0 1", "1 0", "1 1"}},
	{"one fence does not do", "8.2.5", []string{"x=1 mfence a=y", "y=1 a=x"}, "", []string{"0 0", "0 1", "1 0", "1 1"}},
	{"a locked instruction elsewhere drains", "8.2.5", []string{"x=1 lock z++ a=y", "y=1 lock z++ a=x"}, "", []string{"0 1", "1 0", "1 1"}},
	{"a decrement may be lost", "8.1.1", []string{"x--", "x--"}, "x", []string{"-1", "-2"}},
	{"a locked one is not", "8.1.2", []string{"lock x--", "lock x--"}, "x", []string{"-2"}},
	{"the last store stays", "8.2.3.2", []string{"x=1", "x=2"}, "x", []string{"1", "2"}},
	{"a part of what was stored is found", "8.2.2", []string{"x=1 halfword a=x"}, "x", []string{"1 1"}},
}

// TestLitmus tries every order of instructions and drained stores. Each outcome that the manual allows is there, and no other.
func TestLitmus(t *testing.T) {
	for _, l := range litmusTests {
		t.Run(l.name, func(t *testing.T) {
			found := outcomes(t, &l)
			want := slices.Sorted(slices.Values(l.allowed))
			if !slices.Equal(found, want) {
				t.Errorf("SDM vol. 3, %s: %s: found %q, want %q", l.section, strings.Join(l.cpus, " | "), found, want)
			}
		})
	}
}

// litmusRun is one machine that runs the orders of a test, one after the other.
type litmusRun struct {
	l       *litmus
	w       *world
	cpus    []*CPU
	buffers []*mmu.StoreBuffer
	left    []int // instructions of each CPU that have not been executed
}

// outcomes runs all orders, each as a list of choices that the next one changes at its end.
func outcomes(t *testing.T, l *litmus) []string {
	w, all := neighbours(t, len(l.cpus), cpus.Throughput)
	r := &litmusRun{l: l, w: w, cpus: all}
	for i, c := range all {
		b := mmu.NewStoreBuffer(w.mem, 4, nil)
		c.BufferStores(b)
		r.buffers = append(r.buffers, b)
		r.left = append(r.left, 0)
		var code []byte
		for _, name := range split(l.cpus[i]) {
			code = append(code, litmusCode[name]...)
		}
		w.mem.Write(testCode-kernelMap+uint64(i)*0x1000, code)
	}
	found := map[string]bool{}
	for plan := []int{}; plan != nil; {
		outcome, ways := r.run(t, plan)
		found[outcome] = true
		for len(plan) < len(ways) {
			plan = append(plan, 0)
		}
		for i := len(plan) - 1; ; i-- {
			if i < 0 {
				return slices.Sorted(maps.Keys(found))
			}
			if plan = plan[:i+1]; plan[i]+1 < ways[i] {
				plan[i]++
				break
			}
		}
	}
	return nil
}

// split takes the instructions of a program apart; some have a blank in their names.
func split(program string) (names []string) {
	for words := strings.Fields(program); len(words) > 0; {
		n := 1
		if len(words) > 1 && litmusCode[words[0]+" "+words[1]] != nil {
			n = 2
		}
		names = append(names, strings.Join(words[:n], " "))
		words = words[n:]
	}
	return names
}

// run follows a plan and then takes the first way at each choice. ways is how many there were.
func (r *litmusRun) run(t *testing.T, plan []int) (outcome string, ways []int) {
	r.reset()
	for {
		moves := r.moves()
		if len(moves) == 0 {
			return r.outcome(), ways
		}
		chosen := 0
		if n := len(ways); n < len(plan) {
			chosen = plan[n]
		}
		ways = append(ways, len(moves))
		moves[chosen](t)
	}
}

func (r *litmusRun) reset() {
	r.w.mem.Write(testData-directMap, make([]byte, 256))
	for i, c := range r.cpus {
		c.R[rRIP] = testCode + uint64(i)*0x1000
		c.R[rax], c.R[rbx], c.R[rcx], c.R[rdi] = 0, 0, 0, r.w.at(testData)
		r.left[i] = len(split(r.l.cpus[i]))
	}
}

// moves lists what may come next: an instruction of a CPU, or its oldest store is seen.
func (r *litmusRun) moves() (moves []func(*testing.T)) {
	for i, c := range r.cpus {
		if b := r.buffers[i]; b.Held() > 0 {
			moves = append(moves, func(*testing.T) { b.Drain(1) })
		}
		if r.left[i] > 0 {
			moves = append(moves, func(t *testing.T) {
				r.left[i]--
				r.buffers[i].Show()
				if n, e := c.Steps(1, 1<<60); n != 1 || e.Reason != cpus.Limit {
					t.Fatalf("cpu %d stopped: %+v", i, e)
				}
				r.buffers[i].Hide()
			})
		}
	}
	return moves
}

// outcome tells the registers that each CPU loads, and the words of memory that are asked for.
func (r *litmusRun) outcome() string {
	var all []string
	for i, c := range r.cpus {
		s := ""
		for _, x := range []struct {
			name string
			reg  int
		}{{"a=", rax}, {"b=", rbx}} {
			if p := " " + r.l.cpus[i]; strings.Contains(p, " "+x.name) {
				s += fmt.Sprint(uint32(c.R[x.reg]))
			}
		}
		if s != "" {
			all = append(all, s)
		}
	}
	if r.l.final == "x" {
		all = append(all, fmt.Sprint(int32(r.w.mem.Load(r.w.isa.Order, testData-directMap, 4))))
	}
	return strings.Join(all, " ")
}
