package figures

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"strconv"
	"strings"
)

// Alt is the text for those who cannot see a figure: its title, what its data are and what its caption says.
func Alt(f Figure) string {
	frame := f.frame()
	parts := []string{f.data()}
	if frame.Title != "" {
		parts = append([]string{frame.Title + "."}, parts...)
	}
	return strings.Join(append(parts, frame.Caption...), " ")
}

// Caption is the caption of a figure as one text.
func Caption(f Figure) string {
	frame := f.frame()
	return strings.Join(append([]string{frame.Title}, frame.Caption...), ". ")
}

// describe puts title and alternative text into an SVG, where readers of screens look for them.
func describe(svg []byte, f Figure) ([]byte, error) {
	begin := bytes.Index(svg, []byte("<svg"))
	end := bytes.IndexByte(svg[max(begin, 0):], '>')
	if begin < 0 || end < 0 {
		return nil, errors.New("no root element; the SVG library writes it differently now")
	}
	at := begin + end
	var out bytes.Buffer
	out.Write(svg[:at])
	fmt.Fprintf(&out, " role=\"img\">\n<title>%s</title>\n<desc>%s</desc>",
		html.EscapeString(f.frame().Title), html.EscapeString(f.data()))
	out.Write(svg[at+1:])
	return out.Bytes(), nil
}

// short writes a number with four digits at most.
func short(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

func (b *Bars) data() string {
	var parts []string
	for g, group := range b.Groups {
		var values []string
		for _, s := range b.Series {
			bar := s.Bars[g]
			if bar.Absent {
				continue
			}
			name := s.Name
			if bar.Hatched {
				name = s.HatchedName
			}
			values = append(values, strings.TrimSpace(name+" "+short(bar.Value)))
		}
		parts = append(parts, group+": "+strings.Join(values, ", "))
	}
	return fmt.Sprintf("Bars of %s. %s.", b.YLabel, strings.Join(parts, "; "))
}

func (s *Stack) data() string {
	var parts []string
	for g, group := range s.Groups {
		var values []string
		for _, l := range s.Layers {
			if l.Values[g] != 0 {
				values = append(values, l.Name+" "+short(l.Values[g]))
			}
		}
		parts = append(parts, fmt.Sprintf("%s: %s (%s)", group, short(s.total(g)), strings.Join(values, ", ")))
	}
	return fmt.Sprintf("Stacked columns of %s. %s.", s.YLabel, strings.Join(parts, "; "))
}

// data says where each line begins and ends, and its largest value when that lies between.
func (l *Lines) data() string {
	var parts []string
	for _, s := range l.Series {
		if len(s.Points) == 0 {
			continue
		}
		first, last := s.Points[0], s.Points[len(s.Points)-1]
		most := first
		for _, p := range s.Points {
			if p.Y > most.Y {
				most = p
			}
		}
		text := fmt.Sprintf("%s: %s at %s, %s at %s", s.Name, short(first.Y), short(first.X), short(last.Y), short(last.X))
		if most.Y > max(first.Y, last.Y) {
			text += fmt.Sprintf(", at most %s at %s", short(most.Y), short(most.X))
		}
		parts = append(parts, text)
	}
	return fmt.Sprintf("Lines of %s over %s. %s.", l.YLabel, l.XLabel, strings.Join(parts, "; "))
}

// data says of each curve what half of the observations and the longest are.
func (e *ECDF) data() string {
	var parts []string
	for _, c := range e.Curves {
		half := c.Steps[len(c.Steps)-1]
		for _, s := range c.Steps {
			if s.Share >= 0.5 {
				half = s
				break
			}
		}
		parts = append(parts, fmt.Sprintf("%s: half %s at most, all %s", c.Name, short(half.X), short(c.Steps[len(c.Steps)-1].X)))
	}
	return fmt.Sprintf("Distributions of %s. %s.", e.XLabel, strings.Join(parts, "; "))
}

func (t *Tornado) data() string {
	var parts []string
	for _, p := range t.Panels {
		var values []string
		for _, s := range p.Swings {
			values = append(values, fmt.Sprintf("%s %s to %s", s.Name, short(s.Low), short(s.High)))
		}
		parts = append(parts, p.Title+": "+strings.Join(values, ", "))
	}
	return fmt.Sprintf("Bars of %s. %s.", t.XLabel, strings.Join(parts, "; "))
}

func (p *Panels) data() string {
	var parts []string
	for _, b := range p.Panels {
		parts = append(parts, strings.TrimSpace(b.frame().Title+". "+b.data()))
	}
	return fmt.Sprintf("%d panels. %s", len(p.Panels), strings.Join(parts, " "))
}
