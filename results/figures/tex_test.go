package figures

import (
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgtex"

	"kprobesim/internal/hosttools"
	"kprobesim/internal/require"
)

// TestFiguresAreTypeset has LaTeX set every sample figure, with texts that TeX would take as commands.
func TestFiguresAreTypeset(t *testing.T) {
	latex := hosttools.Need(t, "pdflatex", "texlive-latex-recommended", "typesetting figures")
	figures := sampleFigures(t)
	figures["odd"] = &Bars{
		Frame:  Frame{Title: "50 % of $x_1$ & more", YLabel: `µs #1 {a} ~ ^ \b < > | "q" → ∞`},
		Groups: []string{"a_b"}, Series: []BarSeries{{Name: "s", Bars: []Bar{{Value: 1e-9, Label: "1 %"}}}},
	}
	dir, pages := t.TempDir(), ""
	for _, name := range slices.Sorted(maps.Keys(figures)) {
		files := require.Must(Render(figures[name], name))(t)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".tex"), files[name+".tex"], 0o644))
		pages += `\noindent\input{` + name + "}\n\\clearpage\n"
	}
	main := "\\documentclass{article}\n\\usepackage[T1]{fontenc}\n\\usepackage{textcomp,pgf}\n\\begin{document}\n" + pages + "\\end{document}\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.tex"), []byte(main), 0o644))
	c := exec.Command(latex, "-interaction=nonstopmode", "-halt-on-error", "main.tex")
	c.Dir = dir
	log, err := c.CombinedOutput()
	require.Need(t, err == nil && strings.Contains(string(log), "main.pdf ("), "pdflatex: %v\n%s", err, log[max(0, len(log)-3000):])
	if keep := os.Getenv("KPROBESIM_FIGURES"); keep != "" {
		b := require.Must(os.ReadFile(filepath.Join(dir, "main.pdf")))(t)
		require.NoError(t, os.WriteFile(filepath.Join(keep, "typeset.pdf"), b, 0o644))
	}
}

func TestParseLength(t *testing.T) {
	for text, want := range map[string]float64{"3.3in": 83.82, "84mm": 84, "8.4cm": 84, "72pt": 25.4} {
		got, err := ParseLength(text)
		require.That(t, err == nil && !(math.Abs(got-want) > 1e-9), "%s is %g mm, %v; want %g", text, got, err, want)
	}
	for _, text := range []string{"", "3.3", "in", "-1in", "0mm", "NaNmm", "Infcm", "3 furlongs"} {
		got, err := ParseLength(text)
		require.That(t, err != nil, "%q is %g mm", text, got)
	}
}

// TestLengthsAreRounded has two processors' idea of one length, and what is none.
func TestLengthsAreRounded(t *testing.T) {
	for text, want := range map[string]string{
		`\pgfpoint{71.96338409664125pt}{47.2pt}`:     `\pgfpoint{71.963pt}{47.2pt}`,
		`\pgfpoint{71.96338409664124pt}{-0.00049pt}`: `\pgfpoint{71.963pt}{-0.000pt}`,
		"us_per_hit 0.123456":                        "us_per_hit 0.123456",
	} {
		require.Equal(t, string(roundLengths([]byte(text))), want, "%s", text)
	}
}

// TestEscapedTextKeepsItsMiddle holds that what is written out for TeX takes no place.
func TestEscapedTextKeepsItsMiddle(t *testing.T) {
	canvas := vgtex.New(100, 100)
	face := typeStyle(valueSize).Handler.Cache().Lookup(typeStyle(valueSize).Font, valueSize)
	texText{canvas}.FillString(face, vg.Point{X: 10, Y: 20}, "a_b%c")
	var b strings.Builder
	require.Must(canvas.WriteTo(&b))(t)
	at := fmt.Sprintf("at={\\pgfpoint{%gpt}{20pt}}", 10+face.Width("a_b%c")/2)
	require.That(t, strings.Contains(b.String(), at), "not %s:\n%s", at, b.String())
}

// TestTextsKeepTheirNumbers has a text and a title with numbers that would be rewritten in a length.
func TestTextsKeepTheirNumbers(t *testing.T) {
	const odd = "2.5e-3 of 1.23456pt"
	b, err := renderTeX(&Bars{
		Frame:  Frame{Title: odd, YLabel: odd},
		Groups: []string{"a"}, Series: []BarSeries{{Name: "s", Bars: []Bar{{Value: 1, Label: "1e-9"}}}},
	})
	require.NoError(t, err)
	text := strings.ReplaceAll(string(b), "-{}", "-")
	require.That(t, strings.Contains(text, "% "+odd+"\n") && strings.Count(text, odd) >= 3 && strings.Contains(text, "selectfont 1e-9}"), "the figure is\n%s", text)
	if got := string(plainNumbers([]byte("\\pgfpoint{1e-15pt}{-2.5e-16pt}\n"))); got != "\\pgfpoint{0pt}{0pt}\n" {
		t.Error(got)
	}
}
