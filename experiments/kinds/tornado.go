package kinds

import (
	"fmt"

	"kprobesim/results"
	"kprobesim/results/figures"
)

// FigureTornado is the figure of an analysis of sensitivity. No experiment can ask for it.
const FigureTornado = "tornado"

// tornadoBars bounds the bars of a panel, so that names can be read.
const tornadoBars = 8

// drawTornado draws a panel for each row. Every two rows take one more height.
func drawTornado(s *results.Set) (figures.Figure, error) {
	if len(s.Points()) == 0 {
		return nil, figures.ErrNotSwept
	}
	first := s.Points()[0]
	frame := figures.Frame{
		Title:  "What moves the overhead of a hit most: " + place(first),
		XLabel: "change of the cycles of a hit, %", Width: 165,
		Caption: []string{"each number alone at the low and the high end of its uncertainty"},
	}
	if r, ok := s.Get(first, results.MetricRefitted); ok {
		frame.Caption = append(frame.Caption, fmt.Sprintf("behind each change %s numbers were fitted again, so that the figures that they are fitted on stay", r.Value))
	}
	return figures.TornadoOf(s, frame, tornadoBars)
}
