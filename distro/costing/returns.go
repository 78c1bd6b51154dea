package costing

import (
	"cmp"
	"debug/elf"
	"fmt"
	"math"
	"slices"
	"strings"

	"kprobesim/distro/attaching"
	"kprobesim/distro/measuring"
)

// Return measures a return probe of the kernel whose entry is of a mode. Only that of the function in which the system call begins is
// on the way of the loop. For an entry of another mode its cost is concluded: less that of a probe there, plus that of one of the mode.
// It is nil where no instruction that every call executes is of the mode.
func (l *Lab) Return(mode string) (*Cost, error) {
	fn, start, err := l.entry()
	if err != nil {
		return nil, err
	}
	v := l.rules.At(start)
	own := v.Kind
	if mode == optimized && v.Optimized {
		own = mode
	}
	o := measuring.Order{Optimize: own == optimized, Modules: l.empty("symbol=" + fn + " kind=kretprobe")}
	if l.module == nil {
		o.Events = []string{"r " + fn}
	}
	c, err := l.noted(workload, o, returning+own, fn)
	if err != nil || own == mode {
		return c, err
	}
	less, err := l.measureAt(fn, v.Addr-start, own)
	if err != nil {
		return nil, err
	}
	plus, err := l.Measure(mode)
	if err != nil || plus == nil {
		return nil, err
	}
	return concluded(c, less, plus, mode), nil
}

// returning is how modes of return probes begin.
const returning = "return probe, entry "

// concluded is the cost of a return probe whose entry is not as it was measured.
func concluded(c, less, plus *Cost, mode string) *Cost {
	out := *c
	out.Mode = returning + mode
	out.Concluded = fmt.Sprintf("less a probe that is %s at %s, plus one that is %s at %s", less.Mode, less.Place, plus.Mode, plus.Place)
	out.Cycles += plus.Cycles - less.Cycles
	out.Micros += plus.Micros - less.Micros
	out.Instructions += plus.Instructions - less.Instructions
	out.Exceptions += plus.Exceptions - less.Exceptions
	out.Phases = summed(c.Phases, less.Phases, plus.Phases)
	out.Functions = summed(c.Functions, less.Functions, plus.Functions)
	slices.SortFunc(out.Functions, largest)
	return &out
}

// summed adds shares of all and plus, less the shares of less, in the order in which names come.
func summed(all, less, plus []Share) (out []Share) {
	add := func(shares []Share, sign float64) {
		for _, s := range shares {
			i := slices.IndexFunc(out, func(o Share) bool { return o.Name == s.Name })
			if i < 0 {
				i, out = len(out), append(out, Share{Name: s.Name})
			}
			out[i].Cycles += sign * s.Cycles
		}
	}
	add(all, 1)
	add(less, -1)
	add(plus, 1)
	return out
}

// largest orders shares by size, and then by name.
func largest(a, b Share) int {
	return cmp.Or(cmp.Compare(b.Cycles, a.Cycles), strings.Compare(a.Name, b.Name))
}

// userWay is a way in which hits of user probes run, with a place of the program that has it and the loop that passes there.
type userWay struct {
	mode, place, loop string
	exceptions        int // of a hit
}

// userWays lists the ways of a machine.
func userWays(machine elf.Machine) []userWay {
	if machine == elf.EM_ARM {
		return []userWay{{stepped, "user_function", "function", 2}}
	}
	return []userWay{
		{emulated, "user_function", "function", 1}, {stepped, "user_function+1", "function", 2}, {optimized, "user_nop10", "nop10", 0},
	}
}

// User measures probes in a program, and then return probes, for each way in which hits run in this kernel. The instructions of the
// places tell which way a probe of another program has. lacks says of a way why it is not there.
func (l *Lab) User() (costs []*Cost, lacks []string, err error) {
	im := l.lab.Kernel().Image
	has := attaching.Has{Function: func(name string) bool { _, ok := im.Symbol(name); return ok }}
	for _, returns := range []bool{false, true} {
		for _, w := range userWays(im.Machine) {
			if without := attaching.LacksCalls(has); w.mode == optimized && without != "" {
				if !returns {
					lacks = append(lacks, "no user probe is "+w.mode+": the kernel "+without)
				}
				continue
			}
			if returns && w.mode == stepped && im.Machine != elf.EM_ARM {
				continue // it stands at the start of a function
			}
			c, err := l.user(w, returns, has)
			if err != nil {
				return nil, nil, err
			}
			costs = append(costs, c)
		}
	}
	return costs, lacks, nil
}

// user measures a probe of a program, and wants the exceptions of its mode.
func (l *Lab) user(w userWay, returns bool, has attaching.Has) (*Cost, error) {
	at, err := l.lab.Place(w.place)
	if err != nil {
		return nil, err
	}
	kind, letter, exceptions := "uprobe", "p", w.exceptions
	if returns {
		if kind, letter = "uretprobe", "r"; !has.Function(attaching.ReturnsByCall) {
			exceptions++
		}
	}
	o := measuring.Order{Modules: l.empty(fmt.Sprintf("symbol=/init offset=%#x kind=%s", at.File, kind))}
	if l.module == nil {
		o.UserEvents = []string{letter + " /init:" + w.place}
	}
	c, err := l.noted(w.loop, o, kind+", "+w.mode, fmt.Sprintf("%s (%s)", w.place, at.Instruction))
	if err == nil && int(math.Round(c.Exceptions)) != exceptions {
		err = fmt.Errorf("a hit of a %s that is %s takes %.0f exceptions, not %d", kind, w.mode, c.Exceptions, exceptions)
	}
	return c, err
}
