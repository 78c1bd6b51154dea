package results

import (
	"slices"
	"strings"
)

// probeWords says what the letters of probes mean, in the order in which captions list them.
func probeWords() [][2]string {
	return [][2]string{
		{"k", "kprobe, a breakpoint and a single step"},
		{"b", "boosted kprobe, a breakpoint and a jump back"},
		{"o", "optimized kprobe, a jump"},
		{"e", "kprobe whose instruction is emulated"},
		{"f", "kprobe by ftrace"},
		{"kk", "two kprobes"},
		{"oo", "two optimized kprobes"},
		{"ee", "two emulated kprobes"},
		{"r", "return probe"},
		{"rk", "return probe with a stepped entry"},
		{"rb", "return probe with a boosted entry"},
		{"ro", "return probe with an optimized entry"},
		{"re", "return probe with an emulated entry"},
		{"rf", "return probe by ftrace"},
		{"j", "jprobe"},
		{"jb", "boosted jprobe"},
		{"je", "emulated jprobe"},
		{"kr", "kprobe and return probe"},
		{"er", "kprobe and return probe"},
		{"jr", "jprobe and return probe"},
		{"u", "probe in user space"},
		{"uk", "probe in user space, a breakpoint and a single step"},
		{"ur", "return probe in user space"},
		{"w", "store to a word that is watched for writes"},
		{"rw", "load of a word that is watched for all accesses"},
		{"x", "call of a function whose first instruction is watched"},
		{"beside", "watched is another word of the line"},
	}
}

// ExplainProbes spells out the letters by which points are named, as one paragraph of a caption; nothing when
// no name is known.
func ExplainProbes(points []Point) []string {
	var parts []string
	for _, w := range probeWords() {
		if slices.ContainsFunc(points, func(p Point) bool { return letters(p) == w[0] }) {
			parts = append(parts, w[0]+": "+w[1])
		}
	}
	if slices.ContainsFunc(points, func(p Point) bool { return strings.HasSuffix(p.Name(), "-trap") }) {
		parts = append(parts, "-trap: its return is a breakpoint, too")
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{strings.Join(parts, "; ")}
}

// letters is the part of a point's name that says the kind of probe.
func letters(p Point) string {
	word, _, _ := strings.Cut(p.Name(), "-")
	return word
}
