package engine

import (
	"slices"

	"kprobesim/cpus"
)

// binding is the present group of a core that binds operations to pipes by groups: of as many operations as are renamed a cycle, each
// pipe of the ports "alu" and "branch" gets one. An operation that finds no pipe begins another group. A group keeps its pipes
// when it waits for a place in the scheduler, so that chains that want the same pipe in the same cycle meet again and again.
type binding struct {
	given  uint16               // pipes that operations of the group have
	slots  int                  // operations of the group
	chosen [cpus.MaxUops]uint16 `state:"-"` // sets of pipes of the instruction that joined last
}

// noPipes is the price of an operation that is bound to none.
var noPipes pipePrice

// initBinding notes the pipes that are bound by groups, in the order in which they are chosen: first what branches alone go to, then
// the pipes of "alu" as the description names them. Operations that go elsewhere take the first pipe that is free.
func (p *pipeline) initBinding(cfg *cpus.Config) {
	p.atStart = true
	names, alu := cfg.PipeNames(), cfg.Pipes["alu"]
	own := slices.DeleteFunc(slices.Clone(cfg.Pipes["branch"]), func(n string) bool { return slices.Contains(alu, n) })
	for _, n := range append(own, alu...) {
		pipe := uint16(1) << slices.Index(names, n)
		p.choices, p.bound = append(p.choices, pipe), p.bound|pipe
	}
}

// join puts an instruction of n operations, which the front end has at a time, into the present group, or begins another one with it
// in the cycle behind.
func (p *pipeline) join(op *Op, u *pipePrice, n int, d ticks) {
	if d > p.at || p.slots+n > p.width || !p.choose(op, u) {
		if p.slots != 0 && d <= p.at {
			p.notBefore(p.at + 1)
		}
		p.given, p.slots = 0, 0
		p.choose(op, u)
	}
	p.slots += n
}

// choose finds pipes for an instruction's operations, and reports whether the group has them.
func (p *pipeline) choose(op *Op, u *pipePrice) bool {
	given := p.given
	for i := range u.n {
		set := u.to[i&(cpus.MaxUops-1)]
		p.chosen[i&(cpus.MaxUops-1)] = set
		if set&^p.bound != 0 || op.Flags&fusedFirst != 0 {
			continue
		}
		free := set &^ given
		if free == 0 {
			if p.given == 0 { // an instruction of several operations: no other group has more
				continue
			}
			return false
		}
		pipe := p.choices[slices.IndexFunc(p.choices, func(g uint16) bool { return free&g != 0 })]
		p.chosen[i&(cpus.MaxUops-1)], given = pipe, given|pipe
	}
	p.given = given
	return true
}

// pipeSets are the sets of pipes by name, a bit for each pipe.
func pipeSets(cfg *cpus.Config) map[string]uint16 {
	number, sets := map[string]int{}, map[string]uint16{}
	for i, n := range cfg.PipeNames() {
		number[n] = i
	}
	for name, set := range cfg.Pipes {
		for _, n := range set {
			sets[name] |= 1 << number[n]
		}
	}
	return sets
}

// The group's place in a word of a state.
const (
	givenShift = 32
	slotsShift = 48
)

// freezeBinding is the group as a part of a word.
func (b *binding) freezeBinding() uint64 {
	return uint64(b.given)<<givenShift | uint64(b.slots)<<slotsShift
}

// meltBinding is the way back.
func (b *binding) meltBinding(w uint64) {
	b.given, b.slots = uint16(w>>givenShift), int(w>>slotsShift)
}
