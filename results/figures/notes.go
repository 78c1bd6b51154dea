package figures

import (
	"slices"
	"strings"

	"kprobesim/results"
)

// ShowMissed adds to the caption of a figure what was missed, as its bars and lines do not say it.
func ShowMissed(f Figure, s *results.Set) {
	frame := f.frame()
	frame.Caption = append(slices.Clone(frame.Caption), results.MissedNotes(s)...)
}

// ShowOverrides adds the settings of a set to the title and the caption of a figure of it.
func ShowOverrides(f Figure, s *results.Set) {
	if len(s.Overrides) == 0 {
		return
	}
	frame := f.frame()
	frame.Title += s.OverridesText()
	frame.Caption = append(frame.Caption, "set: "+strings.Join(s.Overrides, ", "))
}

// ShowReplicates adds to the caption of a figure of a set of means that they are means, and how their intervals
// are drawn.
func ShowReplicates(f Figure, s *results.Set) {
	shown := "whiskers of simulated values: 95 % interval of the mean (bootstrap)"
	switch f.(type) {
	case *ECDF:
		shown = "pale bands: 95 % interval of the mean (bootstrap)"
	case *Stack:
		shown = "stacks have no intervals"
	}
	frame := f.frame()
	frame.Caption = append(slices.Clone(frame.Caption), results.ReplicateNotes(s, shown)...)
}
