package judging

import (
	"bytes"
	"errors"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// MCA prices blocks by llvm-mca, where that is installed.
type MCA struct {
	program string
	cpu     string
}

// mcaCopies is how many copies llvm-mca is asked for.
const mcaCopies = 100

// mcaTotal finds its answer.
var mcaTotal = regexp.MustCompile(`Total Cycles:\s+(\d+)`)

// FindMCA returns llvm-mca for a processor of one of some names, the first that it knows. "native" is the host's.
func FindMCA(names ...string) (*MCA, error) {
	program, err := exec.LookPath("llvm-mca")
	if err != nil {
		return nil, errors.New("llvm-mca is not installed")
	}
	for _, n := range names {
		m := &MCA{program, n}
		if v, err := m.Cycles([]string{"nop"}); err == nil && v > 0 {
			return m, nil
		}
	}
	return nil, errors.New("llvm-mca does not know the processor: " + strings.Join(names, ", "))
}

// Name says in tables which processor was asked for.
func (m *MCA) Name() string { return "llvm-mca -mcpu=" + m.cpu }

// Cycles prices a copy of a block.
func (m *MCA) Cycles(text []string) (float64, error) {
	c := exec.Command(m.program, "-mtriple=x86_64", "-mcpu="+m.cpu, "-iterations="+strconv.Itoa(mcaCopies))
	c.Stdin = strings.NewReader(strings.Join(text, "\n") + "\n")
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		return 0, err
	}
	found := mcaTotal.FindSubmatch(out)
	if found == nil || strings.Contains(said.String(), "is not a recognized processor") {
		return 0, errors.New("llvm-mca has no answer")
	}
	v, err := strconv.ParseFloat(string(found[1]), 64)
	return v / mcaCopies, err
}
