package reports

import (
	"fmt"
	"slices"
	"strings"

	"kprobesim/distro/attaching"
	"kprobesim/experiments/kinds"
	"kprobesim/results"
	"kprobesim/results/figures"
)

// drawLinux stacks the phases of each point.
func drawLinux(s *results.Set) (figures.Figure, error) {
	caption := "a single step is the copied instruction and a second breakpoint behind it"
	for _, x := range [][2]string{{"-event", "writes the record of a trace event"}, {"-count", "is counted by the kernel"}} {
		if slices.ContainsFunc(s.Points(), func(p results.Point) bool { return strings.HasSuffix(p.Probe, x[0]) }) {
			caption += "; " + x[0] + ": " + x[1]
		}
	}
	return stackLinux(s, "Cycles of a hit in a packaged kernel: ", caption)
}

// stackLinux stacks the phases of each point, and says which of them are below zero.
func stackLinux(s *results.Set, title, caption string) (figures.Figure, error) {
	var phases, below []string
	for _, p := range kinds.LinuxPhases() {
		phases = append(phases, p.String())
		for _, at := range s.Points() {
			if r, ok := s.Get(at, results.PhaseMetric(p.String())); ok && r.Value.Float() < -1 {
				below = append(below, fmt.Sprintf("%s of %s (%s)", p, at.Name(), r.Value.Round(0)))
			}
		}
	}
	captions := []string{caption}
	if len(below) > 0 {
		captions = append(captions, "drawn as none, as the rest takes less with the probe: "+strings.Join(below, ", "))
	}
	return figures.PhaseStack(s, phases, figures.Frame{
		Title: title + place(s.Points()[0]), YLabel: "cycles per hit", Caption: captions,
	})
}

// drawAttach stacks the phases of each way to attach with a program that does nothing. What other programs add is much the
// same for each way, so the caption says it.
func drawAttach(s *results.Set) (figures.Figure, error) {
	points := s.Points()
	if len(points) == 0 {
		return nil, figures.ErrNotSwept
	}
	more := map[string]*span{}
	var caption []string
	for _, program := range []string{attaching.Count, attaching.Ringbuf} {
		more[program] = &span{}
	}
	bare := s.Only(func(p results.Point) bool {
		for program, of := range more {
			if name, ok := strings.CutSuffix(p.Probe, "-"+program); ok && of.add(s, p, name) {
				return false
			}
		}
		return true
	})
	if of := more[attaching.Count]; of.n > 0 {
		caption = append(caption, fmt.Sprintf("a program that counts in a map takes %s cycles more", of))
	}
	if of := more[attaching.Ringbuf]; of.n > 0 {
		caption = append(caption, fmt.Sprintf("one that writes to a ring buffer takes %s", of))
	}
	return stackLinux(bare, "Cycles of a hit by way to attach: ", "the program does nothing; "+strings.Join(caption, ", "))
}

// drawWorkload stacks the phases of what an event costs a program.
func drawWorkload(s *results.Set) (figures.Figure, error) {
	if len(s.Points()) == 0 {
		return nil, figures.ErrNotSwept
	}
	return stackLinux(s, "Cycles that an event costs a program: ", "beyond the program without a probe; interrupts are left out")
}

// span is a range of cycles by which hits of some points take longer than hits of others.
type span struct {
	low, high float64
	n         int
}

// add takes a point in, and reports whether there is one of the other name.
func (r *span) add(s *results.Set, p results.Point, other string) bool {
	with, ok := s.Get(p, results.MetricCycles)
	p.Probe = other
	without, ok2 := s.Get(p, results.MetricCycles)
	if !ok || !ok2 {
		return false
	}
	d := with.Value.Float() - without.Value.Float()
	if r.n == 0 {
		r.low, r.high = d, d
	}
	r.low, r.high, r.n = min(r.low, d), max(r.high, d), r.n+1
	return true
}

// String writes a range in whole cycles.
func (r *span) String() string { return fmt.Sprintf("%.0f to %.0f", r.low, r.high) }
