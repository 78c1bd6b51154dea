package figures

import (
	"image/color"
	"math"
	"strings"
	"testing"

	"kprobesim/internal/require"
)

func grey(c color.Color) float64 { return float64(color.GrayModel.Convert(c).(color.Gray).Y) }

// TestPhasesDifferInGrey holds phases that can lie on each other in a stack apart, also in print without colours.
func TestPhasesDifferInGrey(t *testing.T) {
	for _, order := range []string{
		"entry dispatch", "entry handler", "dispatch step", "handler step", "step return", "entry return",
		"return kretprobe", "kretprobe detour", "step dispatch", "handler kretprobe",
	} {
		below, above, _ := strings.Cut(order, " ")
		a, known := phaseColor(below)
		b, too := phaseColor(above)
		if !known || !too || math.Abs(grey(a)-grey(b)) < 40 {
			t.Errorf("%s and %s have grey %.0f and %.0f of 255", below, above, grey(a), grey(b))
		}
	}
}

// TestKindsHaveOneColour: bars, lines and distributions of a kind of probe have the same colour, wherever it stands.
func TestKindsHaveOneColour(t *testing.T) {
	for _, name := range []string{"k", "b", "o", "r", "rb", "ro", "j", "e", "f"} {
		want := kindFill(name, 0).color
		for place := range 3 {
			line, mark := groupStyle(name+", one call", place)
			require.That(t, line.Color == want && mark.Color == want, "a line of %s at place %d is %v, its bar %v", name, place, line.Color, want)
		}
		shared := kindFill(name+"-shared", 0).color
		require.That(t, shared == want, "%s-shared is %v, %s %v", name, shared, name, want)
	}
	line, _ := groupStyle("CPUs idle", 0)
	require.That(t, line.Color != kindFill("k", 0).color, "what is no kind has the colour of one")
}

// TestMarksDiffer: kinds that stand in one figure have marks of their own.
func TestMarksDiffer(t *testing.T) {
	for _, figure := range []string{"k b o r rb ro", "k f e rf re", "k j kr jr"} {
		taken := map[int]string{}
		for _, name := range strings.Fields(figure) {
			if mark := kindMark(name); taken[mark] != "" {
				t.Errorf("%s has the mark of %s", name, taken[mark])
			} else {
				taken[mark] = name
			}
		}
	}
}
