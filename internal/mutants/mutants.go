// Package mutants puts mistakes into the program on purpose and asks whether tests notice. A mutant is one changed piece
// of one file. All mutants of Go code are compiled into one binary of tests: a function that has some begins with a copy of
// its body for each, and a variable of the environment says which copy runs (R. Untch and others, Mutation analysis using
// mutant schemata, 1993). So a mutant costs its tests and no build. Mutants of the guest's sources are images.
//
// Nothing of it touches the tree: go build takes the changed files from elsewhere by -overlay.
package mutants

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Mutant is a mistake: one piece of a file and what stands in its place.
type Mutant struct {
	Row      int    // of the page that lists behaviours, 0 where Title names the mutant
	Title    string // of a mistake in a protocol
	File     string // below the root of the repository
	Old, New string
	// Images are the guest kernels that a mutant of the guest's sources is built for, as the program lists them.
	Images []string
	// None is the reason why there is no mutant.
	None string
	// Class and Effect say what kind of mistake in a protocol it is, and what it would do to a machine. By are the variants of
	// scenarios, as SCENARIO/VARIANT, that searches for races ask in this order. Where none notices it, Harmless says why it does no
	// harm, or Open what the searches lack.
	Class, Effect, Harmless, Open string
	By                            []string
}

// Name names the mutant in the environment: its place in the list.
func Name(i int) string { return "m" + strconv.Itoa(i+1) }

// String is how errors name the mutant.
func (m *Mutant) String() string {
	if m.Title != "" {
		return "mutant " + m.Title
	}
	return fmt.Sprintf("row %d", m.Row)
}

// Guest reports whether the mutant changes guest code.
func (m *Mutant) Guest() bool { return strings.HasPrefix(m.File, guestSources+"/") }

// guestSources are the sources of the guest kernel.
const guestSources = "workloads/kernel"

// Read reads a list of mutants: paragraphs of lines that begin with a word. Lines of the old text begin with "- ", lines of
// the new one with "+ ", and a "-" or "+" alone stands for an empty line.
func Read(path string) ([]Mutant, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list []Mutant
	for n, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "#") || line == "" {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		if word == "row" || word == "mutant" {
			list = append(list, Mutant{})
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("%s:%d: a mutant begins with row NUMBER or mutant NAME", path, n+1)
		}
		if err := list[len(list)-1].line(word, rest); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n+1, err)
		}
	}
	return list, nil
}

// line takes one line of a mutant.
func (m *Mutant) line(word, rest string) (err error) {
	switch word {
	case "row":
		m.Row, err = strconv.Atoi(rest)
	case "mutant":
		m.Title = rest
	case "class":
		m.Class = rest
	case "effect":
		m.Effect = rest
	case "harmless":
		m.Harmless = rest
	case "open":
		m.Open = rest
	case "by":
		m.By = strings.Fields(rest)
	case "file":
		m.File = rest
	case "images":
		m.Images = strings.Fields(rest)
	case "none":
		m.None = rest
	case "-":
		m.Old = joined(m.Old, rest)
	case "+":
		m.New = joined(m.New, rest)
	default:
		err = fmt.Errorf("%q: a line begins with row, mutant, class, effect, by, harmless, open, file, images, none, - or +", word)
	}
	return err
}

// joined adds a line to a text. Old and new text are a line or several.
func joined(text, line string) string {
	if text == "" {
		return line
	}
	return text + "\n" + line
}

// Check says what is wrong with a mutant of the tree at root: its old text must be there once.
func (m *Mutant) Check(root string) error {
	if m.None != "" {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(root, m.File))
	switch n := strings.Count(string(text), m.Old); {
	case err != nil:
		return fmt.Errorf("%s: %w", m, err)
	case m.Old == "" || m.Old == m.New:
		return fmt.Errorf("%s: %s: nothing is changed", m, m.File)
	case n != 1:
		return fmt.Errorf("%s: the old text stands %d times in %s: write as much of it as is there once\n%s", m, n, m.File, m.Old)
	case m.Guest() != (len(m.Images) > 0):
		return fmt.Errorf("%s: %s: a mutant of the guest's sources names images, and no other does", m, m.File)
	}
	return nil
}
