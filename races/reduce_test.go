package races

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// toyOp is an access of a toy thread to a word.
type toyOp struct {
	word  uint64
	write bool
}

// toyThreads are programs of a toy machine whose every instruction is hot and accesses a word. A CPU each executes one.
type toyThreads [][]toyOp

// toyOpLength has a few instructions of the toy fill a turn.
const toyOpLength = planTurn / 4

// run executes a plan and returns what each thread has read and what memory holds in the end: the numbers of instructions that wrote it.
func (all toyThreads) run(x *bounded, sees bool) string {
	at, memory, read := make([]int, len(all)), map[uint64]int{}, make([][]int, len(all))
	x.follows(func(cpu int) spot { return spot{insns: uint64(at[cpu]) * toyOpLength} })
	x.begin(0)
	x.log.sees = sees
	x.log.begin()
	p := point{last: -1}
	for {
		p.runnable = p.runnable[:0]
		for i := range all {
			if at[i] < len(all[i]) {
				p.runnable = append(p.runnable, i)
			}
		}
		if len(p.runnable) == 0 {
			return fmt.Sprint(read, memory)
		}
		x.passed(&p)
		cpu, _ := x.next(&p)
		op := all[cpu][at[cpu]]
		if at[cpu]++; op.write {
			memory[op.word] = cpu*100 + at[cpu]
		} else {
			read[cpu] = append(read[cpu], memory[op.word])
		}
		x.log.own(func(f *footprint) { f.access(op.word*wordSize, 1, op.write) })
		x.log.others(cpu, func(w *window) { w.access(op.word*wordSize, 1, op.write) })
		p.last, p.hot = cpu, true
	}
}

// outcomes are the results of all plans that are run, with how many do the same as one of those.
func (all toyThreads) outcomes(t *testing.T, sees bool, preemptions int) (map[string]bool, Tally) {
	found := map[string]bool{}
	opt := Options{Policy: Exhaustive, Preemptions: preemptions, Schedules: 1 << 40, Workers: 1}
	tally, err := search(&opt, func(c chooser, first, _ uint64) ([]Outcome, error) {
		if b := c.(*bounded); b.log.segments || b.log.from <= 1 {
			found[all.run(b, sees)] = true
		}
		return []Outcome{{N: first}}, nil
	})
	require.Need(t, err == nil && tally.Complete, "%v, complete %v", err, tally.Complete)
	return found, tally
}

// TestNoOutcomeIsLeftOut runs random programs by all plans, and by those that are left when plans are left out that do the same as another
// one: what can come out is the same, and every plan is counted.
func TestNoOutcomeIsLeftOut(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 8))
	saved, both := uint64(0), uint64(0)
	for range 150 {
		threads := make(toyThreads, 2+r.IntN(2))
		words := 1 + r.IntN(4)
		for i := range threads {
			for range 1 + r.IntN(9) {
				word := uint64(r.IntN(words))
				if r.IntN(3) > 0 {
					word = uint64(10 + i) // nobody else's
				}
				threads[i] = append(threads[i], toyOp{word, r.IntN(2) == 0})
			}
		}
		for preemptions := range 3 {
			want, all := threads.outcomes(t, false, preemptions)
			got, some := threads.outcomes(t, true, preemptions)
			require.Equal(t, fmt.Sprint(slices.Sorted(maps.Keys(got))), fmt.Sprint(slices.Sorted(maps.Keys(want))), "%v, %d preemptions", threads, preemptions)
			require.Equal(t, some.Schedules+some.Equal, all.Schedules+all.Equal, "plans of %v, %d preemptions", threads, preemptions)
			saved, both = saved+some.Equal, both+all.Schedules
		}
	}
	require.That(t, saved*2 > both, "%d of %d plans are left out", saved, both)
}

// final runs a plan and sums up all memory and registers in the end.
func final(t *testing.T, s *Scenario, v *Variant, plan []preemption) string {
	l := require.Must(newLab(s, v, ""))(t)
	b, sum := &bounded{plan: plan}, sha256.New()
	l.watch = func(tr *trial) {
		tr.e.ended = func() {
			sum.Write(require.Must(tr.m.ReadPhysical(0, int(s.Memory)))(t))
			for i := range tr.m.CPUs() {
				c := tr.m.CPU(i)
				fmt.Fprintln(sum, c.PC(), c.Registers(), c.Counters().Instructions)
			}
		}
	}
	o := require.Must(l.run(b, 0, 1))(t)
	require.That(t, b.done == len(plan), "%v: %d preemptions", plan, b.done)
	return fmt.Sprintf("%.8x %d %d %d", sum.Sum(nil), o[0].Steps, o[0].Calls, o[0].Hits)
}

// TestUnknownSegments takes what was not seen of a CPU for something that no other segment may pass.
func TestUnknownSegments(t *testing.T) {
	n := node{footprints: &footprints{}}
	seen := &footprint{}
	n.cut[1] = []*footprint{seen}
	require.That(t, n.segment(1, 0) == seen && n.segment(1, 1).alone && n.segment(0, 0).alone, "a segment that was not seen may be passed")
}

// TestPlansLeftOutDoTheSame runs some plans that a search leaves out and those that stand for them. Both end in the same memory.
func TestPlansLeftOutDoTheSame(t *testing.T) {
	variants, second := [][2]string{{"core-optimize", "breakpoint"}}, 1
	first, most := 4, 10 // turns in which the first preemption is, and plans of each length that are looked at
	if hosttools.Whole(t, "plans of scenarios with three CPUs", "plans of a scenario with two, and fewer") {
		variants = append(variants, [][2]string{
			{"core-overlap", "stop_machine"}, {"optimize", "preempt-breakpoint"}, {"optimize", "user-breakpoint"}, {"kretprobe", "breakpoint"},
		}...)
		second = 2
		if hosttools.Night(t, "30 plans of each length", "10 of them") {
			first, most = 8, 30
		}
	}
	for _, name := range variants {
		s := require.Must(Load(name[0]))(t)
		v := require.Must(s.Variant(name[1]))(t)
		opt := Default().of(s, v)
		opt.Policy, opt.Schedules = Exhaustive, 3000
		x := &tree{opt: &opt, run: require.Must(newLab(s, v, ""))(t).run}
		r, mu, looked := rand.New(rand.NewPCG(1, 2)), sync.Mutex{}, [3]int{}
		x.same = func(plan, as []preemption) {
			mu.Lock()
			defer mu.Unlock()
			if r.IntN([]int{1, 5, 50}[len(plan)]) > 0 || looked[len(plan)] >= most {
				return
			}
			looked[len(plan)]++
			require.Equal(t, final(t, s, v, plan), final(t, s, v, as), "%s/%s: %v, for which %v stands", s.Name, v.Name, plan, as)
		}
		root := require.Must(x.one(0, nil, 0, true))(t)
		w, all := &work{tree: x}, chains(root.points)
		for range first {
			c := all[r.IntN(len(all))]
			for _, to := range c.targets() {
				w.first(root, c, to)
			}
		}
		for i := range second {
			w.second(root, w.twins[i*len(w.twins)/second])
		}
		require.NoError(t, w.err)
		require.That(t, looked[1] > 0 && looked[2] > 0, "%s/%s: %d and %d plans were looked at", s.Name, v.Name, looked[1], looked[2])
	}
}
