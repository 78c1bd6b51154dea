package probing

import (
	"fmt"

	"kprobesim/kprobes"
)

// Choose returns the first place in a function at which a hit runs in a mode, among the instructions that every call of
// the function executes once: those up to its first jump. A breakpoint is to be stepped where it would also be optimized,
// if the function has such a place, so that the two can be compared. It fails where the function has none.
func (k *Kernel) Choose(function string, mode kprobes.Mode) (Verdict, error) {
	sym, ok := k.image.Symbol(function)
	if !ok || !sym.Func {
		return Verdict{}, fmt.Errorf("the kernel has no function %s", function)
	}
	var second Verdict
	seen, boosted := 0, false
	for _, at := range k.straight(sym.Addr) {
		v := k.At(at)
		seen++
		boosted = boosted || v.Kind == kprobes.Boosted.String()
		switch {
		case !v.Probe:
		case mode == kprobes.Stepped && v.Kind == mode.String() && !v.Optimized:
			if !second.Probe {
				second = v
			}
		case mode == kprobes.Stepped && v.Kind == mode.String(), mode == kprobes.Optimized && v.Optimized, v.Kind == mode.String() && mode != kprobes.Stepped:
			return v, nil
		}
	}
	if second.Probe {
		return second, nil
	}
	if boosted && mode == kprobes.Stepped {
		return second, fmt.Errorf("%s has no place that is stepped, because this kernel boosts probes: ask for mode %q", function, kprobes.Boosted)
	}
	return second, fmt.Errorf("%s has no place for a probe that is %s among the %d instructions that every call executes", function, mode, seen)
}

// straight returns the instructions of a function up to the first one that may go elsewhere.
func (k *Kernel) straight(start uint64) []uint64 {
	fn, _, ok := k.function(start)
	if !ok {
		return nil
	}
	starts := k.Starts(start)
	for i, at := range starts {
		if k.rules.Leaves(fn.Code[at-fn.Start:]) {
			return starts[:i+1]
		}
	}
	return starts
}
