package races

import (
	"math/rand/v2"
	"slices"
)

// strike names an interrupt that comes to a CPU by the schedule's choice.
type strike uint8

// Strikes.
const (
	nothing    strike = iota
	tickStrike        // the timer's interrupt, which a CPU may hold off
	nmiStrike         // a non-maskable one
)

// strikeWords name them, as keys and choices do.
func strikeWords() []string { return []string{"", "tick", nmiLine} }

// nmiLine is how instruction sets name the line of non-maskable interrupts.
const nmiLine = "nmi"

// nmiTarget is the guest's function that every NMI executes, and that takes probes.
const nmiTarget = "nmi_sample"

func (s strike) String() string { return strikeWords()[s] }

// strikeOf reads a word. One that is none is nothing.
func strikeOf(word string) strike { return strike(max(slices.Index(strikeWords(), word), 0)) }

// strikes draws interrupts, and behind which instruction they come. Its random numbers are its own, so that variants without it find the same schedules
// as before.
type strikes struct {
	kinds []strike // that a variant has
	cpus  int
	r     *rand.Rand
	every int // points in hot code, at one of which something comes
	left  int // that may come in this schedule
}

// mostStrikes bounds the interrupts of one schedule: their handlers are hot code, too, and could leave no time for tasks.
const mostStrikes = 24

func (x *strikes) begin(seed, n uint64) {
	if len(x.kinds) > 0 {
		x.r = newRand(seed^0x5717_1ce5, n)
		x.every, x.left = 32<<(2*x.r.IntN(4)), mostStrikes
	}
}

// strike comes behind an instruction of hot code: to the CPU that has executed it in three cases of four, else to any.
func (x *strikes) strike(p *point) (what strike, cpu int) {
	if len(x.kinds) == 0 || !p.hot || p.last < 0 || x.left == 0 || x.r.IntN(x.every) != 0 {
		return nothing, 0
	}
	x.left--
	cpu = p.last
	if x.r.IntN(4) == 0 {
		cpu = x.r.IntN(x.cpus)
	}
	return x.kinds[x.r.IntN(len(x.kinds))], cpu
}
