package figures

import (
	"image/color"
	"strconv"
	"strings"
)

// colorOf reads a colour written as six digits: red, green and blue.
func colorOf(digits string) color.RGBA {
	n, _ := strconv.ParseUint(digits, 16, 32) // our own lists are well-formed; none is black
	return color.RGBA{uint8(n >> 16), uint8(n >> 8), uint8(n), 0xff}
}

// phaseColor returns the colour that a phase of a hit has in every figure. Phases that follow each other in
// a hit are dark and light in turn, so that they can be told apart in grey.
func phaseColor(name string) (color.RGBA, bool) {
	c, ok := map[string]string{
		"entry":     "0b2a58", // navy
		"dispatch":  "7faee0", // light blue
		"handler":   "f7e65a", // yellow
		"step":      "2f7f86", // teal
		"return":    "d4e9c6", // pale green
		"kretprobe": "a84710", // brown
		"rethook":   "a84710", // the same by its later name
		"event":     "8a4a78", // plum
		"detour":    "f0b06a", // pale orange
		"stop":      "5a3a6b", // purple
		"irq":       "c9a9d8", // pale purple
		"kernel":    "6e6e6e", // greys: not the probe's own
		"workload":  "d2d2d2",
		"user":      "d2d2d2",
		"other":     "6e6e6e",
		"idle":      "f4f4f4",
	}[name]
	return colorOf(c), ok
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
	c, ok := map[string]string{
		"k":  "0072b2", // blue
		"b":  "d55e00", // vermilion
		"o":  "007a5a", // green
		"e":  "b88000", // ochre
		"f":  "6a3d9a", // purple
		"j":  "b05088", // pink
		"r":  "7cb8dc",
		"rb": "f0a870",
		"ro": "7cc4a8",
		"re": "e2c470",
		"rf": "b89cd4",
		"kr": "4a5a6a",
		"jr": "d8a0c0",
	}[kindOf(name)]
	return colorOf(c), ok
}

// kindMark returns the place of a kind's mark among the marks of lines.
func kindMark(name string) int {
	return map[string]int{"k": 0, "b": 3, "o": 2, "e": 5, "f": 4, "j": 1, "r": 1, "rb": 4, "ro": 5, "re": 1, "rf": 2, "kr": 3, "jr": 4}[kindOf(name)]
}

// kindFill is the fill of a bar of a kind of probe; shade takes it to paper, 0 not at all. A name of no kind is
// grey.
func kindFill(name string, shade float64) fill {
	c, ok := kindColor(name)
	if !ok {
		c = colorOf("8a8a8a")
	}
	return fill{color: mix(c, paper(), shade)}
}

// layerFill is the fill of layer i of n: that of its phase, or a place of a ramp for what is no phase.
func layerFill(name string, i, n int) fill {
	if c, ok := phaseColor(name); ok {
		return phaseHatch(name, c)
	}
	return rampFill(i, n)
}

// phaseHatch hatches the phases whose grey is that of another phase of the same figure, each pair in its own way.
func phaseHatch(name string, c color.RGBA) fill {
	f := fill{color: c}
	switch name {
	case "step", "stop", "event", "kernel", "other":
		f.hatch = mix(c, paper(), 0.55)
		f.falling = name == "kernel" || name == "other" || name == "stop"
	case "dispatch", "irq", "workload", "user":
		f.hatch = mix(c, color.Black, 0.45)
		f.falling = name == "workload" || name == "user" || name == "irq"
	}
	return f
}
