package races

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// spot is how far a CPU has come in a schedule: the instructions that it has executed, and the stores of Go functions behind
// which it could have been preempted. Both only grow.
type spot struct{ insns, yields uint64 }

// reached reports whether a CPU that is at p has come to at.
func (p spot) reached(at spot) bool { return p.insns >= at.insns && p.yields >= at.yields }

// beyond reports whether a CPU that is at p has passed at.
func (p spot) beyond(at spot) bool { return p.reached(at) && p != at }

// A choice is one departure from the turns in which CPUs run by themselves (turns): at a spot of a CPU another one goes on,
// or none does though its turn is over. Or the CPU's stores wait from there until another one has come to a spot. Or an interrupt comes
// to a CPU.
//
// Spots count what one CPU has done and not all of them, so a choice keeps its meaning when another one is left out.
type choice struct {
	cpu   int
	at    spot
	to    int    // who goes on, whose spot ends the wait, or who is struck
	comes strike // an interrupt
	holds bool   // stores wait
	until spot   // of CPU to
	shown int    // stores that the others see then, 0 for all
	store uint64 // the number of the store that waits, among the stores of its CPU in the schedule; 0 for all from at on
	by    int    // the CPU that does not see it; its own while it is held back
}

// String is the form that parseStory reads: 1@300:0, 1@300!tick:0, 1@300=2@41+3, 1#57=2@41 or 1#57>0=2@41.
func (c choice) String() string {
	if c.store > 0 && c.by == c.cpu {
		return fmt.Sprintf("%d#%d=%d@%s", c.cpu, c.store, c.to, c.until)
	}
	if c.store > 0 {
		return fmt.Sprintf("%d#%d>%d=%d@%s", c.cpu, c.store, c.by, c.to, c.until)
	}
	s := fmt.Sprintf("%d@%s", c.cpu, c.at)
	if !c.holds {
		if c.comes != nothing {
			s += "!" + c.comes.String()
		}
		return fmt.Sprintf("%s:%d", s, c.to)
	}
	s = fmt.Sprintf("%s=%d@%s", s, c.to, c.until)
	if c.shown > 0 {
		s += fmt.Sprintf("+%d", c.shown)
	}
	return s
}

// String leaves out that no store of Go came before.
func (p spot) String() string {
	if p.yields == 0 {
		return fmt.Sprint(p.insns)
	}
	return fmt.Sprintf("%d.%d", p.insns, p.yields)
}

// A story is the choices of one schedule, in their order.
type story []choice

// String is "none" for turns alone.
func (s story) String() string {
	if len(s) == 0 {
		return "none"
	}
	var all []string
	for _, c := range s {
		all = append(all, c.String())
	}
	return strings.Join(all, ",")
}

// parseStory reads what String writes.
func parseStory(text string) (s story, err error) {
	if text == "none" {
		return nil, nil
	}
	for _, word := range strings.Split(text, ",") {
		c, err := parseChoice(word)
		if err != nil {
			return nil, fmt.Errorf("choice %q: %w", word, err)
		}
		s = append(s, c)
	}
	return s, nil
}

// parseChoice wants the very text that the choice would be written as, so nothing is read over, and what cannot be read need
// not be told apart.
func parseChoice(word string) (c choice, err error) {
	from, rest, switches := strings.Cut(word, ":")
	if !switches {
		from, rest, c.holds = strings.Cut(word, "=")
	}
	from, comes, _ := strings.Cut(from, "!")
	c.comes = strikeOf(comes)
	if strings.Contains(from, "#") {
		c.parseStore(from)
	} else {
		c.cpu, c.at = parseSpot(from)
	}
	if c.holds {
		spot, shown, _ := strings.Cut(rest, "+")
		c.to, c.until = parseSpot(spot)
		_, _ = fmt.Sscan(shown, &c.shown)
	} else {
		_, _ = fmt.Sscan(rest, &c.to)
	}
	if c.String() != word || !cpuNumbers(c.cpu, c.to, c.by) {
		err = fmt.Errorf("write CPU@INSTRUCTIONS:CPU, CPU@INSTRUCTIONS!tick:CPU or CPU@INSTRUCTIONS!nmi:CPU, or CPU@INSTRUCTIONS=CPU@INSTRUCTIONS or CPU#STORE=CPU@INSTRUCTIONS for stores that wait")
	}
	return c, err
}

func cpuNumbers(all ...int) bool {
	return !slices.ContainsFunc(all, func(n int) bool { return n < 0 || n >= maxCPUs })
}

// parseStore reads a CPU, its store, and who does not see it.
func (c *choice) parseStore(text string) {
	_, _ = fmt.Sscanf(text, "%d#%d", &c.cpu, &c.store)
	c.by = c.cpu
	_, by, _ := strings.Cut(text, ">")
	_, _ = fmt.Sscan(by, &c.by)
}

// parseSpot reads a CPU and its spot.
func parseSpot(text string) (cpu int, p spot) {
	_, _ = fmt.Sscanf(text, "%d@%d.%d", &cpu, &p.insns, &p.yields)
	return cpu, p
}

// turnLength is how many instructions a CPU executes by itself before the next one does. Kernels loop, so there must be an end.
const turnLength = 1000

// turns is how CPUs run by themselves: each until it sleeps, waits in a loop or has had its turn, and then the next one.
type turns struct {
	spots func(cpu int) spot
	since uint64 // instructions of the CPU that runs when its turn began
}

// next is who goes on at a point.
func (o *turns) next(p *point) int {
	if p.stays() && !p.spin && o.spots(p.last).insns < o.since+turnLength {
		return p.last
	}
	return after(p)
}

// tape has another policy decide, and keeps its choices.
type tape struct {
	chooser
	turns
	all    story
	asked  spot            // of the CPU that runs, at the last point
	clear  map[int]spot    // by CPU, at the last point at which none of its stores waited
	waits  map[int]*choice // by CPU: its stores wait
	hidden map[seen]bool   // stores that wait
	lately int             // the CPU that ran last
}

// seen is a store and a CPU that sees it or does not.
type seen struct {
	by, cpu int
	store   uint64
}

func (x *tape) begin(n uint64) {
	x.chooser.begin(n)
	x.all, x.since, x.asked, x.lately = nil, 0, spot{}, -1
	x.clear, x.waits, x.hidden = map[int]spot{}, map[int]*choice{}, map[seen]bool{}
}

func (x *tape) follows(spots func(cpu int) spot) { x.spots = spots }

// next notes a choice where the policy departs from the turns of CPUs. A turn that is over between two points is over at the spot where
// it had its length, as that is where a follower stops.
func (x *tape) next(p *point) (cpu, steps int) {
	at := spot{}
	if p.last >= 0 {
		at = x.spots(p.last)
		if x.waits[p.last] == nil {
			x.clear[p.last] = at
		}
	}
	cpu, steps = x.chooser.next(p)
	for over := x.since + turnLength; p.last >= 0 && at.insns > over; over += turnLength {
		x.all = append(x.all, choice{cpu: p.last, at: spot{over, x.asked.yields}, to: p.last})
		x.since = over
	}
	switch {
	case cpu != x.turns.next(p):
		x.all = append(x.all, choice{cpu: max(p.last, 0), at: at, to: cpu})
		fallthrough
	case cpu != p.last:
		x.since = x.spots(cpu).insns
	}
	x.asked, x.lately = x.spots(cpu), cpu
	return cpu, steps
}

// drain notes stores that wait from one point to another.
func (x *tape) drain(cpu, held int) int {
	n := x.chooser.drain(cpu, held)
	if w := x.waits[cpu]; w != nil && n > 0 {
		w.to, w.until = x.lately, x.spots(x.lately)
		if n < held {
			w.shown = n
		}
		x.all = append(x.all, *w)
		x.waits[cpu] = nil
	}
	if n < held && x.waits[cpu] == nil {
		x.waits[cpu] = &choice{cpu: cpu, at: x.clear[cpu], holds: true}
	}
	return n
}

// sees notes a store that a CPU does not see from one point to another.
func (x *tape) sees(cpu, by int, number uint64) bool {
	s, key := x.chooser.sees(cpu, by, number), seen{by, cpu, number}
	switch {
	case !s:
		x.hidden[key] = true
	case x.hidden[key]:
		delete(x.hidden, key)
		who := cpu
		if cpu == by {
			who = max(x.lately, 0)
		}
		x.all = append(x.all, key.until(who, x.spots(who)))
	}
	return s
}

// strike notes an interrupt.
func (x *tape) strike(p *point) (what strike, cpu int) {
	what, cpu = x.chooser.strike(p)
	if what != nothing {
		x.all = append(x.all, choice{cpu: p.last, at: x.spots(p.last), to: cpu, comes: what})
	}
	return what, cpu
}

// until is the choice that a store is not seen until a CPU has come to a spot.
func (s seen) until(who int, at spot) choice {
	return choice{cpu: s.by, store: s.store, by: s.cpu, holds: true, to: who, until: at}
}

// story returns all choices. Stores that wait at the end do so for the length of a turn.
func (x *tape) story() story {
	all := slices.Clone(x.all)
	for cpu := range maxCPUs {
		if w := x.waits[cpu]; w != nil {
			w.to, w.until = cpu, spot{w.at.insns + turnLength, w.at.yields}
			all = append(all, *w)
		}
	}
	for _, s := range slices.SortedFunc(maps.Keys(x.hidden), seen.compare) {
		at := x.spots(s.by)
		all = append(all, s.until(s.by, spot{at.insns + turnLength, at.yields}))
	}
	return all
}

func (s seen) compare(o seen) int {
	return cmp.Or(cmp.Compare(s.by, o.by), cmp.Compare(s.store, o.store), cmp.Compare(s.cpu, o.cpu))
}

// follower makes the choices of a story and no others.
type follower struct {
	turns
	story
	switches, waits [maxCPUs]story // by CPU: not made yet
	comes           [maxCPUs]story // the same
	preemptions     int            // that were made: switches of a CPU that could go on and did not wait
	hidden          map[seen]choice
	stops           [maxCPUs][]uint64 // by CPU: where it begins or ends waits, ascending
}

func (x *follower) begin(uint64) {
	x.since, x.preemptions = 0, 0
	x.switches, x.waits, x.comes, x.stops = [maxCPUs]story{}, [maxCPUs]story{}, [maxCPUs]story{}, [maxCPUs][]uint64{}
	x.hidden = map[seen]choice{}
	for _, c := range x.story {
		if c.comes != nothing {
			x.comes[c.cpu] = append(x.comes[c.cpu], c)
			x.stops[c.cpu] = append(x.stops[c.cpu], c.at.insns)
			continue
		}
		if !c.holds {
			x.switches[c.cpu] = append(x.switches[c.cpu], c)
			continue
		}
		if x.stops[c.to] = append(x.stops[c.to], c.until.insns); c.store > 0 {
			x.hidden[seen{c.cpu, c.by, c.store}] = c
			continue
		}
		x.waits[c.cpu] = append(x.waits[c.cpu], c)
		x.stops[c.cpu] = append(x.stops[c.cpu], c.at.insns)
	}
	for i := range x.stops {
		slices.Sort(x.stops[i])
	}
}

func (x *follower) follows(spots func(cpu int) spot) { x.spots = spots }

// next stops a CPU at the first spot at which something is chosen.
func (x *follower) next(p *point) (cpu, steps int) {
	by := x.turns.next(p)
	if p.last >= 0 && x.due(p.last) {
		to := x.switches[p.last][0].to
		x.switches[p.last] = x.switches[p.last][1:]
		if slices.Contains(p.runnable, to) {
			if p.stays() && !p.spin && to != p.last {
				x.preemptions++
			}
			by = to
			x.since = x.spots(by).insns
		}
	}
	if by != p.last || x.spots(by).insns >= x.since+turnLength {
		x.since = x.spots(by).insns
	}
	return by, x.steps(by)
}

// strike has the interrupts of the story come.
func (x *follower) strike(p *point) (what strike, cpu int) {
	if p.last < 0 || !x.dueIn(&x.comes, p.last) {
		return nothing, 0
	}
	c := x.comes[p.last][0]
	x.comes[p.last] = x.comes[p.last][1:]
	return c.comes, c.to
}

// due reports whether a CPU has come to the spot of its next switch.
func (x *follower) due(cpu int) bool { return x.dueIn(&x.switches, cpu) }

func (x *follower) dueIn(all *[maxCPUs]story, cpu int) bool {
	return len(all[cpu]) > 0 && x.spots(cpu).reached(all[cpu][0].at)
}

// steps is how far a CPU goes until a turn or a wait is over, or a choice is to be made.
func (x *follower) steps(cpu int) int {
	if x.due(cpu) || x.dueIn(&x.comes, cpu) {
		return 1 // its turn was an interrupt, which is no instruction
	}
	now := x.spots(cpu).insns
	n := x.since + turnLength - now
	near := func(at uint64) {
		if at > now {
			n = min(n, at-now)
		}
	}
	if len(x.switches[cpu]) > 0 {
		near(x.switches[cpu][0].at.insns)
	}
	if i, _ := slices.BinarySearch(x.stops[cpu], now+1); i < len(x.stops[cpu]) {
		near(x.stops[cpu][i])
	}
	return int(max(n, 1))
}

// drain has stores wait that do in the story. None waits longer than its CPU's turn lasts.
func (x *follower) drain(cpu, held int) int {
	if len(x.waits[cpu]) == 0 {
		return held
	}
	c := x.waits[cpu][0]
	if !x.spots(cpu).beyond(c.at) {
		return held
	}
	if x.spots(c.to).reached(c.until) || x.spots(cpu).insns > c.at.insns+4*turnLength {
		x.waits[cpu] = x.waits[cpu][1:]
		if c.shown > 0 {
			return min(c.shown, held)
		}
		return held
	}
	return 0
}

// sees has a store wait that does in the story.
func (x *follower) sees(cpu, by int, number uint64) bool {
	c, waits := x.hidden[seen{by, cpu, number}]
	return !waits || x.spots(c.to).reached(c.until)
}
