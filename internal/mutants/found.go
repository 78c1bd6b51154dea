package mutants

import (
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Found says what a search for races has made of a mistake in a protocol.
type Found struct {
	Title, Sum string // of the mutant
	By         string // scenario and variant that have noticed it, or "-"
	Kind       string // of the violation, or "-"
	InTurns    string // the kind when CPUs take turns with no preemption, or "-": then it needs no interleaving
	Schedules  uint64 // to the first violation, of all variants that were asked
}

// Caught reports whether a search has noticed the mistake.
func (f *Found) Caught() bool { return f.By != "-" }

// Sum changes with what a search makes and asks.
func (m *Mutant) Sum() string {
	return fmt.Sprintf("%.6x", sha256.Sum256([]byte(strings.Join(append([]string{m.File, m.Old, m.New}, m.By...), "\x00"))))
}

// ReadFound reads a list of them; none is a list that is not there.
func ReadFound(path string) (list []Found, err error) {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	for n, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		var f Found
		if _, err := fmt.Sscan(line, &f.Title, &f.Sum, &f.By, &f.Kind, &f.InTurns, &f.Schedules); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n+1, err)
		}
		list = append(list, f)
	}
	return list, err
}

// WriteFound writes the list, in the order of the mutants. What is known of others is dropped.
func WriteFound(path string, order []Mutant, list []Found) error {
	var b strings.Builder
	b.WriteString("# mutant, sum of it, noticed by, violation, the same when CPUs take turns, schedules: written by make protocols\n")
	for i := range order {
		if at := At(list, &order[i]); at != nil {
			fmt.Fprintln(&b, at.Title, at.Sum, at.By, at.Kind, at.InTurns, at.Schedules)
		}
	}
	return os.WriteFile(path, []byte(b.String()), 0o666)
}

// At returns the entry of a mutant, or nil.
func At(list []Found, m *Mutant) *Found {
	i := slices.IndexFunc(list, func(f Found) bool { return f.Title == m.Title && f.Sum == m.Sum() })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// class sums up the mutants of one class.
type class struct {
	name              string
	all, caught, turn int
	harmless          int
	schedules         []uint64
}

// Table is a table of classes of mistakes, for documents, and below it why searches do not notice the others that do harm.
func Table(all []Mutant, list []Found) string {
	var classes []*class
	var reasons []string
	open := map[string][]string{}
	total := &class{name: "all"}
	for i := range all {
		m := &all[i]
		at := slices.IndexFunc(classes, func(c *class) bool { return c.name == m.Class })
		if at < 0 {
			at = len(classes)
			classes = append(classes, &class{name: m.Class})
		}
		f := At(list, m)
		classes[at].count(m, f)
		total.count(m, f)
		if m.Open != "" {
			if open[m.Open] == nil {
				reasons = append(reasons, m.Open)
			}
			open[m.Open] = append(open[m.Open], "`"+m.Title+"`")
		}
	}
	var out strings.Builder
	out.WriteString("| class | mutants | do no harm | of the others caught | without a preemption | schedules, median and most |\n|---|---|---|---|---|---|\n")
	for _, c := range append(classes, total) {
		fmt.Fprintf(&out, "| %s | %d | %d | %d of %d | %d | %s |\n", c.name, c.all, c.harmless, c.caught, c.all-c.harmless, c.turn, c.median())
	}
	out.WriteString("\n| not noticed | since |\n|---|---|\n")
	for _, r := range reasons {
		fmt.Fprintf(&out, "| %s | %s |\n", strings.Join(open[r], ", "), r)
	}
	return out.String()
}

func (c *class) count(m *Mutant, f *Found) {
	c.all++
	if m.Harmless != "" {
		c.harmless++
	}
	if f == nil || !f.Caught() {
		return
	}
	c.caught++
	c.schedules = append(c.schedules, f.Schedules)
	if f.InTurns != "-" {
		c.turn++
	}
}

// median is that of the schedules to a first violation, and the most.
func (c *class) median() string {
	if len(c.schedules) == 0 {
		return "-"
	}
	slices.Sort(c.schedules)
	return fmt.Sprintf("%d, %d", c.schedules[(len(c.schedules)-1)/2], c.schedules[len(c.schedules)-1])
}
