package sim

import (
	"fmt"
	"io"

	"kprobesim/cpus"
	"kprobesim/image"
	"kprobesim/internal/clock"
)

// Profile adds up instructions and simulated time of one CPU by call stack, guest address and phase. It is an
// observer; Write turns it into a profile that `go tool pprof` opens. The delivery of an exception counts for
// the first instruction of its handler. See stacks for how calls are told.
type Profile struct {
	im      *image.Image
	stacks  stacks
	deliver delivery
	phased  bool   // samples have the phases of steps, and are of functions
	user    string // names all code of user mode, as one function at userCode; "" for each address by itself
}

// pcCost counts what the instruction at one address took, apart for the two ways in which its phase is
// counted: of its code, and of a single step.
type pcCost struct{ plain, step spent }

// place has a sample: an instruction, or the instructions of one phase in a function.
type place struct {
	pc    uint64
	phase image.Phase // zero where instructions tell
}

// spent is simulated time in ticks, with the number of instructions that it went to.
type spent struct {
	time  clock.Ticks
	count int64
}

// NewProfile returns an empty profile of code of the given image.
func NewProfile(im *image.Image) *Profile { return &Profile{im: im, stacks: newStacks(im)} }

// NewPhasedProfile returns an empty profile whose samples have the phases of the steps, as Phased passes them on, and
// not the image's. A sample is of a function, so that steps may be runs of instructions. Code without a name is told by its page.
func NewPhasedProfile(im *image.Image) *Profile {
	p := NewProfile(im)
	p.phased, p.stacks.pages = true, true
	return p
}

// userCode is where no kernel has a symbol.
const userCode = 1<<47 - 1

// Program has all code of user mode count for one function of a name. Programs without symbols would be a function an
// instruction otherwise, with a stack of all jumps. It is the bottom of each stack.
func (p *Profile) Program(name string) { p.user = name }

// Step implements cpus.Observer.
func (p *Profile) Step(s *cpus.Step) {
	var top *frame
	if s.User && p.user != "" {
		top = p.stacks.only(userCode, s.Context) // nothing calls it, and another task was left behind
	} else {
		top = p.stacks.step(s)
	}
	at := place{pc: s.PC}
	if p.phased {
		at = place{top.code, image.Phase(s.Phase)}
	}
	c := top.node.at(at)
	to := &c.plain
	if s.Context == cpus.SingleStep {
		to = &c.step
	}
	to.time += p.deliver.share(s)
	to.count += int64(1 + s.More)
}

// Write writes the profile in the compressed format of pprof. Equal profiles give equal bytes: no
// host time is in it.
func (p *Profile) Write(w io.Writer) error {
	prof := p.build()
	if err := prof.CheckValid(); err != nil {
		return fmt.Errorf("profile of %s: %w", p.im.Name, err)
	}
	if err := prof.Write(w); err != nil {
		return fmt.Errorf("writing the profile of %s: %w", p.im.Name, err)
	}
	return nil
}
