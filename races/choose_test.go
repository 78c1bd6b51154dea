package races

import (
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"kprobesim/internal/require"
)

// drive lets a chooser run threads that each have a number of instructions, every hot-th of them hot,
// and returns the order of the hot ones.
func drive(c chooser, n uint64, threads []int, hot int) (trace []int) {
	left := slices.Clone(threads)
	plan, planned := c.(*bounded)
	if planned {
		plan.follows(func(cpu int) spot { return spot{insns: uint64(threads[cpu] - left[cpu])} })
	}
	c.begin(n)
	p := point{last: -1}
	for range 1_000_000 {
		p.runnable = p.runnable[:0]
		for i, l := range left {
			if l > 0 {
				p.runnable = append(p.runnable, i)
			}
		}
		if len(p.runnable) == 0 {
			return trace
		}
		if planned {
			plan.passed(&p)
		}
		cpu, steps := c.next(&p)
		p.last, p.hot = cpu, false
		for ; steps > 0 && left[cpu] > 0; steps-- {
			if left[cpu]--; left[cpu]%hot == 0 {
				trace = append(trace, cpu)
				p.hot = true
				break
			}
		}
	}
	return trace
}

func choosers() map[string]func(seed uint64) chooser {
	return map[string]func(uint64) chooser{
		"random":  func(s uint64) chooser { return newRandom(s) },
		"pct":     func(s uint64) chooser { return newPCT(s, 3) },
		"bounded": func(uint64) chooser { return &bounded{} },
	}
}

func TestChoosersLetEverybodyFinish(t *testing.T) {
	for name, mk := range choosers() {
		for n := range uint64(20) {
			if got := drive(mk(1), n, []int{500, 500, 20000}, 5); len(got) != 100+100+4000 {
				t.Errorf("%s: schedule %d has %d hot instructions of 4200", name, n, len(got))
			}
		}
	}
}

// TestSchedulesDependOnSeedAndNumber runs schedules in different orders.
func TestSchedulesDependOnSeedAndNumber(t *testing.T) {
	threads := []int{300, 300, 300}
	for _, name := range []string{"random"} {
		mk := choosers()[name]
		a, b := mk(7), mk(7)
		drive(b, 5, threads, 3)
		require.That(t, slices.Equal(drive(a, 9, threads, 3), drive(b, 9, threads, 3)), "%s: schedule 9 depends on what ran before it", name)
		require.That(t, !slices.Equal(drive(a, 9, threads, 3), drive(a, 10, threads, 3)) && !slices.Equal(drive(a, 9, threads, 3), drive(mk(8), 9, threads, 3)), "%s: another number or seed gives the same schedule", name)
	}
}

// TestRandomFindsOrders counts how many of the orders of two threads of four hot instructions come up.
func TestRandomFindsOrders(t *testing.T) {
	for _, name := range []string{"random", "pct"} {
		c := choosers()[name](3)
		seen := map[string]bool{}
		for n := range uint64(20000) {
			seen[order(drive(c, n, []int{4, 4}, 1))] = true
		}
		want := 70 // 8 over 4
		if name == "pct" {
			want = 10 // those with two change points
		}
		require.That(t, len(seen) >= want, "%s finds %d of the 70 orders of two threads of four instructions", name, len(seen))
	}
}

// TestPCTDepth holds pct against its theorem: with depth 2, an order that one change point makes, of
// two threads and some 40 points, comes up more often than once in 2*40.
func TestPCTDepth(t *testing.T) {
	c := newPCT(11, 2)
	hits, runs := 0, 4000
	for n := range uint64(runs) {
		got := drive(c, n, []int{20, 20}, 1)
		// Thread 0 is interrupted behind its eighth instruction by all of thread 1.
		if slices.Index(got, 1) == 8 && slices.Equal(got[8:28], slices.Repeat([]int{1}, 20)) {
			hits++
		}
	}
	require.That(t, hits*2*40 >= runs, "met in %d of %d schedules, fewer than one in 80", hits, runs)
}

func TestGeometric(t *testing.T) {
	for _, mean := range []int{1, 2, 8, 320} {
		g, r, sum, n := newGeometric(mean), newRand(1, uint64(mean)), 0, 20000
		for range n {
			v := g.draw(r)
			if v < 1 {
				t.Fatalf("mean %d: drew %d", mean, v)
			}
			sum += v
		}
		got := float64(sum) / float64(n)
		require.That(t, !(got < 0.95*float64(mean)) && !(got > 1.05*float64(mean)), "mean %d: drew %.2f in the mean", mean, got)
	}
}

// TestBoundedIsComplete enumerates two threads of three hot instructions: every order comes up that at
// most so many preemptions make of running one thread after the other, and each plan once.
func TestBoundedIsComplete(t *testing.T) {
	for _, tt := range []struct {
		bound  int
		orders []string
	}{
		{0, []string{"000111"}},
		{1, []string{"000111", "011100", "001110"}},
	} {
		var seen []string
		plans := map[string]bool{}
		opt := Options{Policy: Exhaustive, Preemptions: tt.bound, Schedules: 1 << 40, Workers: 1}
		tally, err := search(&opt, func(c chooser, first, _ uint64) ([]Outcome, error) {
			seen = append(seen, order(drive(c, first, []int{3, 3}, 1)))
			plan := fmt.Sprint(c.(*bounded).plan)
			require.That(t, !plans[plan], "bound %d: plan %s runs twice", tt.bound, plan)
			plans[plan] = true
			return []Outcome{{N: first}}, nil
		})
		require.That(t, err == nil && tally.Complete && tally.Schedules == uint64(len(plans)), "bound %d: complete %v after %d schedules, %v", tt.bound, tally.Complete, tally.Schedules, err)
		for _, o := range tt.orders {
			if !slices.Contains(seen, o) {
				t.Errorf("bound %d: order %s does not come up: %v", tt.bound, o, seen)
			}
		}
	}
}

// order writes who ran.
func order(trace []int) string {
	s := ""
	for _, cpu := range trace {
		s += string(rune('0' + cpu))
	}
	return s
}

// roundRobin gives every CPU the same number of instructions in turn.
type roundRobin struct{}

func (roundRobin) begin(uint64)                   {}
func (roundRobin) next(p *point) (cpu, steps int) { return after(p), 100 }
func (roundRobin) drain(_, held int) int          { return held }
func (roundRobin) sees(int, int, uint64) bool     { return true }
func (roundRobin) strike(*point) (strike, int)    { return nothing, 0 }

// TestChoices holds what policies choose at many points, what a tape notes of it, and what is chosen by the tape: the number of a
// schedule keeps its meaning.
func TestChoices(t *testing.T) {
	policies := choosers()
	delete(policies, "bounded") // plans are no stories
	policies["turns"] = func(uint64) chooser { return roundRobin{} }
	for _, depth := range []int{1, 2, 4} {
		policies[fmt.Sprintf("pct of depth %d", depth)] = func(s uint64) chooser { return newPCT(s, depth) }
	}
	sums := map[string]string{
		"turns": "7a815b6c2757", "random": "b4fdca853b22",
		"pct of depth 1": "a525c96cab38", "pct of depth 2": "bb4cbca8b01d", "pct": "0872859baebc", "pct of depth 4": "e30159dbea55",
	}
	for name := range policies {
		sum := sha256.New()
		x := &tape{chooser: policies[name](5)}
		for n := range uint64(20) {
			record(sum, x, n)
			follow := &follower{story: x.story()}
			record(sum, follow, n)
			fmt.Fprintln(sum, follow.story, follow.preemptions)
		}
		require.Equal(t, fmt.Sprintf("%.6x", sum.Sum(nil)), sums[name], "%s", name)
	}
}

// record writes what is chosen at points of four CPUs that are hot, wait, sleep and store as random numbers say.
func record(to io.Writer, x interface {
	chooser
	follows(spots func(cpu int) spot)
}, n uint64,
) {
	world := rand.New(rand.NewPCG(1, n))
	var at [4]spot
	x.follows(func(cpu int) spot { return at[cpu] })
	x.begin(n)
	p, held := point{last: -1}, [len(at)]int{}
	for i := range uint64(300) {
		p.runnable = p.runnable[:0]
		for awake, cpu := world.IntN(15)+1, 0; cpu < len(at); cpu++ {
			if awake>>cpu&1 != 0 {
				p.runnable = append(p.runnable, cpu)
			}
		}
		cpu, steps := x.next(&p)
		fmt.Fprintln(to, cpu, steps)
		p.last, p.hot, p.spin = cpu, world.IntN(4) > 0, world.IntN(int(n)+2) == 0
		if p.hot {
			steps = 1 + world.IntN(steps)
		}
		at[cpu].insns += uint64(steps)
		at[cpu].yields += uint64(world.IntN(8) / 7)
		if held[cpu] += world.IntN(3); held[cpu] > 0 {
			shown := x.drain(cpu, held[cpu])
			held[cpu] -= shown
			fmt.Fprintln(to, "shown", shown)
		}
		fmt.Fprintln(to, x.sees(world.IntN(4), cpu, i/8))
	}
}

// TestTurnsOfAWaitedFor has a CPU work beside one that waits in a loop. Its turns have one length until the other has waited often.
// Then they have many, so that it cannot hold a lock at the end of each.
func TestTurnsOfAWaitedFor(t *testing.T) {
	c := newPCT(3, 1)
	c.begin(1)
	lengths := func(spins int) map[int]bool {
		seen, length, last := map[int]bool{}, 0, -1
		for n := 0; n < spins; {
			p := &point{last: last, runnable: []int{0, 1}, spin: last == 1}
			switch last, _ = c.next(p); {
			case last == 0:
				length++
			case length > 0:
				seen[length] = true
				length = 0
			}
			if last == 1 {
				n++
			}
		}
		return seen
	}
	early, late := lengths(manySpins/2), lengths(2*manySpins)
	longest := func(seen map[int]bool) int { return slices.Max(slices.Collect(maps.Keys(seen))) }
	require.That(t, len(early) <= 2 && len(late) > 5 && longest(late) > longest(early), "turns have the lengths %v, and %v behind many waits", early, late)
}

// TestTurnsAreOneLongInTheMean wants a turn to be of patience, and between a half and three halves of it behind many waits.
func TestTurnsAreOneLongInTheMean(t *testing.T) {
	c := newPCT(3, 1)
	c.begin(1)
	lengths := func(spins int) (shortest, longest int) {
		c.spins = spins
		all := make([]int, 5000)
		for i := range all {
			all[i] = c.turn()
		}
		return slices.Min(all), slices.Max(all)
	}
	shortest, longest := lengths(manySpins - 1)
	require.That(t, shortest == patience && longest == patience, "turns are of %d to %d", shortest, longest)
	const much = patience / 100
	shortest, longest = lengths(manySpins)
	require.That(t, shortest >= patience/2 && shortest < patience/2+much && longest < patience*3/2 && longest >= patience*3/2-much, "later they are of %d to %d", shortest, longest)
}
