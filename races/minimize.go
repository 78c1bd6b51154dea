package races

import (
	"errors"
	"io"
	"iter"
	"regexp"
	"slices"
)

// minimizer looks for the fewest choices that still show a violation, on machines that are booted for it. It is delta debugging
// (Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input, 2002), and then tries what lies next to the rest.
// Its budget is in schedules, so that the result is the same on every host. A long one counts as several.
type minimizer struct {
	l        *lab
	opt      *Options
	want     *Violation
	left     int // schedules of the budget
	progress func(left, choices int)
}

// shown is a story that shows the violation.
type shown struct {
	story
	preemptions int
}

// fewer reports whether a story is simpler than another one.
func (s *shown) fewer(than *shown) bool {
	if s.preemptions != than.preemptions {
		return s.preemptions < than.preemptions
	}
	return len(s.story) < len(than.story)
}

// minimize looks for the choices. It returns nil where the violation was not met on a new machine. What can be left out of one
// schedule can often not be left out of another, so it begins several times, while the rest is long.
func (m *minimizer) minimize(n uint64) (best *shown, err error) {
	for i := range starts {
		end := m.left * (starts - 1 - i) / (starts - i) // of the budget when this start is over
		policy := func() chooser { return newChooser(m.opt) }
		if i == starts-1 {
			few := *m.opt
			few.Policy, few.Depth = PCT, 3
			policy = func() chooser { return newChooser(&few) }
		}
		s, next, err := m.find(n, end, policy)
		if err != nil || s == nil && best == nil {
			return nil, err
		}
		n = next
		for _, reduce := range []func(*shown, int) (*shown, error){m.withoutWaits, m.alone, m.reduce, m.neighbours} {
			if s == nil {
				break
			}
			if s, err = reduce(s, end); err != nil {
				return nil, err
			}
		}
		if best == nil || s != nil && s.fewer(best) {
			best = s
		}
		if len(best.story) <= short {
			break
		}
	}
	return best, nil
}

// A minimizer begins so often, the last time with schedules of few changes of priority. A story of so few choices is short.
const (
	starts = 2
	short  = 2
)

// find looks for the violation in some schedules that are the first of their machine, from schedule n on, and writes down
// what was chosen. It returns the number of the schedule behind as well.
func (m *minimizer) find(n uint64, end int, policy func() chooser) (*shown, uint64, error) {
	tapes := map[uint64]*tape{}
	for i := range uint64(max(m.left-end, 1)) {
		tapes[n+i] = &tape{chooser: policy()}
	}
	jobs := func(yield func(job) bool) {
		for i := range uint64(len(tapes)) {
			if !yield(job{first: n + i}) {
				return
			}
		}
	}
	for j, r := range parallel(m.opt.workers(), jobs, func(j job) (r result) {
		r.outcomes, r.err = m.l.run(tapes[j.first], j.first, 1)
		return r
	}) {
		if m.spend(r); r.err != nil {
			return nil, n, r.err
		}
		if !m.shows(r) {
			continue
		}
		all := tapes[j.first].story()
		if s, err := m.first(slices.Values([]story{all}), end); s != nil || err != nil {
			return s, j.first + 1, err
		}
	}
	return nil, 0, nil
}

// spend takes a schedule from the budget. One that hangs has the instructions of a hundred others, and it counts as ten.
func (m *minimizer) spend(r result) {
	m.left--
	for i := range r.outcomes {
		m.left -= int(r.outcomes[i].Steps / longSchedule)
	}
}

// longSchedule is the number of instructions of a schedule that counts twice. In shipped scenarios a schedule that ends has below 100,000.
const longSchedule = 200_000

// shows reports whether a schedule has shown the violation: one of its kind at its place.
func (m *minimizer) shows(r result) bool {
	return len(r.outcomes) > 0 && m.l.same(m.want, r.outcomes[0].Violation) // a machine that is wrong before its first schedule has none
}

// first is the first of some stories that shows the violation, or nil. It ends when so much of the budget is left.
func (m *minimizer) first(stories iter.Seq[story], end int) (found *shown, err error) {
	tries := func(yield func(job) bool) {
		for s := range stories {
			if !yield(job{story: s}) {
				return
			}
		}
	}
	for j, r := range parallel(m.opt.workers(), tries, func(j job) (r result) {
		x := &follower{story: j.story}
		r.outcomes, r.err = m.l.run(x, 0, 1)
		if len(r.outcomes) > 0 {
			r.outcomes[0].preemptions = x.preemptions
		}
		return r
	}) {
		m.spend(r)
		if m.progress != nil {
			m.progress(max(m.left, 0), len(j.story))
		}
		switch {
		case r.err != nil:
			return nil, r.err
		case m.shows(r):
			return &shown{j.story, r.outcomes[0].preemptions}, nil
		case m.left <= end:
			return nil, nil
		}
	}
	return nil, nil
}

// withoutWaits lets every store be seen at once, if the violation shows without.
func (m *minimizer) withoutWaits(best *shown, end int) (*shown, error) {
	plain := slices.DeleteFunc(slices.Clone(best.story), func(c choice) bool { return c.holds })
	if len(plain) == len(best.story) {
		return best, nil
	}
	return m.better(best, slices.Values([]story{plain}), end)
}

// better is the first story that shows the violation, or the best one so far.
func (m *minimizer) better(best *shown, stories iter.Seq[story], end int) (*shown, error) {
	s, err := m.first(stories, end)
	if s == nil {
		s = best
	}
	return s, err
}

// alone tries no choice at all, and then each of the last ones by itself: many violations need one preemption.
func (m *minimizer) alone(best *shown, end int) (*shown, error) {
	return m.better(best, func(yield func(story) bool) {
		if !yield(nil) {
			return
		}
		for i := range min(len(best.story), loners) {
			if !yield(best.story[len(best.story)-1-i:][:1]) {
				return
			}
		}
	}, end)
}

// loners is how many choices are tried by themselves.
const loners = 60

// reduce leaves out ever smaller parts of the choices, until none can be left out.
func (m *minimizer) reduce(best *shown, end int) (*shown, error) {
	for parts := 2; len(best.story) > 0 && m.left > end; {
		parts = min(parts, len(best.story))
		s, err := m.first(without(best.story, parts), end)
		switch {
		case err != nil:
			return nil, err
		case s != nil:
			best, parts = s, max(parts-1, 2)
		case parts == len(best.story):
			return best, nil
		default:
			parts *= 2
		}
	}
	return best, nil
}

// without yields a story without each of so many parts, the last one first: what is far in front of a violation has led to it.
func without(s story, parts int) iter.Seq[story] {
	return func(yield func(story) bool) {
		for i := range parts {
			from, to := len(s)*i/parts, len(s)*(i+1)/parts
			if !yield(slices.Concat(s[:from], s[to:])) {
				return
			}
		}
	}
}

// nearby is how many instructions a choice is moved at most.
const nearby = 4

// neighbours tries every story with a choice less in which another one stands nearby, until there is none.
func (m *minimizer) neighbours(best *shown, end int) (*shown, error) {
	for m.left > end {
		s, err := m.first(m.oneLess(best.story), end)
		switch {
		case err != nil:
			return nil, err
		case s == nil:
			return best, nil
		case s.fewer(best):
			best = s
		}
	}
	return best, nil
}

// oneLess yields each story without one of the choices, with another one moved to a spot and a CPU nearby.
func (m *minimizer) oneLess(s story) iter.Seq[story] {
	return func(yield func(story) bool) {
		for gone := range s {
			rest := slices.Delete(slices.Clone(s), gone, gone+1)
			for i := range rest {
				for to := range m.l.s.CPUs {
					for _, by := range around(nearby) {
						near := slices.Clone(rest)
						near[i].at.insns = uint64(max(int(near[i].at.insns)+by, 0))
						if near[i].to = to; !yield(near) {
							return
						}
					}
				}
			}
		}
	}
}

// around yields 0, 1, -1, 2, -2 and so on.
func around(n int) []int {
	all := []int{0}
	for i := 1; i <= n; i++ {
		all = append(all, i, -i)
	}
	return all
}

// numbers matches the parts in which two texts of one mistake differ.
var numbers = regexp.MustCompile(`0x[0-9a-f]+|\d+`)

// same reports whether two violations are of one kind at one place. What is said of a whole machine has no place but its text.
func (l *lab) same(want, got *Violation) bool {
	switch {
	case got == nil || want.Kind != got.Kind:
		return false
	case want.Kind == Hung:
		return true
	case want.PC == 0:
		return numbers.ReplaceAllString(want.Text, "#") == numbers.ReplaceAllString(got.Text, "#")
	}
	return l.where(want.PC) == l.where(got.PC)
}

// where names an address. Which slot or detour buffer it lies in does not matter.
func (l *lab) where(pc uint64) string {
	for _, pool := range []string{"slots", "detours"} {
		if at, err := l.between("__"+pool+"_start", "__"+pool+"_end"); err == nil && at.contains(pc) {
			return pool
		}
	}
	return l.im.SymbolText(pc)
}

// Told is a violation with the fewest choices that were found to show it.
type Told struct {
	Choices     string // for ReplayChoices
	Preemptions int
	Violation   *Violation
	Lines       []string // a table with a column for each CPU, and what it breaks
}

// longestStory is how many choices a command can take: Linux has a limit of 131,072 characters for an argument.
const longestStory = 5000

// Tell looks for the fewest choices that show a violation of a search, by at most so many schedules, and tells it. It returns nil
// where no schedule that is the first of its machine shows it, or none of few choices. Progress is told of the schedules left and the choices.
func Tell(s *Scenario, v *Variant, opt Options, found *Outcome, budget int, progress func(left, choices int)) (*Told, error) {
	l, err := newLab(s, v, opt.Mutant)
	if err != nil {
		return nil, err
	}
	opt = opt.of(s, v)
	m := &minimizer{l: l, opt: &opt, want: found.Violation, left: budget, progress: progress}
	best, err := m.minimize(found.N)
	if best == nil || len(best.story) > longestStory || err != nil {
		return nil, err
	}
	r := &recorder{l: l, lines: 1}
	o, err := r.follow(best.story)
	if err != nil {
		return nil, err
	}
	return &Told{best.story.String(), best.preemptions, o.Violation, r.tell.lines()}, nil
}

// follow runs a story on a machine of its own.
func (r *recorder) follow(s story) (*Outcome, error) {
	r.l.watch = r.attach
	out, err := r.l.run(&follower{story: s}, 0, 1)
	if err != nil || len(out) == 0 {
		return nil, errors.Join(err, errors.New("the schedule ended without an outcome"))
	}
	return &out[0], nil
}

// ReplayChoices runs the schedule of some choices from the boot, and writes what Replay writes.
func ReplayChoices(s *Scenario, v *Variant, opt Options, choices string, show Shown, w io.Writer) (*Outcome, error) {
	all, err := parseStory(choices)
	if err != nil {
		return nil, err
	}
	l, err := newLab(s, v, opt.Mutant)
	if err != nil {
		return nil, err
	}
	r := &recorder{l: l, lines: show.Lines}
	o, err := r.follow(all)
	if err != nil {
		return nil, err
	}
	return o, r.show(w, show, o)
}
