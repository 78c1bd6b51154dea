package reports

import (
	"path/filepath"
	"slices"
	"strings"

	"kprobesim/results"
	"kprobesim/results/outdir"
)

// Look is how figures are drawn: their sides in millimetres, 0 for what they have by themselves, and whether title and
// caption are left out of the picture, for a document that sets them in its own type. They then stand in NAME.txt.
type Look struct {
	Width, Height float64
	Bare          bool
}

// drawnFigures returns the figures that a directory holds; those that can be drawn when it holds none.
func drawnFigures(files map[string][]byte, s *results.Set) []string {
	var have, can []string
	for _, f := range allFigures() {
		if files[f.name+".svg"] != nil {
			have = append(have, f.name)
		}
		if len(s.Points()) == 0 {
			continue
		}
		if _, err := f.draw(f.shown(s)); err == nil {
			can = append(can, f.name)
		}
	}
	if len(have) == 0 {
		return can
	}
	return have
}

// Redraw reads a results directory and draws its figures again, the named ones or, when none is named, all that it has.
// Results that somebody changed are an error. A figure that somebody changed stays theirs.
func Redraw(dir string, figures []string, look Look) error {
	k, err := load(dir, func(name string) bool {
		return !slices.Contains(FigureNames(), strings.TrimSuffix(name, filepath.Ext(name)))
	})
	if err != nil {
		return err
	}
	if len(figures) == 0 {
		figures = drawnFigures(k.Files, k.Means)
	}
	if err := Draw(k.Files, k.Means, figures, look); err != nil {
		return err
	}
	return outdir.WriteDir(dir, k.Files)
}
