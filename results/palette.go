package results

import (
	"image/color"
	"strings"
)

// phaseColor returns the colour that a phase of a hit has in every figure. Phases that follow each other in
// a hit are dark and light in turn, so that they can be told apart in grey.
func phaseColor(name string) (color.RGBA, bool) {
	c, ok := map[string]color.RGBA{
		"entry":     {0x0b, 0x2a, 0x58, 0xff}, // navy
		"dispatch":  {0x7f, 0xae, 0xe0, 0xff}, // light blue
		"handler":   {0xf7, 0xe6, 0x5a, 0xff}, // yellow
		"step":      {0x2f, 0x7f, 0x86, 0xff}, // teal
		"return":    {0xd4, 0xe9, 0xc6, 0xff}, // pale green
		"kretprobe": {0xa8, 0x47, 0x10, 0xff}, // brown
		"detour":    {0xf0, 0xb0, 0x6a, 0xff}, // pale orange
		"stop":      {0x5a, 0x3a, 0x6b, 0xff}, // purple
		"irq":       {0xc9, 0xa9, 0xd8, 0xff}, // pale purple
		"kernel":    {0x6e, 0x6e, 0x6e, 0xff}, // greys: not the probe's own
		"workload":  {0xd2, 0xd2, 0xd2, 0xff},
		"idle":      {0xf4, 0xf4, 0xf4, 0xff},
	}[name]
	return c, ok
}

// kindOf returns the letter of a probe's kind and mode that decides its colour: the mode in which its entry is
// hit, or how it returns. A name such as k-shared is one of its first part.
func kindOf(name string) string {
	letters, _, _ := strings.Cut(name, "/")
	letters, _, _ = strings.Cut(letters, ",")
	letters, _, _ = strings.Cut(letters, "-")
	kind, ok := map[string]string{
		"k": "k", "kk": "k", "post": "k", "faulting": "k", "b": "b", "o": "o", "oo": "o", "r": "r", "rb": "rb", "ro": "ro", "j": "j", "jb": "j", "je": "j",
		"e": "e", "ee": "e", "re": "re", "er": "re", "f": "f", "rf": "rf", "kr": "kr", "jr": "jr",
	}[letters]
	if !ok {
		return ""
	}
	return kind
}

// kindColor returns the colour that a kind of probe has in every figure: colours of Okabe and Ito, which people
// with any kind of colour blindness tell apart, some darkened so that a line of them shows on paper. A return
// probe has that of its entry, paled.
func kindColor(name string) (color.RGBA, bool) {
	c, ok := map[string]color.RGBA{
		"k":  {0x00, 0x72, 0xb2, 0xff}, // blue
		"b":  {0xd5, 0x5e, 0x00, 0xff}, // vermilion
		"o":  {0x00, 0x7a, 0x5a, 0xff}, // green
		"e":  {0xb8, 0x80, 0x00, 0xff}, // ochre
		"f":  {0x6a, 0x3d, 0x9a, 0xff}, // purple
		"j":  {0xb0, 0x50, 0x88, 0xff}, // pink
		"r":  {0x7c, 0xb8, 0xdc, 0xff},
		"rb": {0xf0, 0xa8, 0x70, 0xff},
		"ro": {0x7c, 0xc4, 0xa8, 0xff},
		"re": {0xe2, 0xc4, 0x70, 0xff},
		"rf": {0xb8, 0x9c, 0xd4, 0xff},
		"kr": {0x4a, 0x5a, 0x6a, 0xff},
		"jr": {0xd8, 0xa0, 0xc0, 0xff},
	}[kindOf(name)]
	return c, ok
}

// kindMark returns the place of a kind's mark among those of lines.
func kindMark(name string) int {
	return map[string]int{"k": 0, "b": 3, "o": 2, "e": 5, "f": 4, "j": 1, "r": 1, "rb": 4, "ro": 5, "re": 1, "rf": 2, "kr": 3, "jr": 4}[kindOf(name)]
}

// kindFill is the fill of a bar of a kind of probe; shade takes it to paper, 0 not at all. A name of no kind is
// grey.
func kindFill(name string, shade float64) fill {
	c, ok := kindColor(name)
	if !ok {
		c = color.RGBA{0x8a, 0x8a, 0x8a, 0xff}
	}
	return fill{color: mix(c, paper(), shade)}
}

// layerFill is the fill of layer i of n: that of its phase, or a place of a ramp for what is no phase.
func layerFill(name string, i, n int) fill {
	if c, ok := phaseColor(name); ok {
		return fill{color: c}
	}
	return rampFill(i, n)
}
