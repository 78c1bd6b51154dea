package planning

import (
	"fmt"
	"slices"
	"strings"

	"kprobesim/experiments"
	"kprobesim/experiments/schema"
	"kprobesim/internal/doc"
	"kprobesim/targets"
	"kprobesim/workloads"
)

// GuestFunction is a function of a guest image that a probe can name.
type GuestFunction struct {
	Name, Section string
	Size          uint64 // bytes of code; 0 when the image does not say
}

// ImageNamed finds an image of this program, and its target.
func (l *Loader) ImageNamed(name string) (im workloads.Image, target *targets.Target, err error) {
	im, target, ok := targets.Image(l.Targets, name)
	if !ok {
		known := l.imageNames()
		err = fmt.Errorf("no image %q: known are %s%s", name, strings.Join(known, ", "), doc.Suggest(name, known))
	}
	return im, target, err
}

// Worthwhile lists the functions of an image of this program that are made to be probed.
func (l *Loader) Worthwhile(name string) ([]workloads.Function, error) {
	im, _, err := l.ImageNamed(name)
	if err != nil {
		return nil, err
	}
	return im.Functions(), nil
}

// Functions lists all functions of an image of this program, by name.
func (l *Loader) Functions(name string) ([]GuestFunction, error) {
	named, target, err := l.ImageNamed(name)
	if err != nil {
		return nil, err
	}
	im, err := l.image(schema.Kernel{Image: name, ISA: target.Name, Era: named.Era}, "")
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var out []GuestFunction
	for _, s := range im.Symbols {
		f, ok := im.Func(im.CName(s.Name))
		if !ok || !f.Typed || seen[f.Name] {
			continue
		}
		seen[f.Name] = true
		out = append(out, GuestFunction{f.Name, im.SectionAt(f.Entry), f.Size})
	}
	slices.SortFunc(out, func(a, b GuestFunction) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// Sort says what a file is, by its keys: an experiment, a machine description or a scenario.
type Sort string

// The sorts of files.
const (
	SortExperiment Sort = "experiment"
	SortMachine    Sort = "machine"
	SortScenario   Sort = "scenario"
)

// SortOf guesses the sort of a file that somebody brings from the keys that it has: only machines have a clock or an
// instruction set at the top, or are based on a machine, and only scenarios have a script.
func SortOf(file string, b []byte) Sort {
	root, err := doc.Parse(file, b)
	if err != nil {
		return SortExperiment // which says what is wrong with it
	}
	for _, key := range []string{"script", "callers", "variants"} {
		if root.Get(key) != nil {
			return SortScenario
		}
	}
	for _, key := range []string{
		"isa", "clock", "core", "event", "cost", "calibration", "memory", "cache", "tlb", "sources", "port", "predictor", "front_end",
		"back_end", "op_cache", "fusion", "groups", "processor", "prefetch", "cpuid",
	} {
		if root.Get(key) != nil {
			return SortMachine
		}
	}
	if base := root.Get("base"); base != nil && slices.Contains(experiments.Machines(), base.Text) {
		return SortMachine
	}
	return SortExperiment
}
