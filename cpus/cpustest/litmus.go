package cpustest

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"kprobesim/cpus"
	"kprobesim/internal/hosttools"
	"kprobesim/mmu"
)

// Litmus is a program for several CPUs and what its loads may find, by the ordering rules of a manual. Shared words begin as zero.
type Litmus struct {
	Name    string
	Section string
	CPUs    []string // of a CPU its steps, by names that the machine knows; one that loads begins with a register and "="
	Final   string   // words that are read in the end
	Allowed []string // what registers of the CPUs hold, and these words
	Missed  []string // what the manual allows beside, and the model does not reach
}

// LitmusMachine runs litmus tests of an instruction set. Its CPUs have buffers, and have read a shared word.
type LitmusMachine struct {
	Memory  *mmu.Memory
	CPUs    []cpus.CPU
	Buffers []*mmu.StoreBuffer
	Weak    bool
	// Code is the instructions of a step. Their number is that of its elements.
	Code func(step string) [][]byte
	// Place is where the code of a CPU lies.
	Place func(cpu int) uint64
	// Reset has a CPU begin with its code and gives its registers their values. It clears the shared words, too.
	Reset func(cpu int)
	// Register is a register that a step loads, and Word a shared word, each as text.
	Register func(cpu int, name string) string
	Word     func(name string) string
}

// RunLitmus tries every order of instructions and drained stores. Each outcome that the manual allows is there, but those that the model
// is known to miss, and no other.
func RunLitmus(t *testing.T, tests []Litmus, build func(*testing.T, *Litmus) *LitmusMachine) {
	for i := range tests {
		l := &tests[i]
		if len(l.CPUs) > 3 && !hosttools.Whole(t, "litmus tests on four CPUs, which have most orders", "those on two and three") {
			continue
		}
		t.Run(l.Name, func(t *testing.T) {
			found := (&litmusRun{LitmusMachine: build(t, l), t: t, l: l}).outcomes()
			want := slices.Sorted(slices.Values(l.Allowed))
			if !slices.Equal(found, want) {
				t.Errorf("%s: %s: found %q, want %q", l.Section, strings.Join(l.CPUs, " | "), found, want)
			}
			for _, m := range l.Missed {
				if slices.Contains(want, m) {
					t.Errorf("%s is both reached and missed", m)
				}
			}
		})
	}
}

// litmusRun is one machine that runs the orders of a test, one after the other.
type litmusRun struct {
	*LitmusMachine
	t     *testing.T
	l     *Litmus
	loads [][]bool // of each CPU: its instructions, and whether they load
	done  []int    // instructions of each CPU that have been executed
	plan  []int
	ways  []int
}

// outcomes runs all orders, each as a list of choices that the next one changes at its end.
func (r *litmusRun) outcomes() []string {
	r.write()
	found := map[string]bool{}
	for {
		found[r.run()] = true
		for len(r.plan) < len(r.ways) {
			r.plan = append(r.plan, 0)
		}
		i := len(r.plan) - 1
		for ; i >= 0 && r.plan[i]+1 == r.ways[i]; i-- {
		}
		if i < 0 {
			return slices.Sorted(maps.Keys(found))
		}
		r.plan = r.plan[:i+1]
		r.plan[i]++
	}
}

// write puts the programs into memory.
func (r *litmusRun) write() {
	for i, program := range r.l.CPUs {
		var code []byte
		var loads []bool
		for _, step := range strings.Fields(program) {
			for _, insn := range r.Code(step) {
				code = append(code, insn...)
				loads = append(loads, len(step) > 1 && step[1] == '=' && step[0] <= 'c')
			}
		}
		r.Memory.Write(r.Place(i), code)
		r.loads, r.done = append(r.loads, loads), append(r.done, 0)
	}
}

// choose is one of n ways: that of the plan, or the first one behind its end.
func (r *litmusRun) choose(n int) int {
	chosen := 0
	if at := len(r.ways); at < len(r.plan) {
		chosen = r.plan[at]
	}
	r.ways = append(r.ways, n)
	return chosen
}

// run follows the plan and then takes the first way at each choice.
func (r *litmusRun) run() string {
	r.ways = r.ways[:0]
	for i, b := range r.Buffers {
		b.DrainAll()
		b.SeeAll()
		r.Reset(i)
		r.done[i] = 0
	}
	for {
		moves := r.moves()
		if len(moves) == 0 {
			return r.outcome()
		}
		moves[r.choose(len(moves))]()
	}
}

// moves lists what may come next: an instruction of a CPU, or a store is seen.
func (r *litmusRun) moves() (moves []func()) {
	for i, b := range r.Buffers {
		if r.Weak {
			b.DrainWhere(func(number uint64) bool {
				moves = append(moves, func() { b.DrainWhere(func(n uint64) bool { return n == number }) })
				return false
			})
		} else if b.Held() > 0 {
			moves = append(moves, func() { b.Drain(1) })
		}
		if r.done[i] < len(r.loads[i]) {
			moves = append(moves, func() { r.step(i) })
		}
	}
	return moves
}

// step executes an instruction. In front of a load the CPU may see stores of others.
func (r *litmusRun) step(cpu int) {
	b := r.Buffers[cpu]
	if r.Weak && r.loads[cpu][r.done[cpu]] {
		b.SeeWhere(func(int, uint64) bool { return r.choose(2) == 1 })
	}
	r.done[cpu]++
	b.Show()
	if n, e := r.CPUs[cpu].Steps(1, 1<<60); n != 1 || e.Reason != cpus.Limit {
		r.t.Fatalf("cpu %d stopped: %+v", cpu, e)
	}
	b.Hide()
}

// outcome tells the registers that each CPU loads, and the words of memory that are asked for.
func (r *litmusRun) outcome() string {
	var all []string
	for i, program := range r.l.CPUs {
		s := ""
		for _, name := range []string{"a", "b", "c"} {
			if p := " " + program; strings.Contains(p, " "+name+"=") {
				s += r.Register(i, name)
			}
		}
		if s != "" {
			all = append(all, s)
		}
	}
	for _, name := range strings.Fields(r.l.Final) {
		all = append(all, r.Word(name))
	}
	return strings.Join(all, " ")
}
