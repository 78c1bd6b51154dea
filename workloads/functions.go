package workloads

import (
	_ "embed"
	"slices"
	"strings"
)

// Function is one function of the guest that is worth probing. Each takes two unsigned longs and
// returns one that depends on nothing else.
type Function struct {
	Name string
	Text string
	ISAs []string // instruction sets that have it; empty: all, it is written in C
}

// Functions returns the functions of the image that are worth probing, the usual target first.
func (im *Image) Functions() []Function {
	return slices.DeleteFunc(functions(), func(f Function) bool {
		return len(f.ISAs) > 0 && !slices.Contains(f.ISAs, im.ISA)
	})
}

// ISAsOf returns the instruction sets that have a function which is not in all of them, nil for other names.
func ISAsOf(name string) []string {
	var isas []string
	for _, f := range functions() {
		if f.Name == name {
			isas = append(isas, f.ISAs...)
		}
	}
	return isas
}

// Driver returns the function that a loop calls for another one to be called: the guest's own way to it, where it needs
// arguments of its own.
func Driver(name string) string {
	switch name {
	case "do_fork", "_do_fork", "kernel_clone":
		return "fork_work"
	}
	return name
}

//go:embed functions.txt
var functionList string

// functions lists the functions of all instruction sets.
func functions() (all []Function) {
	var isas []string
	for line := range strings.Lines(functionList) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case name == "" || name == "#":
		case strings.HasPrefix(line, "\t"):
			all = append(all, Function{name, text, isas})
		case name == "all:":
			isas = nil
		default:
			isas = strings.Fields(strings.TrimSuffix(strings.TrimSpace(line), ":"))
		}
	}
	return all
}
