package whatif

import (
	"fmt"
	"slices"
	"strings"

	"kprobesim/distro/attaching"
	"kprobesim/distro/probing"
	"kprobesim/internal/distinct"
	"kprobesim/kprobes"
)

// Probe names a way to attach, one of Kinds, and where.
type Probe struct {
	Kind, Target string
}

// Kinds are the ways that are asked about.
func Kinds() []string {
	return []string{
		attaching.Kprobe, attaching.Kretprobe, attaching.KprobeMulti, attaching.KretprobeMulti, attaching.KprobeSession, attaching.Fentry, attaching.Fexit, attaching.Tracepoint, attaching.RawTracepoint,
		attaching.BTFTracepoint, attaching.Uprobe, attaching.Uretprobe, attaching.UprobeMulti, attaching.UretprobeMulti, attaching.UprobeSession, attaching.USDT,
	}
}

// Parse reads a probe as tracers write it: KIND:TARGET, such as kprobe:tcp_sendmsg or tracepoint:sched/sched_switch.
func Parse(text string) (Probe, error) {
	kind, target, ok := strings.Cut(text, ":")
	if !ok || target == "" || !slices.Contains(Kinds(), kind) {
		return Probe{}, fmt.Errorf("probe %q: write KIND:TARGET, such as kprobe:tcp_sendmsg; kinds are %s", text, strings.Join(Kinds(), ", "))
	}
	return Probe{kind, target}, nil
}

// InKernel reports whether the target is a function of the kernel, for which there is a verdict.
func (p Probe) InKernel() bool {
	return slices.Contains([]string{
		attaching.Kprobe, attaching.Kretprobe, attaching.KprobeMulti, attaching.KretprobeMulti, attaching.KprobeSession, attaching.Fentry, attaching.Fexit,
	}, p.Kind)
}

// syscallEvents is the group of the tracepoints of single system calls, which hang on one for all of them.
const syscallEvents = "syscalls/"

// Function is a function of the kernel that is there if a tracepoint is, or "" for what is no tracepoint or has none of its own.
func (p Probe) Function() string {
	switch p.Kind {
	case attaching.Tracepoint, attaching.RawTracepoint, attaching.BTFTracepoint:
		if !strings.HasPrefix(p.Target, syscallEvents) {
			return "__traceiter_" + p.Target[strings.LastIndex(p.Target, "/")+1:]
		}
	}
	return ""
}

// Way is a way to attach, and the points whose cycles add up to its own, less the cycles of others.
type Way struct {
	Name       string
	Plus, Less []string
	Needs      string // what has to be done for it beside attaching; "" for nothing
}

// Points are the points of the ways of a program, each once.
func Points(ways []Way) (out []string) {
	for _, w := range ways {
		out = distinct.Append(out, slices.Concat(w.Plus, w.Less)...)
	}
	return out
}

// Kernel tells what a kernel has, as far as it matters to ways.
type Kernel struct {
	Typed   bool         // its BTF has the function, which trampolines need
	Multi   bool         // links of many kprobes
	Called  bool         // calls in place of nops where user probes stand
	Entered kprobes.Mode // how the entry of the point kretprobe runs
}

// Ways are the probe's own way and behind it those that could stand at the same place. The verdict is nil for what is not in the
// kernel's text.
func Ways(p Probe, v *probing.Verdict, k Kernel, program string) ([]Way, error) {
	point := func(name string) string { return named(name, program) }
	one := func(what, name string) Way { return Way{Name: what, Plus: []string{point(name)}} }
	entry := v != nil && v.Kind == kprobes.Ftrace.String()
	// behind adds ways of functions that ftrace knows.
	behind := func(own Way, multi, typed string) []Way {
		ways := []Way{own}
		if entry && k.Multi {
			ways = append(ways, one(multi, multi))
		}
		if entry && k.Typed {
			ways = append(ways, one(typed, typed))
		}
		return ways
	}
	switch p.Kind {
	case attaching.Kprobe:
		return behind(one("kprobe, "+runs(v), byMode[mode(v)]), attaching.KprobeMulti, attaching.Fentry), nil
	case attaching.Kretprobe:
		own := one("kretprobe, entry "+runs(v), "kretprobe")
		if mode(v) != k.Entered {
			own.Plus, own.Less = append(own.Plus, point(byMode[mode(v)])), []string{point(byMode[k.Entered])}
		}
		return behind(own, attaching.KretprobeMulti, attaching.Fexit), nil
	case attaching.KprobeMulti, attaching.KretprobeMulti, attaching.KprobeSession:
		if !entry {
			return nil, fmt.Errorf("%s cannot attach to %s: it needs a function that ftrace knows", p.Kind, p.Target)
		}
		return []Way{one(p.Kind, p.Kind)}, nil
	case attaching.Fentry, attaching.Fexit:
		if !entry || !k.Typed {
			return nil, fmt.Errorf("%s cannot attach to %s: it needs a function that ftrace knows and that stands in the kernel's BTF", p.Kind, p.Target)
		}
		return []Way{one(p.Kind, p.Kind)}, nil
	case attaching.Tracepoint:
		if strings.HasPrefix(p.Target, syscallEvents) {
			return []Way{one("tracepoint by perf", "tp-syscall"), one("raw tracepoint", "raw-syscall")}, nil
		}
		return []Way{one("tracepoint by perf", "tp"), one("raw tracepoint", "raw-tp")}, nil
	case attaching.RawTracepoint:
		return []Way{one("raw tracepoint", "raw-tp")}, nil
	case attaching.BTFTracepoint:
		return []Way{one("tracepoint with types", "tp-btf")}, nil
	}
	ways := []Way{one(p.Kind, p.Kind)}
	if k.Called && slices.Contains([]string{attaching.Uprobe, attaching.Uretprobe, attaching.USDT}, p.Kind) {
		call := one(p.Kind+", 10-byte nop", p.Kind+"-opt")
		call.Needs = "the program must have a nop of 10 bytes (66 2e 0f 1f 84 00 00 00 00 00) there, in place of which this kernel puts a call"
		ways = append(ways, call)
	}
	return ways, nil
}

// byMode has the points of kprobes.
var byMode = map[kprobes.Mode]string{
	kprobes.Ftrace: "kprobe", kprobes.Optimized: "kprobe-opt", kprobes.Stepped: stepPoint, kprobes.Emulated: "kprobe-emulated",
	kprobes.Boosted: stepPoint,
}

// stepPoint runs a copy of the instruction.
const stepPoint = "kprobe-step"

// Settings have the points of the experiment run as a hit at the place does: a kernel that boosts a copy has no step there.
func Settings(v *probing.Verdict, program string) []string {
	if v == nil || mode(v) != kprobes.Boosted {
		return nil
	}
	return []string{"points." + named(stepPoint, program) + ".mode=" + kprobes.Boosted.String()}
}

// mode is how hits run once the kernel has done what it will.
func mode(v *probing.Verdict) kprobes.Mode {
	for m := range byMode {
		if v.Kind == m.String() && !v.Optimized {
			return m
		}
	}
	return kprobes.Optimized
}

// runs says mode in words.
func runs(v *probing.Verdict) string {
	switch mode(v) {
	case kprobes.Ftrace:
		return "by ftrace"
	case kprobes.Optimized:
		return "optimized"
	case kprobes.Emulated:
		return "a breakpoint"
	case kprobes.Boosted:
		return "a breakpoint, boosted"
	}
	return "two breakpoints"
}

// named is the name of the point for a program.
func named(point, program string) string {
	if program == attaching.Empty {
		return point
	}
	return point + "-" + program
}
