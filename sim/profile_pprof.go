package sim

import (
	"fmt"

	"github.com/google/pprof/profile"

	"kprobesim/image"
	"kprobesim/internal/clock"
)

// profileBuilder makes locations and functions in the order of the addresses that need them. Their
// numbers follow that order, so that equal profiles are written as equal bytes.
type profileBuilder struct {
	im        *image.Image
	user      string
	prof      *profile.Profile
	functions map[string]*profile.Function // by name and file
	locations map[uint64]*profile.Location // by address
}

// build converts to pprof's form: a sample a stack, address and phase, labelled with the phase.
func (p *Profile) build() *profile.Profile {
	b := &profileBuilder{
		im: p.im, user: p.user, functions: map[string]*profile.Function{}, locations: map[uint64]*profile.Location{},
		prof: &profile.Profile{
			SampleType: []*profile.ValueType{
				{Type: "instructions", Unit: "count"}, {Type: "cycles", Unit: "cycles"},
			},
			DefaultSampleType: "cycles",
			PeriodType:        &profile.ValueType{Type: "instructions", Unit: "count"},
			Period:            1,
			Comments:          []string{"simulated cycles of guest code of " + p.im.Name},
		},
	}
	b.mapping()
	var carry clock.Ticks
	p.stacks.root.each(nil, func(stack []uint64, at place, c *pcCost) {
		locs := []*profile.Location{b.location(at.pc)}
		for _, call := range stack {
			locs = append(locs, b.location(call))
		}
		plain := p.im.Phase(at.pc)
		if p.phased {
			plain = at.phase
		}
		for _, part := range [...]struct {
			phase image.Phase
			spent
		}{{plain, c.plain}, {image.PhaseStep, c.step}} {
			if part.count == 0 {
				continue
			}
			// Ticks left over are carried along, so that the sum is right to a cycle.
			carry += part.time
			cycles := carry.Cycles()
			carry -= clock.FromCycles(cycles)
			b.prof.Sample = append(b.prof.Sample, &profile.Sample{
				Location: locs, Value: []int64{part.count, cycles},
				Label: map[string][]string{"phase": {part.phase.String()}},
			})
		}
	})
	return b.prof
}

// mapping covers the code of the image.
func (b *profileBuilder) mapping() {
	m := &profile.Mapping{
		ID: 1, File: b.im.Name, HasFunctions: true, HasFilenames: true, HasLineNumbers: true,
	}
	start, size := b.im.CodeRange()
	m.Start, m.Limit = start, start+size
	b.prof.Mapping = []*profile.Mapping{m}
}

// location describes one address by function and source line.
func (b *profileBuilder) location(pc uint64) *profile.Location {
	if loc := b.locations[pc]; loc != nil {
		return loc
	}
	name, start := b.function(pc)
	file, line, _ := b.im.Line(pc)
	loc := &profile.Location{
		ID: uint64(len(b.prof.Location) + 1), Address: pc,
		Line: []profile.Line{{Function: b.functionOf(name, file, start), Line: int64(line)}},
	}
	if m := b.prof.Mapping[0]; pc >= m.Start && pc < m.Limit {
		loc.Mapping = m
	}
	b.prof.Location = append(b.prof.Location, loc)
	b.locations[pc] = loc
	return loc
}

// function names the code at an address and the line it starts in; code that was written at run
// time has the name of its section.
func (b *profileBuilder) function(pc uint64) (name string, line int) {
	if pc == userCode && b.user != "" {
		return b.user, 0
	}
	if sym, _, ok := b.im.At(pc); ok {
		_, line, _ = b.im.Line(sym.Addr)
		return b.im.FullName(sym), line
	}
	if s := b.im.SectionAt(pc); s != "" {
		return fmt.Sprintf("[%s]", s), 0
	}
	return fmt.Sprintf("[%#x]", pc), 0
}

// functionOf tells static functions of one name apart by their files.
func (b *profileBuilder) functionOf(name, file string, start int) *profile.Function {
	key := name + "\x00" + file
	f := b.functions[key]
	if f == nil {
		f = &profile.Function{
			ID: uint64(len(b.prof.Function) + 1), Name: name, SystemName: name, Filename: file,
			StartLine: int64(start),
		}
		b.functions[key] = f
		b.prof.Function = append(b.prof.Function, f)
	}
	return f
}
