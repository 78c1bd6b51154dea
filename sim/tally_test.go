package sim

import (
	"testing"

	"kprobesim/cpus"
	"kprobesim/image"
	"kprobesim/internal/clock"
	"kprobesim/internal/require"
)

// alternate gives steps one phase and the other in turn.
type alternate struct{ n int }

func (a *alternate) Phase(*cpus.Step) image.Phase {
	a.n++
	return []image.Phase{image.PhaseEvent, image.PhaseRethook}[a.n%2]
}

// TestTally adds up what Phased passes on, and takes nothing away: the sum is that of all steps, and the delivery of an
// exception is its handler's.
func TestTally(t *testing.T) {
	tally, profile := NewTally(OfSteps{}), NewPhasedProfile(loadGood(t))
	o := Phased(&alternate{}, tally, profile)
	var want clock.Ticks
	for _, s := range steps() {
		phase := s.Phase
		o.Step(s)
		want += s.End - s.Start
		require.Need(t, s.Phase == phase, "the observer changed a step")
	}
	time := tally.Time()
	require.That(t, (time[image.PhaseEvent]+time[image.PhaseRethook]) == want && len(time) == 2, "%v, want a sum of %d", time, want)
	by := byPhase(t, profile)
	require.That(t, len(by) == 2 && by["event"][0] == int64(tally.count[image.PhaseEvent]) && by["rethook"][0] == int64(tally.count[image.PhaseRethook]), "the profile has %v, the tally %v", by, tally.count[:image.PhaseRethook+1])
	late := NewTally(OfSteps{})
	late.Step(&cpus.Step{End: 10 * clock.PerCycle, Stalls: cpus.Stalls{Exception: 8 * clock.PerCycle}, Exception: "trap"})
	late.Step(&cpus.Step{Start: 10 * clock.PerCycle, End: 11 * clock.PerCycle, Phase: uint8(image.PhaseEntry)})
	require.That(t, late.Time()[image.PhaseKernel] == 2*clock.PerCycle && late.Time()[image.PhaseEntry] == 9*clock.PerCycle, "an exception: %v", late.Time())
}
