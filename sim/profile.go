package sim

import (
	"fmt"
	"io"
	"slices"

	"kprobesim/cpus"
	"kprobesim/image"
	"kprobesim/internal/clock"
)

// Profile adds up instructions and simulated time by guest address and phase. It is an observer;
// Write turns it into a profile that `go tool pprof` opens. The delivery of an exception counts for
// the first instruction of its handler. Stacks are one frame deep: probes replace return addresses
// and leave exceptions elsewhere than they came from, which no stack kept beside survives.
type Profile struct {
	im *image.Image

	base  uint64   // address of dense[0]
	dense []pcCost // one an address of the image's code
	far   map[uint64]*pcCost

	deliver delivery
}

// pcCost is what the instruction at one address took, apart for the two ways in which its phase is
// counted: of its code, and of a single step.
type pcCost struct {
	plain, step spent
}

// spent is simulated time in ticks, with the number of instructions that it went to.
type spent struct {
	time  clock.Ticks
	count int64
}

// maxDense is how many bytes of code get an array element each; images spread wider use a map.
const maxDense = 4 << 20

// NewProfile returns an empty profile of code of the given image.
func NewProfile(im *image.Image) *Profile {
	p := &Profile{im: im, far: map[uint64]*pcCost{}}
	if start, size := im.CodeRange(); size <= maxDense {
		p.base, p.dense = start, make([]pcCost, size)
	}
	return p
}

// Step implements cpus.Observer.
func (p *Profile) Step(s *cpus.Step) {
	c := p.at(s.PC)
	to := &c.plain
	if s.Context == cpus.SingleStep {
		to = &c.step
	}
	to.time += p.deliver.share(s)
	to.count++
}

// at finds the account of an address. The map serves code outside of the image's sections, and
// images that are spread wide.
func (p *Profile) at(pc uint64) *pcCost {
	if off := pc - p.base; off < uint64(len(p.dense)) {
		return &p.dense[off]
	}
	c := p.far[pc]
	if c == nil {
		c = &pcCost{}
		p.far[pc] = c
	}
	return c
}

// Reset forgets everything counted so far, for instance what came before the region of interest.
func (p *Profile) Reset() {
	clear(p.dense)
	clear(p.far)
	p.deliver = delivery{}
}

// each visits the used addresses in ascending order.
func (p *Profile) each(f func(pc uint64, c *pcCost)) {
	far := make([]uint64, 0, len(p.far))
	for pc := range p.far {
		far = append(far, pc)
	}
	slices.Sort(far) // no order of the map remains
	split, _ := slices.BinarySearch(far, p.base)
	visit := func(pc uint64, c *pcCost) {
		if c.plain.count|c.step.count != 0 {
			f(pc, c)
		}
	}
	for _, pc := range far[:split] {
		visit(pc, p.far[pc])
	}
	for i := range p.dense {
		visit(p.base+uint64(i), &p.dense[i])
	}
	for _, pc := range far[split:] {
		visit(pc, p.far[pc])
	}
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
