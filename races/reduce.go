package races

import (
	"fmt"
	"iter"
	"math/bits"
	"slices"
)

// A search of all plans leaves out those that do the same as another one, which is a partial-order reduction: of the orders of
// independent stretches one is enough (Godefroid, Partial-Order Methods, 1996; with a bound of preemptions, Coons, Musuvathi and McKinley,
// Bounded Partial-Order Reduction, 2013).
//
// What a CPU executes from one of its hot points to the next is a segment. What others execute from a preemption until the preempted CPU
// goes on is the preemption's window. A plan that preempts a CPU at one point and a plan that preempts it at the next one differ in whether the
// segment between comes behind the window or in front of it. If the two are independent (footprint.independent), both plans do the same, and one
// of them is left out. So a turn is gone through from its end: a plan runs where the segment behind its point is not independent of the
// window of the last plan that ran.
//
// The same goes for each of two preemptions. Of the plans that have one preemption more than a plan that was left out, most do the same as a plan
// that has one more than the plan that stands for it. The others are looked at one by one: their second preemption comes in the first one's
// window, or it comes to the first preempted CPU between the two points.

// tree searches the plans of one variant.
type tree struct {
	opt *Options
	run runner
	// same is told of plans that are left out, and of one that does the same and has run, or nil.
	same func(plan, as []preemption)
	Tally
}

// node is a plan that ran, and what was written down of it.
type node struct {
	plan    []preemption
	outcome Outcome
	made    bool // every preemption
	*footprints
}

// twin is a plan of one preemption that ran and stands for those that preempt its CPU at one of the points in front, the nearest one first.
type twin struct {
	plan    []preemption
	earlier []hotPoint
}

// chain is the hot points of one turn that nobody interrupts. What is executed between two of them is a segment.
type chain []hotPoint

// searchTree runs plans of at most opt.Preemptions preemptions, each on a machine of its own so
// that the plan alone decides.
// It goes level by level, so that the first violation needs as few preemptions as there can be.
func searchTree(opt *Options, run runner) (Tally, error) {
	x := &tree{opt: opt, run: run}
	root, err := x.one(0, nil, 0, true)
	if err != nil || !x.counts(result{outcomes: []Outcome{root.outcome}, plans: [][]preemption{nil}}) {
		return x.Tally, err
	}
	if opt.Preemptions == 0 {
		x.Complete = true
		return x.Tally, nil
	}
	twins, err := x.level(x.firsts(root))
	if err == nil && twins != nil && opt.Preemptions > 1 {
		_, err = x.level(x.seconds(root, twins))
	}
	return x.Tally, err
}

// level runs jobs and counts their outcomes. It returns nil when the search has come to its end before them.
func (x *tree) level(jobs iter.Seq[job]) (twins []twin, err error) {
	x.Complete, twins = false, []twin{}
	for _, r := range parallel(x.opt.workers(), jobs, func(j job) result { return j.work(j.first) }) {
		if r.err != nil {
			return nil, r.err
		}
		if !x.counts(r) {
			return nil, nil
		}
		twins = append(twins, r.twins...)
	}
	x.Complete = true
	return twins, nil
}

// counts adds outcomes, numbered in their order, and reports whether the search goes on.
func (x *tree) counts(r result) bool {
	for i := range r.outcomes {
		if x.Schedules >= x.opt.Schedules {
			return false
		}
		o := r.outcomes[i]
		o.N = x.Schedules
		x.last = r.plans[i]
		if !x.add(&o, x.opt) {
			return false
		}
	}
	x.Equal += r.equal
	return true
}

// one runs a plan.
func (x *tree) one(n uint64, plan []preemption, from int, segments bool) (*node, error) {
	b := &bounded{plan: plan, log: &footprints{from: from, segments: segments}}
	out, err := x.run(b, n, 1)
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("plan %v: the machine ended without an outcome", plan)
	}
	if err != nil {
		return nil, err
	}
	return &node{plan: plan, outcome: out[0], made: b.done == len(plan), footprints: b.log}, nil
}

// chains are the turns of some points. A turn's end is a chain by itself: what its CPU executes behind it comes in another turn.
func chains(points []hotPoint) (all []chain) {
	for i, h := range points {
		if n := len(all); n > 0 && !h.over && !points[i-1].over && h.turn == points[i-1].turn {
			all[n-1] = append(all[n-1], h)
		} else {
			all = append(all, chain{h})
		}
	}
	return all
}

// targets are CPUs that could go on at some point of a chain.
func (c chain) targets() (all []int) {
	set := uint64(0)
	for _, h := range c {
		set |= h.others
	}
	for ; set != 0; set &= set - 1 {
		all = append(all, bits.TrailingZeros64(set))
	}
	return all
}

// leave leaves a plan out that does the same as one that has run, or, if that is nil, as one that does not come up.
func (x *work) leave(as *node, plan ...preemption) {
	if as == nil {
		return
	}
	if x.equal++; x.same != nil {
		x.same(plan, as.plan)
	}
}

// segment finds the footprint of a CPU behind a hot point, up to its next one.
func (n *node) segment(cpu, at int) *footprint {
	if all := n.cut[cpu]; at < len(all) {
		return all[at]
	}
	return &footprint{alone: true}
}

// work is a job that runs plans one after the other. Nobody asks for their numbers before they have run.
type work struct {
	*tree
	result
	n uint64
}

// try runs a plan. It returns nil for one whose preemptions do not all come up.
func (x *work) try(plan []preemption, from int) *node {
	if x.err != nil {
		return nil
	}
	n, err := x.one(x.n, plan, from, false)
	if x.err = err; n == nil || !n.made {
		return nil
	}
	x.outcomes, x.plans = append(x.outcomes, n.outcome), append(x.plans, plan)
	return n
}

// jobs are numbered, so that a message can name one.
func (x *tree) jobs(all iter.Seq[func(w *work)]) iter.Seq[job] {
	return func(yield func(job) bool) {
		n := x.Schedules
		for f := range all {
			do := func(n uint64) result {
				w := &work{tree: x, n: n}
				f(w)
				return w.result
			}
			if n >= x.opt.Schedules || !yield(job{first: n, work: do}) {
				return
			}
			n++
		}
	}
}

// firsts are the plans of one preemption.
func (x *tree) firsts(root *node) iter.Seq[job] {
	return x.jobs(func(yield func(func(w *work)) bool) {
		for _, c := range chains(root.points) {
			for _, to := range c.targets() {
				if !yield(func(w *work) { w.first(root, c, to) }) {
					return
				}
			}
		}
	})
}

// first runs the plans that preempt a turn for one other CPU.
func (x *work) first(root *node, c chain, to int) {
	var last *node
	for _, h := range slices.Backward(c) {
		switch {
		case h.others>>to&1 == 0:
			last = nil
		case last != nil && last.windows[0].allows(root.segment(h.cpu, h.at)):
			t := &x.twins[len(x.twins)-1]
			t.earlier = append(t.earlier, h)
			x.leave(last, preemption{h.cpu, h.at, to})
		default:
			plan := []preemption{{h.cpu, h.at, to}}
			if last = x.try(plan, 0); last != nil {
				x.twins = append(x.twins, twin{plan: plan})
			}
		}
	}
}

// seconds are the plans of two preemptions.
func (x *tree) seconds(root *node, twins []twin) iter.Seq[job] {
	return x.jobs(func(yield func(func(w *work)) bool) {
		for _, t := range twins {
			if !yield(func(w *work) { w.second(root, t) }) {
				return
			}
		}
	})
}

// second runs the plans that have one preemption behind that of a plan, or of those that it stands for.
func (x *work) second(root *node, t twin) {
	n, err := x.one(x.n, t.plan, 0, true)
	if x.err = err; n == nil || len(n.windows) == 0 {
		return
	}
	w := n.windows[0]
	end := w.to
	if !w.closed {
		end = len(n.points)
	}
	for _, c := range chains(n.points[w.from:end]) {
		for _, to := range c.targets() {
			x.within(root, n, t, c, to)
		}
	}
	behind := chains(n.points[end:])
	if len(behind) == 0 || behind[0][0].cpu != w.cpu {
		behind = slices.Insert(behind, 0, nil)
	}
	for i, c := range behind {
		targets := c.targets()
		if i == 0 {
			targets = append(chain(t.earlier), c...).targets()
		}
		for _, to := range targets {
			last := x.behind(n, t, c, to)
			if i == 0 && w.closed {
				x.between(root, t, last, to)
			}
		}
	}
}

// behind runs the plans that preempt a turn behind the window of the first preemption. It returns the one that ran last, if it stands for the
// turn's first point.
func (x *work) behind(n *node, t twin, c chain, to int) (last *node) {
	for _, h := range slices.Backward(c) {
		p := preemption{h.cpu, h.at, to}
		switch {
		case h.others>>to&1 == 0:
			last = nil
		case last == nil || h.over || !last.windows[1].allows(n.segment(h.cpu, h.at)):
			last = x.try(append(slices.Clone(n.plan), p), 1)
		default:
			x.leave(last, n.plan[0], p)
		}
		for _, e := range t.earlier {
			x.leave(last, preemption{t.plan[0].cpu, e.at, t.plan[0].to}, p)
		}
	}
	if len(c) > 0 && c[0].over {
		return nil
	}
	return last
}

// between runs the plans that preempt a CPU at one point and, when it goes on, at the next one, where a twin stands for the first of the two
// preemptions. The plan of the same CPU that ran last preempts it behind them.
func (x *work) between(root *node, t twin, last *node, to int) {
	p := t.plan[0]
	at := p.at
	for i, h := range t.earlier {
		if last == nil || !last.windows[1].allows(root.segment(p.cpu, at)) {
			last = x.try([]preemption{{p.cpu, h.at, p.to}, {p.cpu, at, to}}, 1)
		} else {
			x.leave(last, preemption{p.cpu, h.at, p.to}, preemption{p.cpu, at, to})
		}
		for _, e := range t.earlier[i+1:] {
			x.leave(last, preemption{p.cpu, e.at, p.to}, preemption{p.cpu, at, to})
		}
		at = h.at
	}
}

// cover is a plan that ran and stands for another one. What it says of the windows holds for that too, but for the segments of the first
// preempted CPU that come behind the first preemption there.
type cover struct {
	*node
	moved []*footprint
}

// within runs the plans that preempt a turn in the window of the first preemption, of a twin and of all that it stands for.
func (x *work) within(root, n *node, t twin, c chain, to int) {
	p := t.plan[0]
	rows := 1 + len(t.earlier)
	behind := make([]*cover, rows) // by row: who stands for the plan with the next point of the turn
	for _, h := range slices.Backward(c) {
		now := make([]*cover, rows)
		for row := range rows {
			if h.others>>to&1 == 0 {
				continue
			}
			first, seg := p, n.segment(h.cpu, h.at)
			if row > 0 {
				first.at = t.earlier[row-1].at
				own := root.segment(p.cpu, first.at)
				// The preempted CPU itself may go on. Its window is a part then of the one of which the segment is independent.
				if o := now[row-1]; o != nil && (to == p.cpu || o.windows[0].allows(own)) {
					now[row] = &cover{o.node, append(slices.Clip(o.moved), own)}
					x.leave(o.node, first, preemption{h.cpu, h.at, to})
					continue
				}
			}
			if o := behind[row]; o != nil && !h.over && o.allows(seg) {
				now[row] = o
				x.leave(o.node, first, preemption{h.cpu, h.at, to})
				continue
			}
			if ran := x.try([]preemption{first, {h.cpu, h.at, to}}, 0); ran != nil {
				now[row] = &cover{node: ran}
			}
		}
		behind = now
	}
}

// allows reports whether a segment can come in front of the window of the second preemption.
func (c *cover) allows(seg *footprint) bool {
	return c.windows[1].allows(seg) && !slices.ContainsFunc(c.moved, func(o *footprint) bool { return !seg.apart(o) })
}
